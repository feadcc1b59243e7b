"""Labels of namespaces as they are followed: listed, watched, resumed, and what is in force meanwhile."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Mapping

import pytest

from gpupolicy.errors import ClusterError
from gpupolicy.webhook.namespace_source import Change, ExpiredError
from gpupolicy.webhook.namespaces import LabelsNotKnownError, NamespaceLabels
from gpupolicy.webhook.watchers import Watchers

Labels = Mapping[str, str]


class Script:
    """A source that plays what a test wrote: each list and each watch in its turn; an exception is raised there."""

    def __init__(
        self,
        *watches: list[Change | ClusterError],
        lists: tuple[tuple[dict[str, Labels], str] | ClusterError, ...] = (),
    ) -> None:
        self.calls: list[str] = []
        self._lists = list(lists) or [({"team-a": {"stage": "trial"}}, "7")]
        self._watches = list(watches)

    def list(self) -> tuple[Mapping[str, Labels], str]:
        self.calls.append("list")
        found = self._lists.pop(0)
        if isinstance(found, ClusterError):
            raise found
        return found

    def watch(self, version: str) -> Iterator[Change]:
        self.calls.append(f"watch {version}")
        for change in self._watches.pop(0) if self._watches else ():
            if isinstance(change, ClusterError):
                raise change
            yield change


class Clock:
    """A time that stands still unless a test moves it."""

    def __init__(self) -> None:
        self.time = 1000.0

    def __call__(self) -> float:
        return self.time


def labelled(name: str, version: str = "8", **labels: str) -> Change:
    return Change(version=version, name=name, labels=labels)


def gone(name: str, version: str = "8") -> Change:
    return Change(version=version, name=name)


class Followed:
    """Labels of a script, driven round by round."""

    def __init__(self, script: Script, rounds: int = 1) -> None:
        self.script = script
        self.clock = Clock()
        self.lines: list[str] = []
        self.labels = NamespaceLabels(
            lambda: script,
            self.lines.append,
            lambda line: self.lines.append(f"warning: {line}"),
            Watchers(),
            now=self.clock,
        )
        self.pauses = [self.labels.follow(script) for _ in range(rounds)]


def test_listed_namespaces_have_their_labels():
    assert Followed(Script()).labels.labels_of("team-a") == {"stage": "trial"}


def test_a_namespace_that_comes_later_has_its_labels():
    assert Followed(Script([labelled("team-b", stage="done")])).labels.labels_of("team-b") == {"stage": "done"}


def test_a_label_that_is_removed_is_gone():
    assert Followed(Script([labelled("team-a")])).labels.labels_of("team-a") == {}


def test_a_namespace_that_ended_is_forgotten():
    labels = Followed(Script([gone("team-a")])).labels.labels_of("team-a")

    with pytest.raises(LabelsNotKnownError):
        labels.get("stage")


@pytest.mark.parametrize(
    "look",
    [
        pytest.param(lambda labels: {**labels}, id="copy"),
        pytest.param(lambda labels: labels.get("stage"), id="get"),
        pytest.param(lambda labels: "stage" in labels, id="contains"),
        pytest.param(len, id="length"),
    ],
)
def test_labels_that_nobody_told_of_are_not_taken_for_empty(look):
    labels = Followed(Script()).labels.labels_of("team-new")

    with pytest.raises(LabelsNotKnownError) as caught:
        look(labels)

    assert str(caught.value) == "the labels of namespace team-new are not known yet"


def test_labels_that_nobody_told_of_pass_for_something_where_only_emptiness_is_asked():
    """``labels or {}`` must not make them empty."""
    labels = Followed(Script()).labels.labels_of("team-new")

    assert (labels or {}) is labels


def test_a_watch_that_ends_in_order_is_taken_up_where_it_ended():
    script = Script([labelled("team-b", "9"), Change(version="12")])
    Followed(script, rounds=2)

    assert script.calls == ["list", "watch 7", "watch 12"]


def test_a_watch_that_breaks_after_a_word_is_taken_up_where_it_broke():
    script = Script([labelled("team-b", "9"), ClusterError("reset")])
    Followed(script, rounds=2)

    assert script.calls == ["list", "watch 7", "watch 9"]


def test_a_watch_that_fails_without_a_word_is_followed_by_a_list():
    script = Script([], [ClusterError("refused")], lists=(({}, "7"), ({}, "20")))
    Followed(script, rounds=3)

    assert script.calls == ["list", "watch 7", "watch 7", "list", "watch 20"]


def test_an_expired_version_is_followed_by_a_list():
    script = Script([labelled("team-b", "9"), ExpiredError("too old")], lists=(({}, "7"), ({}, "20")))
    Followed(script, rounds=2)

    assert script.calls == ["list", "watch 7", "list", "watch 20"]


def test_a_new_list_forgets_what_is_no_longer_there():
    script = Script([ExpiredError("too old")], lists=(({"old": {}}, "7"), ({"new": {}}, "20")))
    labels = Followed(script, rounds=2).labels

    assert labels.labels_of("new") == {}
    with pytest.raises(LabelsNotKnownError):
        dict(labels.labels_of("old"))


def test_the_labels_known_last_stay_in_force_while_nobody_answers():
    script = Script([ClusterError("reset")], lists=(({"team-a": {"stage": "trial"}}, "7"), ClusterError("refused")))

    assert Followed(script, rounds=3).labels.labels_of("team-a") == {"stage": "trial"}


def test_problems_double_the_pause_up_to_a_limit():
    script = Script(lists=tuple(ClusterError("refused") for _ in range(7)))

    assert Followed(script, rounds=7).pauses == [1, 2, 4, 8, 16, 30, 30]


def test_a_word_makes_the_next_pause_short_again():
    refused = ClusterError("refused")
    script = Script([refused], [refused], lists=(refused, refused, ({}, "7")))

    assert Followed(script, rounds=4).pauses == [1, 2, 1, 2]


def test_a_watch_that_ends_at_once_is_not_asked_for_again_at_once():
    """A proxy that closes every stream must not make us a flood."""
    assert Followed(Script()).pauses == [1]


def test_a_watch_that_lasted_is_asked_for_again_at_once():
    followed = Followed(Script())

    class Lasting(Script):
        def watch(self, version: str) -> Iterator[Change]:
            followed.clock.time += 300
            yield Change(version=version)

    assert followed.labels.follow(Lasting()) == 0


def test_a_clock_that_is_put_back_makes_no_long_pause():
    followed = Followed(Script())

    class PutBack(Script):
        def watch(self, version: str) -> Iterator[Change]:
            followed.clock.time -= 3600
            yield Change(version=version)

    assert followed.labels.follow(PutBack()) == 1


def test_the_first_list_is_told():
    assert Followed(Script()).lines == ["namespaces whose labels are known: 1"]


def test_a_loss_and_its_end_are_told_once():
    loss = ClusterError("connection refused")
    script = Script([loss], [labelled("team-b")], lists=(({}, "7"), loss, loss, ({}, "9")))

    assert Followed(script, rounds=4).lines == [
        "namespaces whose labels are known: 0",
        "warning: namespaces are not watched, the labels known so far go on: connection refused",
        "namespaces are watched again",
    ]


def test_before_the_first_list_each_new_reason_is_told():
    reasons = ("connection refused", "connection refused", "namespaces is forbidden")
    script = Script(lists=(*(ClusterError(reason) for reason in reasons), ({}, "7")))

    assert Followed(script, rounds=4).lines == [
        "warning: namespaces cannot be listed yet, reviews that need their labels wait: connection refused",
        "warning: namespaces cannot be listed yet, reviews that need their labels wait: namespaces is forbidden",
        "namespaces whose labels are known: 0",
    ]


@pytest.mark.parametrize(
    ("script", "rounds", "obstacle"),
    [
        pytest.param(Script(), 0, "namespaces are not known yet: they are being listed", id="not-asked"),
        pytest.param(
            Script(lists=(ClusterError("forbidden"),)), 1, "namespaces are not known yet: forbidden", id="refused"
        ),
        pytest.param(Script(), 1, None, id="listed"),
        pytest.param(Script([ClusterError("reset")]), 1, None, id="listed-and-lost"),
    ],
)
def test_the_obstacle_is_gone_for_good_with_the_first_list(script, rounds, obstacle):
    assert Followed(script, rounds).labels.find_obstacle() == obstacle


def test_the_last_word_is_dated():
    followed = Followed(Script())
    followed.clock.time += 60
    followed.labels.follow(Script([Change(version="9")]))
    followed.clock.time += 60
    followed.labels.follow(Script([ClusterError("reset")]))

    assert followed.labels.heard_at == 1060


class Silent(Script):
    """A source whose watch says that it is open, and then nothing."""

    def watch(self, version: str) -> Iterator[Change]:
        yield Change(version=version)
        threading.Event().wait()


def test_a_thread_follows_once_it_is_started():
    connected: list[Silent] = []

    def connect() -> Silent:
        connected.append(Silent())
        return connected[-1]

    labels = NamespaceLabels(connect, print, print, Watchers())
    before = labels.heard_at

    labels.start()
    labels.start()
    labels.wait(20)

    assert math.isnan(before)
    assert labels.labels_of("team-a") == {"stage": "trial"}
    assert len(connected) == 1


def test_waiting_for_a_list_that_does_not_come_says_why():
    labels = Followed(Script(lists=(ClusterError("forbidden"),))).labels

    with pytest.raises(ClusterError, match=r"^namespaces are not known yet: forbidden$"):
        labels.wait(0)


def test_no_way_to_the_cluster_is_said_at_the_start():
    def connect() -> Script:
        raise ClusterError("there is no way to the cluster")

    labels = NamespaceLabels(connect, print, print, Watchers())

    with pytest.raises(ClusterError, match=r"^there is no way to the cluster$"):
        labels.start()
    assert math.isnan(labels.heard_at)

"""What is watched beside the reviews: a look that fails as nobody foresaw is told, counted, shown, and not the last."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from builders import policy

from gpupolicy.webhook.journal import Journal, JournalHandler
from gpupolicy.webhook.metrics import Metrics
from gpupolicy.webhook.namespaces import NamespaceLabels
from gpupolicy.webhook.reload import PolicySource, look
from gpupolicy.webhook.watchers import Watch, Watchers

NO_THREAD = RuntimeError("can't start new thread")


class EnoughError(BaseException):
    """Ends a watch that would go on for ever."""


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long is waited between looks; no time passes."""
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr("gpupolicy.webhook.watchers.asyncio.sleep", sleep)
    return waited


def played(*results: float | Exception) -> Callable[[], float]:
    """A look that gives each result in its turn, and ends the watch after the last one."""
    left = list(results)

    def look() -> float:
        if not left:
            raise EnoughError
        result = left.pop(0)
        if isinstance(result, Exception):
            raise result
        return result

    return look


def keep(watchers: Watchers, *results: float | Exception, watch: Watch = Watch.POLICY, **options: float) -> None:
    """Watches from a task until all results are given."""
    look = played(*results)

    async def look_async() -> float:
        return look()

    with pytest.raises(EnoughError):
        asyncio.run(watchers.keep(watch, look_async, **options))


def test_each_look_says_when_the_next_one_is_due(pauses):
    keep(Watchers(), 1.0, 2.5)

    assert pauses == [1.0, 2.5]


def test_failures_in_a_row_are_followed_by_ever_longer_pauses_and_a_good_look_ends_them(pauses):
    keep(Watchers(), *[NO_THREAD] * 8, 0.5, NO_THREAD)

    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 0.5, 1]


def test_what_must_not_wait_for_long_does_not(pauses):
    keep(Watchers(), *[NO_THREAD] * 3, longest_pause=1.0)

    assert pauses == [1, 1, 1]


def test_a_failure_is_counted_by_what_was_watched(pauses):
    metrics = Metrics()
    keep(Watchers(metrics.count_watch_failure), NO_THREAD, NO_THREAD, watch=Watch.EXPIRY)

    shown = metrics.render()[0].decode().splitlines()
    assert 'gpupolicy_watch_failures_total{watch="expiry"} 2.0' in shown
    assert 'gpupolicy_watch_failures_total{watch="policy"} 0.0' in shown


@pytest.mark.parametrize(
    ("results", "remarks"),
    [
        pytest.param((1.0, NO_THREAD), ['the watch "policy" has failed and is tried again'], id="failed"),
        pytest.param((NO_THREAD, 1.0), [], id="failed-before"),
    ],
)
def test_readiness_tells_of_it_until_a_look_goes_well(results, remarks, pauses):
    watchers = Watchers()
    keep(watchers, *results)

    assert list(watchers.find_remarks()) == remarks


@pytest.fixture
def lines() -> Iterator[list[dict]]:
    """What the log says, where the server writes it in JSON."""
    written: list[dict] = []
    journal = Journal(lambda line: written.append(json.loads(line)), as_json=True)
    handler, log = JournalHandler(journal), logging.getLogger("gpupolicy.webhook")
    log.addHandler(handler)
    yield written
    log.removeHandler(handler)
    journal.close()


def wait_for(is_true: Callable[[], bool]) -> None:
    for _ in range(2000):
        if is_true():
            return
        threading.Event().wait(0.01)
    raise AssertionError("it did not come")


def test_a_failure_is_one_line_of_the_log_with_its_trace_and_nothing_goes_past_it(pauses, lines, capfd):
    keep(Watchers(), NO_THREAD)
    wait_for(lambda: bool(lines))

    (line,) = lines
    first, _, trace = line["message"].partition("\n")
    assert (line["level"], line["event"]) == ("error", "defect")
    assert first == 'the watch "policy" has failed and is tried again in 1 s'
    assert trace.endswith("RuntimeError: can't start new thread")
    assert capfd.readouterr() == ("", "")


def test_a_failure_that_cannot_even_be_told_ends_no_watch(pauses):
    def count(_watch: Watch) -> None:
        raise MemoryError

    keep(Watchers(count), NO_THREAD)

    assert pauses == [1]


def test_a_file_whose_reading_failed_is_read_again_although_it_has_not_changed(tmp_path: Path, pauses):
    file = tmp_path / "policy.yaml"
    file.write_text("1")
    results: list[object] = [policy(), NO_THREAD, policy()]

    def load(_path: Path) -> object:
        result = results.pop(0)
        if isinstance(result, Exception):
            raise result
        return result

    source = PolicySource(file, load, lambda *_: None)
    before = source.current()
    file.write_text("22")
    looks = iter([partial(look, source)] * 3)

    async def next_look() -> float:
        if (turn := next(looks, None)) is None:
            raise EnoughError
        return await turn()

    with pytest.raises(EnoughError):
        asyncio.run(Watchers().keep(Watch.POLICY, next_look))

    assert (results, pauses) == ([], [1, 1, 1])
    assert source.current() is not before


def test_a_thread_goes_on_after_a_failure_and_prints_nothing(monkeypatch, lines, capfd):
    monkeypatch.setattr("gpupolicy.webhook.watchers.FIRST_PAUSE_SECONDS", 0.0)
    left, stopped = [NO_THREAD, NO_THREAD], threading.Event()
    watchers = Watchers()

    def look() -> float:
        if left:
            raise left.pop()
        stopped.set()
        return 0.0

    watchers.start(Watch.ROTATION, look, stopped)
    wait_for(lambda: stopped.is_set() and len(lines) == 2 and not list(watchers.find_remarks()))

    assert capfd.readouterr() == ("", "")


class BrokenOnce:
    """A source of namespaces whose first list raises what nobody foresaw."""

    def __init__(self) -> None:
        self.lists = 0

    def list(self) -> tuple[dict[str, dict[str, str]], str]:
        self.lists += 1
        if self.lists == 1:
            raise NO_THREAD
        return {"team-a": {"stage": "trial"}}, "7"

    def watch(self, version: str) -> Iterator[object]:
        threading.Event().wait()
        yield version


def test_namespaces_are_followed_again_after_a_failure(monkeypatch):
    monkeypatch.setattr("gpupolicy.webhook.watchers.FIRST_PAUSE_SECONDS", 0.0)
    counted: list[Watch] = []
    labels = NamespaceLabels(BrokenOnce, print, print, Watchers(counted.append))
    labels.start()
    labels.wait(20)

    assert labels.labels_of("team-a") == {"stage": "trial"}
    assert counted == [Watch.NAMESPACES]


def test_a_thread_that_cannot_be_started_is_tried_again_the_next_time(monkeypatch):
    """A changed policy needs namespaces for the first time, when the system has no thread left."""
    watchers = Watchers()
    refusals = [NO_THREAD]
    begun: list[Watch] = []

    def start(watch: Watch, _look: object) -> None:
        if refusals:
            raise refusals.pop()
        begun.append(watch)

    monkeypatch.setattr(watchers, "start", start)
    labels = NamespaceLabels(BrokenOnce, print, print, watchers)
    with pytest.raises(RuntimeError):
        labels.start()
    labels.start()

    assert begun == [Watch.NAMESPACES]

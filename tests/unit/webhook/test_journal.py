"""The log: one line a denial, with nothing in it that is nobody's business, and never a reason to wait."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest
from builders import pod, policy

from gpupolicy import admit
from gpupolicy.webhook.answer import version_of
from gpupolicy.webhook.journal import QUEUE_LINES, Journal, JournalHandler, TokenBucket
from gpupolicy.webhook.review import Review

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
POLICY = policy()
SECRET = "hunter2-in-the-environment"


class Paper:
    """Takes lines, or refuses them, or makes the writer wait."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.counts: dict[str, int] = {}
        self.error: Exception | None = None
        self.open = threading.Event()
        self.open.set()

    def write(self, line: str) -> None:
        self.open.wait(10)
        if self.error:
            raise self.error
        self.lines.append(line)

    def count(self, result: str) -> None:
        self.counts[result] = self.counts.get(result, 0) + 1


@pytest.fixture
def paper() -> Paper:
    return Paper()


@pytest.fixture
def opened(paper: Paper) -> Iterator[Callable[..., Journal]]:
    """Makes journals that write on the paper, and closes them."""
    made: list[Journal] = []

    def make(**options: object) -> Journal:
        made.append(Journal(paper.write, count=paper.count, now=lambda: NOW, **options))
        return made[-1]

    yield make
    paper.open.set()
    for journal in made:
        journal.close()


def review(**fields: object) -> Review:
    asked = pod(3)
    asked["metadata"] = {"generateName": "train-", "annotations": {"token": SECRET}}
    asked["spec"]["containers"][0]["env"] = [{"name": "TOKEN", "value": SECRET}]
    given = {
        "api_version": "admission.k8s.io/v1",
        "uid": "u-1",
        "operation": "CREATE",
        "group": "",
        "kind": "Pod",
        "subresource": "",
        "name": "",
        "namespace": "team-a",
        "username": "jane",
        "dry_run": False,
        "new": asked,
        "old": None,
    }
    return Review(**{**given, **fields})


def denied(journal: Journal, times: int = 1, **fields: object) -> None:
    asked = review(**fields)
    decision = admit(POLICY, asked.new, namespace="team-a")
    for _ in range(times):
        journal.deny(asked, decision, POLICY, "pod train-* in namespace team-a: 3 GPUs are not admitted")


def test_a_denial_is_one_json_line_with_who_what_and_why(opened, paper):
    journal = opened(as_json=True)
    denied(journal)
    journal.close()

    (line,) = paper.lines
    assert json.loads(line) == {
        "time": "2026-11-29T12:00:00.000+00:00",
        "level": "info",
        "event": "denied",
        "message": "pod train-* in namespace team-a: 3 GPUs are not admitted",
        "uid": "u-1",
        "operation": "CREATE",
        "kind": "Pod",
        "namespace": "team-a",
        "name": "train-",
        "user": "jane",
        "dryRun": False,
        "rules": ["request-size-not-admitted"],
        "policy": version_of(POLICY),
    }


def test_nothing_of_the_object_but_its_name_is_written(opened, paper):
    journal = opened(as_json=True)
    denied(journal)
    journal.close()

    assert SECRET not in paper.lines[0]


def test_as_text_a_denial_is_a_line_for_people(opened, paper):
    journal = opened()
    denied(journal)
    journal.close()

    assert paper.lines == ["denied: CREATE by jane: pod train-* in namespace team-a: 3 GPUs are not admitted"]


def test_as_text_the_denial_of_a_dry_run_says_so(opened, paper):
    journal = opened()
    denied(journal, dry_run=True)
    journal.close()

    assert paper.lines == ["denied: CREATE by jane (dry run): pod train-* in namespace team-a: 3 GPUs are not admitted"]


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"username": "a\nb"}, id="line-break"),
        pytest.param({"name": "\u2028x" * 10_000}, id="endless"),
        pytest.param({"new": {"metadata": "no mapping", "spec": {}}}, id="no-metadata"),
        pytest.param({"new": {"metadata": {"name": {"a": 1}}, "spec": {}}}, id="name-of-another-type"),
    ],
)
@pytest.mark.parametrize("as_json", [True, False])
def test_whatever_a_client_sends_a_denial_is_one_short_line(fields, as_json, opened, paper):
    journal = opened(as_json=as_json)
    denied(journal, **fields)
    journal.close()

    (line,) = paper.lines
    assert len(line.splitlines()) == 1
    assert len(line) < 3000


def test_a_flood_of_denials_is_cut_and_the_next_line_says_how_many_are_missing(opened, paper):
    clock = [0.0]
    journal = opened(as_json=True, bucket=TokenBucket(rate=1, burst=2, clock=lambda: clock[0]))
    denied(journal, times=5)
    clock[0] = 1.0
    denied(journal)
    journal.close()

    assert [json.loads(line).get("dropped") for line in paper.lines] == [None, None, 3]
    assert paper.counts == {"written": 3, "limited": 3}


def test_as_text_too_it_is_said_how_many_are_missing(opened, paper):
    clock = [0.0]
    journal = opened(bucket=TokenBucket(rate=1, burst=1, clock=lambda: clock[0]))
    denied(journal, times=2)
    clock[0] = 1.0
    denied(journal)
    journal.close()

    assert paper.lines[1].endswith("(1 more were not told)")


def test_a_clock_that_goes_back_gives_no_tokens():
    clock = [10.0]
    bucket = TokenBucket(rate=1, burst=1, clock=lambda: clock[0])
    taken = [bucket.take()]
    clock[0] = 0.0
    taken.append(bucket.take())

    assert taken == [True, False]


@pytest.mark.parametrize(
    "error",
    [
        pytest.param(OSError(28, "No space left on device"), id="disk-full"),
        pytest.param(BrokenPipeError(), id="closed-pipe"),
        pytest.param(ValueError("I/O operation on closed file"), id="closed-file"),
    ],
)
def test_a_line_that_cannot_be_written_is_counted_and_nothing_else_happens(error, opened, paper):
    journal = opened()
    paper.error = error
    journal.report("lost")
    journal.close()
    paper.error = None

    assert paper.counts == {"lost": 1}


def test_after_a_disk_was_full_lines_are_written_again(opened, paper):
    journal = opened()
    paper.error = OSError(28, "No space left on device")
    journal.report("lost")
    while "lost" not in paper.counts:
        time.sleep(0.01)
    paper.error = None
    journal.report("kept")
    journal.close(seconds=30)

    assert paper.lines == ["\nkept"]  # the one before may have been cut anywhere


def test_a_reader_that_has_stopped_holds_nobody_up_and_memory_is_bounded(opened, paper):
    """A pipe that nobody empties makes every write wait: not the one of a review."""
    journal = opened()
    paper.open.clear()
    for number in range(QUEUE_LINES + 100):
        journal.report(str(number))

    assert paper.counts["lost"] >= 99


def test_a_close_does_not_wait_for_a_reader_that_has_stopped(opened, paper):
    journal = opened()
    paper.open.clear()
    journal.report("kept back")

    journal.close(0.05)

    assert paper.lines == []


def test_a_warning_has_its_level(opened, paper):
    journal = opened(as_json=True)
    journal.warn("a certificate ends soon")
    journal.close()

    assert json.loads(paper.lines[0])["level"] == "warning"


def test_a_defect_comes_with_its_trace_in_one_line_and_not_without_end(opened, paper):
    journal = opened(as_json=True)
    log = logging.Logger("defects")
    log.addHandler(JournalHandler(journal))
    for _ in range(20):
        try:
            raise KeyError("spec")
        except KeyError:
            log.exception("a review could not be answered")
    journal.close()

    found = [json.loads(line) for line in paper.lines]
    assert len(found) == 5
    assert (found[0]["level"], found[0]["event"]) == ("error", "defect")
    assert "a review could not be answered\nTraceback" in found[0]["message"]

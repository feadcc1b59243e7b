"""Checks many files, shared out over several processes where that pays."""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gpupolicy.manifests.checking import check_documents
from gpupolicy.manifests.judgement import Surroundings
from gpupolicy.manifests.reading import read_manifests
from gpupolicy.manifests.report import CheckReport
from gpupolicy.model import Policy

if TYPE_CHECKING:  # loaded by those who judge changes
    from gpupolicy.manifests.comparing import Earlier

MOST_PROCESSES = 16
FILES_A_PROCESS = 50  # a fork costs as much as 10 files, and a tenth of the work more: pays from some 25 files on
_FILES_A_BATCH = 8
_MOST_BATCHES = 1000  # their numbers have to find room in a pipe, of which a page is sure
_NUMBER_BYTES = 4
_SIGTERM = 15

Told = Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What is checked: files against a policy, with all that the manifests do not say."""

    policy: Policy
    files: Sequence[str]
    standard_input: bytes = b""
    surroundings: Surroundings = field(default_factory=Surroundings)
    earlier: Earlier | None = None
    skip_others: bool = False


def count_processes(files: int) -> int:
    """Returns how many processes share the work: no more than processors, and one where it is little."""
    if not hasattr(os, "fork") or sys.platform == "darwin" or threading.active_count() > 1:
        return 1  # a fork takes along the locks of other threads, and macOS keeps threads of its own
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(processors, files // FILES_A_PROCESS, MOST_PROCESSES))


def check_files(task: Task, *, processes: int = 1, on_file: Told = lambda: None) -> CheckReport:
    """Judges every object of the files.

    Args:
        task: what is checked.
        processes: how many share the work; this one is one of them.
        on_file: called after each file that this process checks.

    Returns:
        The report, the same for any number of processes.
    """
    batches = _split(task.files, processes)
    queue = _Queue(len(batches))
    children: list[_Child] = []
    gc.freeze()  # a collection in a child would touch, and so copy, all memory that it shares with this process
    try:
        children.extend(_Child(task, batches, queue) for _ in range(processes - 1))
        reports = _check_batches(task, batches, queue, on_file)
        for child in children:
            reports |= child.read_reports()
        lost = (number for number in range(len(batches)) if number not in reports)
        reports |= _check_batches(task, batches, lost, on_file)
    finally:
        for child in children:
            child.end()
        queue.close()
        gc.unfreeze()
    return _merge([reports[number] for number in range(len(batches))])


def _split(files: Sequence[str], processes: int) -> list[Sequence[str]]:
    """Returns batches small enough that all processes end at about the same time, however busy the machine."""
    size = max(1, min(_FILES_A_BATCH, len(files) // (8 * processes)), -(-len(files) // _MOST_BATCHES))
    return [files[first : first + size] for first in range(0, len(files), size)]


def _check_batches(
    task: Task, batches: Sequence[Sequence[str]], numbers: Iterable[int], on_file: Told
) -> dict[int, CheckReport]:
    return {number: _merge([_check_file(task, file, on_file) for file in batches[number]]) for number in numbers}


def _check_file(task: Task, file: str, on_file: Told) -> CheckReport:
    report = check_documents(
        task.policy,
        read_manifests([file], task.standard_input),
        files=1,
        surroundings=task.surroundings,
        earlier=task.earlier,
        skip_others=task.skip_others,
    )
    on_file()
    return report


def _merge(reports: Sequence[CheckReport]) -> CheckReport:
    return CheckReport(
        files=sum(report.files for report in reports),
        object_count=sum(report.object_count for report in reports),
        objects=tuple(entry for report in reports for entry in report.objects),
        findings=tuple(finding for report in reports for finding in report.findings),
        unreadable=sum(report.unreadable for report in reports),
    )


class _Queue:
    """The numbers of the batches in a pipe, of which each process takes the next when it has done one."""

    def __init__(self, count: int) -> None:
        self._pipe, writing = os.pipe()
        os.write(writing, b"".join(number.to_bytes(_NUMBER_BYTES, "big") for number in range(count)))
        os.close(writing)

    def __iter__(self) -> Iterator[int]:
        while number := os.read(self._pipe, _NUMBER_BYTES):
            yield int.from_bytes(number, "big")

    def close(self) -> None:
        """Gives the pipe back."""
        os.close(self._pipe)


class _Child:
    """A copy of this process that takes its share, writes the reports into a pipe and is gone."""

    def __init__(self, task: Task, batches: Sequence[Sequence[str]], queue: _Queue) -> None:
        self._pipe, writing = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            _report_and_exit(task, batches, queue, writing)
        os.close(writing)

    def read_reports(self) -> dict[int, CheckReport]:
        """Returns the reports by batch, none where the child died of something: then nothing it wrote is believed."""
        import pickle

        with open(self._pipe, "rb", closefd=False) as pipe:
            data = pipe.read()
        _, status = os.waitpid(self._pid, 0)
        self._pid = 0
        return pickle.loads(data) if status == 0 else {}

    def end(self) -> None:
        """Gives back what the child holds; one that nobody waited for is stopped."""
        os.close(self._pipe)
        if self._pid:
            with suppress(ProcessLookupError):
                os.kill(self._pid, _SIGTERM)
            os.waitpid(self._pid, 0)


def _report_and_exit(task: Task, batches: Sequence[Sequence[str]], queue: _Queue, pipe: int) -> None:
    """Never returns: what the parent has open, its half-written output above all, is left alone."""
    status = 1
    try:
        import pickle

        data = pickle.dumps(_check_batches(task, batches, queue, lambda: None), pickle.HIGHEST_PROTOCOL)
        with open(pipe, "wb") as stream:
            stream.write(data)
        status = 0
    finally:
        os._exit(status)

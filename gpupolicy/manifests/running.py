"""Checks many files, shared out over several processes where that pays."""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Callable, Sequence
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
        on_file: called after each file of this process's share.

    Returns:
        The report, the same for any number of processes.
    """
    shares = [task.files[number::processes] for number in range(processes)]
    children: list[_Child] = []
    gc.freeze()  # a collection in a child would touch, and so copy, all memory that it shares with this process
    try:
        children.extend(_Child(task, share) for share in shares[1:])
        results = [_check_share(task, shares[0], on_file)]
        for child, share in zip(children, shares[1:], strict=True):
            told = child.read_reports()
            results.append(told if told is not None else _check_share(task, share, lambda: None))
    finally:
        for child in children:
            child.end()
        gc.unfreeze()
    return _merge([results[index % processes][index // processes] for index in range(len(task.files))])


def _check_share(task: Task, files: Sequence[str], on_file: Told) -> list[CheckReport]:
    """Returns a report for each file."""
    reports = []
    for file in files:
        report = check_documents(
            task.policy,
            read_manifests([file], task.standard_input),
            files=1,
            surroundings=task.surroundings,
            earlier=task.earlier,
            skip_others=task.skip_others,
        )
        reports.append(report)
        on_file()
    return reports


def _merge(reports: Sequence[CheckReport]) -> CheckReport:
    return CheckReport(
        files=len(reports),
        object_count=sum(report.object_count for report in reports),
        objects=tuple(entry for report in reports for entry in report.objects),
        findings=tuple(finding for report in reports for finding in report.findings),
        unreadable=sum(report.unreadable for report in reports),
    )


class _Child:
    """A copy of this process that checks its share, writes the reports into a pipe and is gone."""

    def __init__(self, task: Task, files: Sequence[str]) -> None:
        self._pipe, writing = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            _report_and_exit(task, files, writing)
        os.close(writing)

    def read_reports(self) -> list[CheckReport] | None:
        """Returns the reports, None where the child died of something: then nothing it wrote is believed."""
        import pickle

        with open(self._pipe, "rb", closefd=False) as pipe:
            data = pipe.read()
        _, status = os.waitpid(self._pid, 0)
        self._pid = 0
        return pickle.loads(data) if status == 0 else None

    def end(self) -> None:
        """Gives back what the child holds; one that nobody waited for is stopped."""
        os.close(self._pipe)
        if self._pid:
            with suppress(ProcessLookupError):
                os.kill(self._pid, _SIGTERM)
            os.waitpid(self._pid, 0)


def _report_and_exit(task: Task, files: Sequence[str], pipe: int) -> None:
    """Never returns: what the parent has open, its half-written output above all, is left alone."""
    status = 1
    try:
        import pickle

        data = pickle.dumps(_check_share(task, files, lambda: None), pickle.HIGHEST_PROTOCOL)
        with open(pipe, "wb") as stream:
            stream.write(data)
        status = 0
    finally:
        os._exit(status)

"""Labels of namespaces, which no review carries: kept as the API server tells them. Knows no client, only a source."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping
from typing import NoReturn

from gpupolicy.errors import ClusterError, GPUPolicyError, shown

from .namespace_source import Change, ExpiredError, Labels, Source
from .watchers import Watch, Watchers

FIRST_WAIT_SECONDS = 1.0
LONGEST_WAIT_SECONDS = 30.0


class LabelsNotKnownError(GPUPolicyError):
    """A decision depends on the labels of a namespace that nobody has told us of yet."""


class _NotKnownYet(Mapping[str, str]):
    """Labels of such a namespace: who looks at them is stopped, a decision without them is not."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace

    def __bool__(self) -> bool:
        return True  # not known is not empty

    def __getitem__(self, key: str) -> NoReturn:
        self._stop()

    def __iter__(self) -> NoReturn:
        self._stop()

    def __len__(self) -> NoReturn:
        self._stop()

    def _stop(self) -> NoReturn:
        raise LabelsNotKnownError(f"the labels of namespace {shown(self._namespace)} are not known yet")


class NamespaceLabels:
    """The labels of all namespaces, followed by a thread of its own. Only names and labels are kept.

    What was told last stays in force while the API server cannot be reached.
    """

    def __init__(
        self,
        connect: Callable[[], Source],
        report: Callable[[str], None],
        warn: Callable[[str], None],
        watchers: Watchers,
        *,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Does nothing yet: see ``start``.

        Args:
            connect: finds the cluster; raises ClusterError where there is no way to it.
            report: takes lines for the operator, from the thread too.
            warn: takes those that need a hand.
            watchers: who follows.
            now: seconds since 1970.
        """
        self._connect, self._report, self._warn, self._watchers, self._now = connect, report, warn, watchers, now
        self._labels: dict[str, Labels] = {}
        self._version = ""
        self._problem = ""
        self._wait = FIRST_WAIT_SECONDS
        self._heard = False
        self._is_listed = False
        self._answered = threading.Event()
        self._is_started = False
        self.heard_at = math.nan

    def labels_of(self, namespace: str) -> Labels:
        """Returns the labels of a namespace.

        Where the API server has not told of it yet they are not taken for empty: a selector may ask for the absence
        of a label. Looking into what is returned then raises LabelsNotKnownError.
        """
        found = self._labels.get(namespace)
        return _NotKnownYet(namespace) if found is None else found

    def find_obstacle(self) -> str | None:
        """Says why labels cannot be told yet; None once all namespaces have been listed."""
        if self._is_listed:
            return None
        return f"namespaces are not known yet: {self._problem or 'they are being listed'}"

    def start(self) -> None:
        """Begins to follow, once; it goes on until the process ends.

        Raises:
            ClusterError: there is no way to the cluster.
            MissingExtraError: the client is not installed.
        """
        if not self._is_started:
            source = self._connect()
            self.heard_at = 0.0
            self._watchers.start(Watch.NAMESPACES, lambda: self.follow(source))
            self._is_started = True

    def wait(self, seconds: float) -> None:
        """Waits for the first answer of the API server.

        Raises:
            ClusterError: it did not come in time, or was no list of namespaces.
        """
        self._answered.wait(seconds)
        if obstacle := self.find_obstacle():
            raise ClusterError(obstacle)

    def follow(self, source: Source) -> float:
        """Lists where that is due, and watches until the watch ends or fails.

        Returns:
            How many seconds to wait before the next time: none after a watch that lasted.
        """
        began, pause, self._heard = self._now(), FIRST_WAIT_SECONDS, False
        try:
            if not self._version:
                self._list(source)
            for change in source.watch(self._version):
                self._take(change)
        except ExpiredError:
            self._version = ""
        except ClusterError as error:
            pause = self._on_problem(str(error))
        except BaseException:  # whatever it was, a change may be lost
            self._version = ""
            raise
        return min(pause, max(0.0, began + pause - self._now()))

    def _list(self, source: Source) -> None:
        found, self._version = source.list()
        self._labels = dict(found)
        self._hear()
        if not self._is_listed:
            self._is_listed = True
            self._report(f"namespaces whose labels are known: {len(found)}")
        self._answered.set()

    def _take(self, change: Change) -> None:
        self._version = change.version
        if change.labels is not None:
            self._labels[change.name] = change.labels
        elif change.name:
            self._labels.pop(change.name, None)
        self._hear()

    def _hear(self) -> None:
        if self._problem and self._is_listed:
            self._report("namespaces are watched again")
        self._heard, self.heard_at = True, self._now()
        self._problem, self._wait = "", FIRST_WAIT_SECONDS

    def _on_problem(self, problem: str) -> float:
        """Tells it once, and returns how long to wait. After a round without a word the next one lists anew."""
        if not self._is_listed and problem != self._problem:
            self._warn(f"namespaces cannot be listed yet, reviews that need their labels wait: {problem}")
        elif self._is_listed and not self._problem:
            self._warn(f"namespaces are not watched, the labels known so far go on: {problem}")
        if not self._heard:
            self._version = ""
        pause, self._problem, self._wait = self._wait, problem, min(2 * self._wait, LONGEST_WAIT_SECONDS)
        self._answered.set()
        return pause

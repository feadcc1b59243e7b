"""What the webhook says: lines for the operator, and one for each denial. Saying it never holds up a review.

Lines go through a queue to a thread: a full disk, a closed pipe or a reader that has stopped costs lines, not reviews.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType

from gpupolicy.admission import Decision
from gpupolicy.errors import shown
from gpupolicy.model import Policy

from .answer import version_of
from .review import Review

QUEUE_LINES = 1000
FLUSH_SECONDS = 1.0
MESSAGE_CHARACTERS = 1000
_NAME_CHARACTERS = 260


@dataclass(kw_only=True)
class TokenBucket:
    """Lets through ``burst`` things at once and ``rate`` a second in the long run."""

    rate: float = 10.0
    burst: float = 50.0
    clock: Callable[[], float] = time.monotonic

    def __post_init__(self) -> None:
        self._tokens, self._at = self.burst, self.clock()

    def take(self) -> bool:
        """Returns whether one more may pass now."""
        now = self.clock()
        self._tokens = min(self.burst, self._tokens + max(0.0, now - self._at) * self.rate)
        self._at = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True


class Journal:
    """Writes lines, as text or as JSON objects. Its methods may be called from any thread, and never raise or wait."""

    def __init__(
        self,
        write: Callable[[str], None],
        *,
        as_json: bool = False,
        count: Callable[[str], None] = lambda _result: None,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        bucket: TokenBucket | None = None,
    ) -> None:
        """Starts the thread.

        Args:
            write: writes one line without its end; may raise OSError or ValueError, or wait.
            as_json: each line is a JSON object.
            count: told what became of each line: written, limited or lost.
            now: the time that JSON lines carry.
            bucket: how many denials are told.
        """
        self._write, self._as_json, self._count, self._now = write, as_json, count, now
        self._bucket = bucket or TokenBucket()
        self._limited = 0
        self._lines: deque[str] = deque()
        self._changed = threading.Condition()
        self._is_writing = self._is_closed = self._is_cut = False
        self._thread = threading.Thread(target=self._run, name="journal", daemon=True)
        self._thread.start()

    def report(self, message: str) -> None:
        """Tells the operator something about the server itself."""
        self.tell("notice", message)

    def warn(self, message: str) -> None:
        """Tells the operator of something that needs a hand."""
        self.tell("warning", message, level="warning")

    def tell(
        self, event: str, message: str, *, level: str = "info", fields: Mapping[str, object] = MappingProxyType({})
    ) -> None:
        """Writes one line; ``fields`` are shown in JSON alone."""
        if self._as_json:
            head = {"time": self._now().isoformat(timespec="milliseconds"), "level": level, "event": event}
            message = json.dumps({**head, "message": message, **fields})
        with self._changed:
            if len(self._lines) < QUEUE_LINES:
                self._lines.append(message)
                self._changed.notify_all()
                return
        self._count("lost")

    def deny(self, review: Review, decision: Decision, policy: Policy, message: str) -> None:
        """Writes one line for a denial: who, what, why. Nothing of the object but its name is in it.

        Args:
            review: what was asked.
            decision: what was decided.
            policy: by which policy.
            message: what the user is told.
        """
        if not self._bucket.take():
            self._limited += 1
            self._count("limited")
            return
        limited, self._limited = self._limited, 0
        fields = {**_to_fields(review, decision, policy), **({"dropped": limited} if limited else {})}
        text = shown(message, MESSAGE_CHARACTERS)
        if not self._as_json:
            more = f" ({limited} more were not told)" if limited else ""
            dry = " (dry run)" if review.dry_run else ""
            text = f"denied: {review.operation} by {fields['user']}{dry}: {text}{more}"
        self.tell("denied", text, fields=fields)

    def close(self, seconds: float = FLUSH_SECONDS) -> None:
        """Waits until all lines are written, but not for ever, and ends the thread."""
        with self._changed:
            self._changed.wait_for(lambda: not self._lines and not self._is_writing, seconds)
            self._is_closed = True
            self._changed.notify_all()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._lines or self._is_closed)
                if not self._lines:
                    return
                line, self._is_writing = self._lines.popleft(), True
            try:
                self._write(f"\n{line}" if self._is_cut else line)  # on a full disk the last one ended anywhere
                self._is_cut = False
                self._count("written")
            except Exception:  # the outermost edge of the thread; whatever it was, it cannot be told here
                self._is_cut = True
                self._count("lost")
            finally:
                with self._changed:
                    self._is_writing = False
                    self._changed.notify_all()


class JournalHandler(logging.Handler):
    """Brings what is logged by name (a defect of ours, with its trace) into the journal."""

    def __init__(self, journal: Journal) -> None:
        super().__init__(logging.WARNING)
        self._journal = journal
        self._bucket = TokenBucket(rate=1.0, burst=5.0)

    def emit(self, record: logging.LogRecord) -> None:
        """Writes one record; the trace holds lines of our code, no values."""
        if not self._bucket.take():
            return
        formatted = logging.Formatter().format(record)
        self._journal.tell("defect", formatted, level="error")


def _to_fields(review: Review, decision: Decision, policy: Policy) -> Mapping[str, object]:
    metadata = review.new.get("metadata") if review.new else None
    metadata = metadata if isinstance(metadata, Mapping) else {}
    name = review.name or metadata.get("name") or metadata.get("generateName") or ""
    return {
        "uid": shown(review.uid, _NAME_CHARACTERS),
        "operation": shown(review.operation, 20),
        "kind": shown(review.kind, _NAME_CHARACTERS),
        "namespace": shown(review.namespace or "", _NAME_CHARACTERS),
        "name": shown(str(name), _NAME_CHARACTERS),
        "user": shown(review.username or "", _NAME_CHARACTERS),
        "dryRun": review.dry_run,
        "rules": sorted({violation.rule for violation in decision.violations}),
        "policy": version_of(policy),
    }

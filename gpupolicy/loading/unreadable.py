"""What makes a text unreadable, whatever reads it."""

from __future__ import annotations

from gpupolicy.errors import Finding, Severity

MAX_DEPTH = 100
MAX_DOCUMENTS = 100_000


class UnreadableError(Exception):
    """A document that cannot become values; the place counts from 1. Never leaves this package."""

    def __init__(self, rule: str, message: str, line: int, column: int, hint: str | None = None) -> None:
        super().__init__(message)
        self.finding = Finding(rule=rule, severity=Severity.ERROR, field=(), message=message, hint=hint)
        self.line = line
        self.column = column


def too_deep(line: int, column: int) -> UnreadableError:
    """Returns what is said about a text with more levels than are read."""
    return UnreadableError("yaml-too-deep", f"more than {MAX_DEPTH} levels stand inside each other", line, column)


def too_many_documents(line: int) -> UnreadableError:
    """Returns what is said about a text with more documents than are read."""
    message = f"the text has more than {MAX_DOCUMENTS} documents, which is the most that are read"
    return UnreadableError("input-too-large", message, line, 1)

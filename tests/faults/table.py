"""What a run measured, as tables at its end. Nothing here is asserted: times depend on the machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from faults.load import Report
from faults.replicas import Replica, Size

MEGABYTE = 1024 * 1024


class Table:
    """Rows under the names of their columns, in Markdown; the first column is text, the others are numbers."""

    def __init__(self, *columns: str) -> None:
        self._rows: list[Sequence[str]] = [columns]

    @property
    def is_empty(self) -> bool:
        """Whether there is no row yet."""
        return len(self._rows) == 1

    def add(self, *cells: str) -> None:
        """Adds a row."""
        self._rows.append(cells)

    def lines(self) -> Iterator[str]:
        """Yields the table line by line."""
        widths = [max(map(len, column)) for column in zip(*self._rows, strict=True)]
        head, *rows = ([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])] for row in self._rows)
        rule = ["-" * width for width in widths]
        yield from (f"| {' | '.join(row)} |" for row in (head, rule, *rows))


class Measured:
    """The tables of a run."""

    def __init__(self) -> None:
        self.faults = Table(
            *("fault", "reviews/s", "alone", "p99 ms", "alone", "ratio", "failed", "peak MB", "bad clients' CPU")
        )
        self.soak = Table("soak", "RSS MB", "threads", "descriptors", "reviews", "reviews/s", "p99 ms", "failed")

    def fault(
        self, name: str, report: Report, *replicas: Replica, before: Report | None = None, cpu: float | None = None
    ) -> None:
        """Adds what well-behaved clients met during a fault.

        Args:
            name: of the fault.
            report: what they met.
            replicas: those that still run; the most memory that one of them has held is told.
            before: what they met undisturbed, just before.
            cpu: how many processors the misbehaving clients kept busy.
        """
        self.faults.add(
            name,
            f"{report.rate:,.0f}",
            f"{before.rate:,.0f}" if before else "",
            f"{report.p99:.2f}",
            f"{before.p99:.2f}" if before else "",
            f"{report.p99 / before.p99:.1f}" if before and before.p99 else "",
            str(report.failed),
            f"{max(replica.peak() for replica in replicas) / MEGABYTE:.0f}",
            f"{cpu:.2f}" if cpu is not None else "",
        )

    def size(self, moment: str, size: Size, report: Report | None = None) -> None:
        """Adds what the process held at a moment of the soak, and at its end what the clients met."""
        told = (f"{report.reviews:,}", f"{report.rate:,.0f}", f"{report.p99:.2f}", str(report.failed)) if report else ()
        held = (f"{size.rss / MEGABYTE:.1f}", str(size.threads), str(size.descriptors))
        self.soak.add(moment, *held, *(told or ("",) * 4))

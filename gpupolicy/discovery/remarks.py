"""What a reader of the policy should know and nobody could put into it: notes, and short lists of names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gpupolicy.errors import shown

MOST_NAMED = 3


class Notes:
    """Collects remarks in the order in which they come up, each once."""

    def __init__(self) -> None:
        self._lines: dict[str, None] = {}

    def add(self, line: str) -> None:
        """Keeps a remark."""
        self._lines[line] = None

    @property
    def lines(self) -> tuple[str, ...]:
        """Every remark, in order."""
        return tuple(self._lines)


def named(names: Iterable[str]) -> str:
    """Returns a few names in words: ``a, b, c and 4 more``, sorted."""
    everyone = sorted(names)
    some = ", ".join(shown(name, 60) for name in everyone[:MOST_NAMED])
    rest = len(everyone) - MOST_NAMED
    return f"{some} and {rest} more" if rest > 0 else some


def listed(values: Sequence[object]) -> str:
    """Returns ``1, 2 and 4``."""
    texts = [str(value) for value in values]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"

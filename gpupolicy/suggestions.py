"""Did you mean: the nearest known word, and the hint that offers it. Imports nothing of ours."""

from __future__ import annotations

from collections.abc import Iterable

MOST_LISTED = 20


def find_nearest(word: str, known: Iterable[str]) -> str | None:
    """Returns the known word that was probably meant; None where none is near."""
    return _find_alike(word, known, 0.6)


def find_slip(word: str, known: Iterable[str]) -> str | None:
    """Returns the known word that this one is, or is a slip of: DeamonSet for DaemonSet, but no JobSet for Job."""
    return _find_alike(word, known, 0.85)


def _find_alike(word: str, known: Iterable[str], cutoff: float) -> str | None:
    words = list(known)
    folded = _fold(word)
    for candidate in words:
        if _fold(candidate) == folded:
            return candidate
    from difflib import get_close_matches  # not needed where nothing is wrong

    by_fold = {_fold(candidate): candidate for candidate in reversed(words)}
    matches = get_close_matches(folded, by_fold, n=1, cutoff=cutoff)
    return by_fold[matches[0]] if matches else None


def hint_known(word: str, known: Iterable[str]) -> str | None:
    """Returns the hint for an unknown word: the nearest one, else all that are known; None where none is."""
    words = sorted({*known} - {""})
    if nearest := find_nearest(word, words):
        return f"did you mean {nearest}"
    if not words:
        return None
    more = f" and {len(words) - MOST_LISTED} more" if len(words) > MOST_LISTED else ""
    return f"known: {', '.join(words[:MOST_LISTED])}{more}"


def _fold(word: str) -> str:
    return word.casefold().replace("-", "").replace("_", "")

"""What a shell can complete: verbs, options and their values, as values; the scripts are made from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

PROGRAM = "gpupolicy"


class Value(StrEnum):
    """What stands behind an option, or where no option stands."""

    NOTHING = "nothing"
    FILE = "file"
    FOLDER = "folder"
    WORD = "word"
    TEXT = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """An option with all its names; ``words`` are the choices of a ``Value.WORD``."""

    names: tuple[str, ...]
    summary: str
    value: Value = Value.NOTHING
    words: tuple[str, ...] = ()
    is_repeatable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Verb:
    """A verb; ``positional`` is what its arguments without a name are."""

    name: str
    summary: str
    options: tuple[Option, ...]
    positional: Value = Value.NOTHING
    words: tuple[str, ...] = ()

    def find_option(self, name: str) -> Option | None:
        """Returns the option of a name."""
        return next((option for option in self.options if name in option.names), None)


def complete(verbs: Sequence[Verb], words: Sequence[str]) -> tuple[Value, tuple[str, ...]]:
    """Completes the last of some words.

    Args:
        verbs: all verbs.
        words: what was typed behind the program's name; the last is what is being typed, perhaps empty.

    Returns:
        What is expected there, and the words that fit; files and folders are left to the shell.
    """
    *before, typed = words or ("",)
    verb = next((verb for verb in verbs if verb.name in before), None)
    if verb is None:
        return Value.WORD, tuple(verb.name for verb in verbs if verb.name.startswith(typed))
    name, equals, _ = typed.partition("=")
    option = verb.find_option(name if equals else before[-1])
    if option is not None and option.value is not Value.NOTHING:
        prefix = f"{name}=" if equals else ""
        fitting = (f"{prefix}{word}" for word in option.words)
        return option.value, tuple(word for word in fitting if word.startswith(typed))
    if typed.startswith("-"):
        names = (name for option in verb.options for name in option.names)
        return Value.WORD, tuple(name for name in names if name.startswith(typed))
    return verb.positional, tuple(word for word in verb.words if word.startswith(typed))


def options_with_value(verb: Verb) -> Iterator[Option]:
    """Yields the options behind which something stands."""
    return (option for option in verb.options if option.value is not Value.NOTHING)

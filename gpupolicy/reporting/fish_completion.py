"""The completion script for fish."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpupolicy.reporting.completion import PROGRAM, Option, Value, Verb

_NO_VERB = "__fish_use_subcommand"


def write_fish(verbs: Sequence[Verb]) -> str:
    """Returns the script."""
    head = f"# fish completion for {PROGRAM}; made by: {PROGRAM} completion fish\n"
    return head + "".join(f"complete -c {PROGRAM} {line}\n" for verb in verbs for line in _lines(verb))


def _lines(verb: Verb) -> Iterator[str]:
    yield f"-n {_NO_VERB} -f -a {verb.name} -d {_quote(verb.summary)}"
    chosen = f"-n '__fish_seen_subcommand_from {verb.name}'"
    for option in verb.options:
        yield f"{chosen} {_names(option)}{_value(option)} -d {_quote(option.summary)}"
    if verb.positional is Value.WORD:
        yield f"{chosen} -f -a {_quote(' '.join(verb.words))}"
    elif verb.positional is Value.NOTHING:
        yield f"{chosen} -f"


def _names(option: Option) -> str:
    return " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names)


def _value(option: Option) -> str:
    if option.value is Value.WORD:
        return f" -x -a {_quote(' '.join(option.words))}"
    values = {Value.FILE: " -r -F", Value.FOLDER: " -x -a '(__fish_complete_directories)'", Value.TEXT: " -x"}
    return values.get(option.value, "")


def _quote(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

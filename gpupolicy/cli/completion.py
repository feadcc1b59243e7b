"""``gpupolicy completion``: the script that lets a shell complete verbs, options and their values."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import NoReturn

from gpupolicy.cli.parser import Parser, Subparsers
from gpupolicy.cli.streams import Streams
from gpupolicy.reporting.bash_completion import write_bash
from gpupolicy.reporting.completion import Option, Value, Verb, complete
from gpupolicy.reporting.fish_completion import write_fish
from gpupolicy.reporting.zsh_completion import write_zsh

_SHELLS = {"bash": write_bash, "zsh": write_zsh, "fish": write_fish}
_VALUES = {"FILE": Value.FILE, "POLICY": Value.FILE, "PATH": Value.FILE, "DIR": Value.FOLDER}

# What kubectl understands as the last line, as all programs built with cobra: go on with files, or with nothing.
_DIRECTIVES = {Value.FILE: ":0", Value.FOLDER: ":16"}
_NO_FILES = ":4"


def add_parser(subparsers: Subparsers) -> None:
    """Adds the verb's arguments."""
    parser = subparsers.add_parser(
        "completion",
        description="Print the script that completes verbs, options and their values: source <(gpupolicy completion "
        "bash), or the same for zsh; gpupolicy completion fish | source.",
    )
    parser.add_argument("shell", choices=tuple(_SHELLS), help="the shell")


def run(args: argparse.Namespace, streams: Streams) -> int:
    """Prints the script of a shell."""
    streams.write(_SHELLS[args.shell](read_verbs(streams)))
    return 0


def run_kubectl() -> NoReturn:
    """The entry point of ``kubectl_complete-gpupolicy``, which kubectl asks what may come next."""
    streams = Streams.from_process()
    streams.write(answer_kubectl(sys.argv[1:], streams))
    streams.flush()
    sys.exit(0)


def answer_kubectl(words: Sequence[str], streams: Streams) -> str:
    """Returns what may stand for the last of the words, a line each, and a line that says whether files may too."""
    value, fitting = complete(read_verbs(streams), words)
    return "".join(f"{line}\n" for line in (*fitting, _DIRECTIVES.get(value, _NO_FILES)))


def read_verbs(streams: Streams) -> tuple[Verb, ...]:
    """Returns all verbs with what their parsers take."""
    from gpupolicy.cli import VERBS

    subparsers = Parser(streams=streams).add_subparsers(
        parser_class=partial(Parser, streams=streams)  # type: ignore[call-overload]  # called, never subclassed
    )
    for name in VERBS:
        import_module(f"gpupolicy.cli.{name}").add_parser(subparsers)
    return tuple(_read_verb(name, summary, subparsers.choices[name]) for name, summary in VERBS.items())


def _read_verb(name: str, summary: str, parser: argparse.ArgumentParser) -> Verb:
    positionals = [action for action in parser._actions if not action.option_strings]
    return Verb(
        name=name,
        summary=summary,
        options=_read_all_options(parser),
        positional=_value(positionals[0]) if positionals else Value.NOTHING,
        words=_choices(positionals[0]) if positionals else (),
    )


def _read_all_options(parser: argparse.ArgumentParser) -> tuple[Option, ...]:
    """Returns the options of a verb, and those of its actions (``nodes plan``), each once with all its words."""
    found: dict[tuple[str, ...], Option] = {}
    actions = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    for each in (parser, *(inner for action in actions for inner in action.choices.values())):
        for option in _read_options(each):
            known = found.get(option.names, option)
            found[option.names] = replace(known, words=tuple(dict.fromkeys((*known.words, *option.words))))
    return tuple(found.values())


def _read_options(parser: argparse.ArgumentParser) -> Iterator[Option]:
    for action in parser._actions:
        if action.option_strings:
            yield Option(
                names=tuple(action.option_strings),
                summary=_cut(action.help or ""),
                value=Value.NOTHING if action.nargs == 0 else _value(action),
                words=_choices(action),
                is_repeatable=isinstance(action, argparse._AppendAction),
            )


def _value(action: argparse.Action) -> Value:
    return Value.WORD if action.choices else _VALUES.get(str(action.metavar), Value.TEXT)


def _choices(action: argparse.Action) -> tuple[str, ...]:
    return tuple(str(choice) for choice in action.choices or ())


def _cut(text: str) -> str:
    """Returns the first part of a help text, without what it says in brackets or behind a semicolon."""
    return re.split(r" \(|; ", " ".join(text.split()))[0]

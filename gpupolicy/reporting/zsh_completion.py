"""The completion script for zsh: to be sourced, or a file _gpupolicy in a folder of fpath."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpupolicy.reporting.completion import PROGRAM, Option, Value, Verb

_HEAD = """\
#compdef {program}
# zsh completion for {program}; made by: {program} completion zsh
_{program}() {{
    local curcontext=$curcontext state line
    local -a verbs=(
{verbs}    )
    _arguments -C '1: :->verb' '*:: :->rest'
    case $state in
        verb) _describe -t verbs verb verbs ;;
        rest)
            case $words[1] in
"""
_TAIL = """\
            esac ;;
    esac
}}
if [[ $funcstack[1] == _{program} ]]; then _{program} "$@"; else compdef _{program} {program}; fi
"""


def write_zsh(verbs: Sequence[Verb]) -> str:
    """Returns the script."""
    listed = "".join(f"        {_quote(f'{verb.name}:{verb.summary}')}\n" for verb in verbs)
    head = _HEAD.format(program=PROGRAM, verbs=listed)
    return head + "".join(_case(verb) for verb in verbs) + _TAIL.format(program=PROGRAM)


def _case(verb: Verb) -> str:
    arguments = " ".join(_quote(argument) for argument in _arguments(verb))
    return f"                {verb.name}) _arguments {arguments} ;;\n"


def _arguments(verb: Verb) -> Iterator[str]:
    for option in verb.options:
        others = "" if option.is_repeatable else f"({' '.join(option.names)})"
        for name in option.names:
            star = "*" if option.is_repeatable else others
            equals = "=" if name.startswith("--") and option.value is not Value.NOTHING else ""
            yield f"{star}{name}{equals}[{_escape(option.summary)}]{_action(option)}"
    if verb.positional is not Value.NOTHING:
        yield f"*: :{_values(verb.positional, verb.words)}"


def _action(option: Option) -> str:
    return "" if option.value is Value.NOTHING else f": :{_values(option.value, option.words)}"


def _values(value: Value, words: Sequence[str]) -> str:
    if value is Value.WORD:
        return f"({' '.join(words)})"
    return {Value.FILE: "_files", Value.FOLDER: "_files -/"}.get(value, " ")


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")


def _quote(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"

"""The completion script for bash, from 3.2 on: words and options by verb, files left to the shell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpupolicy.reporting.completion import PROGRAM, Option, Value, Verb, options_with_value

_HEAD = """\
# bash completion for {program}; made by: {program} completion bash
_{program}() {{
    local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} verb="" word
    COMPREPLY=()
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case $word in
            {verbs}) verb=$word; break ;;
        esac
    done
    if [[ $cur == "=" ]]; then cur=""; elif [[ $prev == "=" ]]; then prev=${{COMP_WORDS[COMP_CWORD-2]}}; fi
    if [[ -z $verb ]]; then
        COMPREPLY=( $(compgen -W "{words}" -- "$cur") )
        return
    fi
    case "$verb $prev" in
"""
_MIDDLE = """\
    esac
    case "$verb $cur" in
"""
_TAIL = """\
    esac
}}
complete -o bashdefault -o default -F _{program} {program}
"""
_NO_FILES = "compopt +o bashdefault +o default 2>/dev/null"


def write_bash(verbs: Sequence[Verb]) -> str:
    """Returns the script. An empty answer means files to bash, so where none fit they are switched off."""
    names = [verb.name for verb in verbs]
    head = _HEAD.format(program=PROGRAM, verbs="|".join(names), words=" ".join(names))
    values = "".join(line for verb in verbs for line in _values(verb))
    others = "".join(line for verb in verbs for line in _others(verb))
    return head + values + _MIDDLE + others + _TAIL.format(program=PROGRAM)


def _values(verb: Verb) -> Iterator[str]:
    for option in options_with_value(verb):
        pattern = "|".join(f'"{verb.name} {name}"' for name in option.names)
        yield f"        {pattern}) {_reply(option)}; return ;;\n"


def _reply(option: Option) -> str:
    if option.value is Value.WORD:
        return _words(option.words)
    if option.value is Value.FOLDER:
        return 'COMPREPLY=( $(compgen -d -- "$cur") )'
    return ":" if option.value is Value.FILE else _NO_FILES


def _others(verb: Verb) -> Iterator[str]:
    names = [name for option in verb.options for name in option.names]
    yield f'        "{verb.name} -"*) {_words(names)} ;;\n'
    if verb.positional is Value.WORD:
        yield f'        "{verb.name} "*) {_words(verb.words)} ;;\n'
    elif verb.positional is Value.NOTHING:
        yield f'        "{verb.name} "*) {_NO_FILES} ;;\n'


def _words(words: Sequence[str]) -> str:
    return f'COMPREPLY=( $(compgen -W "{" ".join(words)}" -- "$cur") )'

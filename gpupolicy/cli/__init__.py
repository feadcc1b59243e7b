"""The command line: ``main`` finds the verb, runs it and turns every error into one line and an exit status.

A verb is a module of this folder with ``add_parser(subparsers)`` and ``run(args, streams) -> int``. Only the chosen
one is imported, so that ``lint`` and ``version`` start fast. ``add_parser`` may leave ``help=`` out: the overview
takes its lines from ``VERBS``.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from gpupolicy.cli.streams import Streams
from gpupolicy.errors import GPUPolicyError, InputError, PolicyError, UsageError, reason_of

if TYPE_CHECKING:
    from argparse import HelpFormatter

    from gpupolicy.cli.parser import Parser

OK = 0
UNUSABLE = 2
INTERRUPTED = 130
PIPE_CLOSED = 141

VERBS = {
    "init": "write a starter policy for the nodes of a cluster or a dump",
    "lint": "judge policies, scheduler and webhook configurations and node lists",
    "compile": "write the manifests that a policy stands for",
    "check": "judge manifests offline, as the webhook would",
    "mutate": "write manifests as the webhook would leave them",
    "fn": "judge or change the resources of kustomize and kpt (KRM function)",
    "explain": "tell how the decision on a manifest comes about",
    "test": "run policy tests",
    "capacity": "count slots: total, used, free now; what fits, what is stranded, what becomes free when",
    "nodes": "put nodes under a policy: plan, apply, status",
    "audit": "judge what already runs, in a cluster or a dump, and tell what mends it",
    "serve": "run the admission webhook",
    "certs": "make the webhook's CA and serving certificate",
    "monitoring": "print alert rules and a dashboard for the webhook",
    "demo": "tell the whole story on this machine, without a cluster",
    "schema": "print the JSON Schema of the policy, for editors",
    "completion": "print the completion script for a shell",
    "version": "print the version",
}


def run_main() -> NoReturn:
    """The entry point of ``gpupolicy`` and ``kubectl-gpupolicy``."""
    program = "kubectl gpupolicy" if Path(sys.argv[0]).name.startswith("kubectl") else "gpupolicy"
    status = main(program=program, debug=os.environ.get("GPUPOLICY_DEBUG", "") not in ("", "0"))
    if status == PIPE_CLOSED:  # nobody reads any more: keep the interpreter's last flush from complaining
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    gc.freeze()  # spares the interpreter the search for garbage in all that ends now: 4% of a short run
    sys.exit(status)


def main(
    argv: Sequence[str] | None = None,
    streams: Streams | None = None,
    *,
    program: str = "gpupolicy",
    debug: bool = False,
) -> int:
    """Runs one verb.

    Args:
        argv: the arguments without the program's name; None takes those of the process.
        streams: where to read and write; None takes those of the process.
        program: the name that usage lines show.
        debug: let an unexpected exception through, with its traceback.

    Returns:
        0 fine; 1 findings, denied or drift; 2 wrong usage, unreadable input or nothing checked; 130 interrupted;
        141 when the reader of standard output is gone.
    """
    streams = streams or Streams.from_process()
    try:
        status = _run(sys.argv[1:] if argv is None else argv, streams, program)
        streams.flush()
        return status
    except BrokenPipeError:
        return PIPE_CLOSED
    except KeyboardInterrupt:
        streams.tell("interrupted")
        return INTERRUPTED
    except (GPUPolicyError, OSError) as error:
        _tell_error(error, streams)
    except Exception as error:  # the outermost edge: no traceback reaches a user
        if debug:
            raise
        _tell_internal_error(error, streams)
    return UNUSABLE


def _run(argv: Sequence[str], streams: Streams, program: str) -> int:
    from gpupolicy.cli.parser import ParsingEnded

    if list(argv) == ["--version"]:
        argv = ["version"]
    verb = next((word for word in argv if not word.startswith("-")), None)
    if verb is not None and verb not in VERBS:
        raise UsageError(_unknown_verb(verb, program))
    if verb is None and not {"-h", "--help"} & set(argv):
        raise UsageError(f"no verb given: see {program} --help")
    try:
        others = {} if argv[0] == verb else VERBS  # behind a verb nobody asks for the overview
        args = _build_parser(verb, streams, program, others).parse_args(argv)
    except ParsingEnded:
        return OK
    status: int = import_module(f"gpupolicy.cli.{verb}").run(args, streams)
    return status


def _build_parser(chosen: str | None, streams: Streams, program: str, others: Mapping[str, str] = VERBS) -> Parser:
    """Returns the parser of the overview, with the arguments of the chosen verb alone."""
    from gpupolicy.cli.parser import Parser

    parser = Parser(
        streams=streams,
        prog=program,
        description="Policy as code for GPU clusters on Kubernetes.",
        epilog=f"{program} VERB --help tells more of one verb",
        formatter_class=_overview,
    )
    parser.add_argument("--version", action="store_true", help="print the version")
    subparsers = parser.add_subparsers(
        title="verbs",
        metavar="VERB",
        dest="verb",
        parser_class=partial(Parser, streams=streams),  # type: ignore[call-overload]  # called, never subclassed
    )
    for verb in VERBS:
        if verb == chosen:
            import_module(f"gpupolicy.cli.{verb}").add_parser(subparsers)
        elif verb in others:
            subparsers.add_parser(verb, help=others[verb], add_help=False)
    return parser


def _overview(prog: str) -> HelpFormatter:
    """Returns a formatter with a column wide enough for every verb: argparse forgets that they are indented twice."""
    from argparse import HelpFormatter

    formatter = HelpFormatter(prog)
    formatter._action_max_length = 4 + max(map(len, VERBS))
    return formatter


def _unknown_verb(verb: str, program: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(verb, VERBS, n=1)
    hint = f"did you mean {close[0]}?" if close else f"see {program} --help"
    return f'there is no verb "{verb}": {hint}'


def _tell_error(error: GPUPolicyError | OSError, streams: Streams) -> None:
    """Writes an expected error as one line, a broken policy as one line a finding."""
    if isinstance(error, PolicyError):
        from gpupolicy.reporting.text_format import format_findings

        streams.stderr.write(format_findings(error.findings))
        streams.tell("error: the policy has errors, so nothing was done")
    elif isinstance(error, InputError):
        streams.tell(f"error: {_place(error)}{error.message}")
    elif isinstance(error, OSError):
        name = f"{error.filename}: " if error.filename is not None else ""
        streams.tell(f"error: {name}{reason_of(error)}")
    else:
        streams.tell(f"error: {error}")


def _place(error: InputError) -> str:
    if error.line is None and error.file is not None and error.file in error.message:
        return ""
    parts = [str(part) for part in (error.file, error.line, error.column) if part is not None]
    return ":".join(parts) + ": " if parts else ""


def _tell_internal_error(error: Exception, streams: Streams) -> None:
    shown = " ".join(f"{type(error).__name__}: {error}".split())
    streams.tell(
        f"error: internal: {shown[:300]} (a bug in gpupolicy: GPUPOLICY_DEBUG=1 shows where; please report it)"
    )

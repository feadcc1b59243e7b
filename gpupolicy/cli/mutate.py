"""``gpupolicy mutate``: manifests as the webhook would leave them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

from gpupolicy.cli.inputs import Manifests, find_nothing, manifest_arguments, policy_argument, read_policy
from gpupolicy.cli.parser import Subparsers
from gpupolicy.cli.streams import STANDARD_INPUT, Streams
from gpupolicy.cli.surroundings import read_surroundings
from gpupolicy.errors import Severity, UsageError
from gpupolicy.manifests.mutation import Mutated, mutate_manifest
from gpupolicy.manifests.reading import STANDARD_INPUT_NAME
from gpupolicy.manifests.replacing import replace_files
from gpupolicy.reporting.text_format import format_check


@dataclass(frozen=True, slots=True, kw_only=True)
class MutateOptions:
    """The arguments of the verb."""

    policy: str
    files: tuple[str, ...]
    namespace: str
    in_place: bool
    templates: bool


def add_parser(subparsers: Subparsers) -> None:
    """Adds the verb's arguments."""
    parser = subparsers.add_parser(
        "mutate",
        description="Write manifests as the webhook would leave them: pods are routed, everything else stays as it "
        "is, comments and order too. With - it reads and writes a stream, as a Helm post-renderer does.",
    )
    policy_argument(parser)
    manifest_arguments(parser)
    parser.add_argument("--in-place", action="store_true", help="change the files themselves: all of them or none")
    parser.add_argument(
        "--templates",
        action="store_true",
        help="also patch the pod templates of Deployments, Jobs and the like, which the webhook leaves alone",
    )


def run(args: argparse.Namespace, streams: Streams) -> int:
    """Mutates manifests; what is denied stays as it is, and says why on standard error."""
    options = MutateOptions(
        policy=args.policy,
        files=tuple(args.files),
        namespace=args.namespace,
        in_place=args.in_place,
        templates=args.templates,
    )
    if options.in_place and STANDARD_INPUT in options.files:
        raise UsageError("--in-place changes files, and - is standard input")
    policy = read_policy(options.policy, streams)
    manifests = Manifests(options.files, streams)
    surroundings = read_surroundings(policy, manifests, options.namespace)
    results = {
        file: mutate_manifest(
            policy,
            manifests.read_bytes(file),
            STANDARD_INPUT_NAME if file == STANDARD_INPUT else file,
            surroundings=surroundings,
            with_templates=options.templates,
        )
        for file in manifests.files
    }
    for result in results.values():
        streams.stderr.write(format_check(result.report))
    status = _status(list(results.values()), options, streams)
    if options.in_place:
        _write_files(results, status, streams)
    elif status != 2:
        streams.write_bytes(_join([result.data for result in results.values()]))
    return status


def _status(results: Sequence[Mutated], options: MutateOptions, streams: Streams) -> int:
    if any(result.report.unreadable for result in results):
        streams.tell("error: something could not be read, so nothing was written")
        return 2
    if why := find_nothing([each for result in results for each in result.report.objects], options.files):
        streams.tell(f"error: nothing was written: {why}")
        return 2
    return 1 if any(result.report.has(Severity.ERROR) for result in results) else 0


def _write_files(results: dict[str, Mutated], status: int, streams: Streams) -> None:
    """Writes all changed files, or none where anything is denied."""
    changed = {file: result.data for file, result in results.items() if result.changed_pods}
    if status == 0:
        replace_files(changed)
        pods = sum(result.changed_pods for result in results.values())
        streams.tell(f"{len(changed)} of {len(results)} files changed, {pods} pods")
    elif status == 1:
        streams.tell("something is denied, so no file was changed")


def _join(parts: list[bytes]) -> bytes:
    """Returns the manifests as one stream, with a line of dashes wherever two meet."""
    stream = b""
    for part in parts:
        if stream and part.strip():
            stream += b"" if stream.endswith(b"\n") else b"\n"
            stream += b"" if part.startswith(b"---") else b"---\n"
        stream += part
    return stream

"""``gpupolicy compile``: the manifests that a policy stands for, as a stream, a folder, or the proof behind them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gpupolicy.assignment import assign
from gpupolicy.cli.inputs import Manifests, policy_argument, read_policy
from gpupolicy.cli.parser import Subparsers
from gpupolicy.cli.streams import Streams, check_read_once, output_file
from gpupolicy.compiler import TARGET_NAMES, Manifest, Order, check_targets, compile_manifests
from gpupolicy.compiler.explanation import explain, find_weakness
from gpupolicy.compiler.folder import find_leftovers, write_folder
from gpupolicy.compiler.registration import NO_BUNDLE, needs_ca_bundle
from gpupolicy.compiler.rendering import render_configuration, render_files, render_stream
from gpupolicy.compiler.scheduler import NO_PROFILES, prove_all
from gpupolicy.errors import InputError, LocatedFinding, Severity, UsageError
from gpupolicy.manifests.objects import read_content
from gpupolicy.model import PLACEHOLDER_IMAGE, Policy

_NOTHING = (
    "scheduler needs profiles in the policy, nodes a guard, a GPU type found by nvidia.com/ labels, or --nodes FILE"
)
_PLACEHOLDER = (
    f"the image {PLACEHOLDER_IMAGE} is a placeholder that no registry has: build yours (docs/install.md) and set "
    "spec.webhook.image"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileOptions:
    """The arguments of the verb."""

    policy: str
    targets: tuple[str, ...]
    output: str | None
    nodes: tuple[str, ...]
    ca_bundle: str | None
    scheduler_image: str | None
    prune: bool
    explain: bool
    scheduler_config: bool


def add_parser(subparsers: Subparsers) -> None:
    """Adds the verb's arguments."""
    parser = subparsers.add_parser(
        "compile",
        description="Write the manifests that a policy stands for to standard output, or to a folder for kustomize.",
    )
    policy_argument(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="DIR",
        help="a folder to write, all or nothing: new, empty, or compiled before (default, or -: standard output)",
    )
    parser.add_argument(
        "--target",
        action="append",
        metavar="TARGET",
        help=f"one of {', '.join(TARGET_NAMES)}; repeatable (default: all)",
    )
    parser.add_argument(
        "--prune", action="store_true", help="with --output and --target: remove the files of other targets"
    )
    parser.add_argument(
        "--nodes",
        action="append",
        default=[],
        metavar="FILE",
        help="Nodes (kubectl get nodes -o yaml): also write their labels; repeatable",
    )
    parser.add_argument("--ca-bundle", metavar="FILE", help="PEM file of the CA that signs the webhook's certificate")
    parser.add_argument(
        "--scheduler-image", metavar="IMAGE", help="of a second scheduler (default: the policy's version, patch 0)"
    )
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--explain", action="store_true", help="print why the scheduler profiles pack, as a table")
    shown.add_argument(
        "--scheduler-config", action="store_true", help="print only the file for kube-scheduler --config, in any mode"
    )


def run(args: argparse.Namespace, streams: Streams) -> int:
    """Compiles a policy; remarks go to standard error."""
    options = CompileOptions(
        policy=args.policy,
        targets=tuple(args.target or TARGET_NAMES),
        output=output_file(args.output),
        nodes=tuple(args.nodes),
        ca_bundle=args.ca_bundle,
        scheduler_image=args.scheduler_image,
        prune=args.prune,
        explain=args.explain,
        scheduler_config=args.scheduler_config,
    )
    check_targets(options.targets)
    order = _read_order(options, streams)
    _tell_weaknesses(order, options, streams)
    if options.output is not None:
        files = render_files(order.policy, _compile(order, options))
        leftovers = find_leftovers(Path(options.output), files)
        _refuse_narrowing(leftovers, options)
        write_folder(Path(options.output), files)
        for name in leftovers:
            streams.tell(f"{options.output}: {name} removed")
        streams.tell(f"{options.output}: {len(files)} {'file' if len(files) == 1 else 'files'} written")
    if options.explain:
        streams.write(_explain(order.policy))
    elif options.scheduler_config:
        streams.write(render_configuration(order.policy))
    elif options.output is None:
        streams.write(render_stream(order.policy, _compile(order, options)))
    return 0


def _refuse_narrowing(leftovers: Sequence[str], options: CompileOptions) -> None:
    """Stops a run for some targets from taking away what a run for others wrote: a cluster would follow the folder."""
    others = [name for name in leftovers if "/" in name and name.partition("/")[0] not in options.targets]
    if others and not options.prune:
        files = "1 file" if len(others) == 1 else f"{len(others)} files"
        raise UsageError(
            f"{options.output} holds {files} of other targets, such as {others[0]}: name another folder, compile all "
            "targets, or remove them with --prune"
        )


def _explain(policy: Policy) -> str:
    proofs = prove_all(policy)
    if not proofs:
        raise UsageError(NO_PROFILES)
    return "\n".join(explain(proof) for proof in proofs)


def _compile(order: Order, options: CompileOptions) -> tuple[Manifest, ...]:
    manifests = compile_manifests(order, options.targets)
    if not manifests:
        listed = ", ".join(options.targets)
        raise UsageError(f"the policy gives nothing to write for target {listed}; {_NOTHING}")
    return manifests


def _read_order(options: CompileOptions, streams: Streams) -> Order:
    check_read_once(options.policy, *options.nodes)
    return Order(
        policy=read_policy(options.policy, streams),
        nodes=_read_nodes(options.nodes, streams) if options.nodes else None,
        ca_bundle=None if options.ca_bundle is None else _read_ca_bundle(options.ca_bundle),
        scheduler_image=options.scheduler_image,
    )


def _read_nodes(arguments: Sequence[str], streams: Streams) -> tuple[dict[str, object], ...]:
    """Reads every Node of the dumps; other objects in them are passed over."""
    nodes: list[dict[str, object]] = []
    for document in Manifests(arguments, streams).documents():
        content = read_content(document) if document.readable else None
        findings = (*document.findings, *(content.findings if content else ()))
        for finding in findings:
            if finding.severity is Severity.ERROR:
                raise _input_error(finding)
        nodes += (dict(found.value) for found in (content.objects if content else ()) if found.kind == "Node")
    if not nodes:
        raise InputError("there is no Node in it", file=", ".join(arguments))
    return tuple(nodes)


def _input_error(finding: LocatedFinding) -> InputError:
    return InputError(finding.message, rule=finding.rule, file=finding.file, line=finding.line, column=finding.column)


def _read_ca_bundle(path: str) -> bytes:
    """Reads a bundle; the API server would take junk without a word and fail at every call."""
    data = Path(path).read_bytes()
    if b"-----BEGIN CERTIFICATE-----" not in data:
        raise InputError("expected is a certificate in PEM form (-----BEGIN CERTIFICATE-----)", file=path)
    if b"PRIVATE KEY-----" in data:
        raise InputError("it holds a private key, which has no place in a manifest", file=path)
    return data


def _tell_weaknesses(order: Order, options: CompileOptions, streams: Streams) -> None:
    """Says on standard error what the manifests cannot say, or what is easily missed in them."""
    if "scheduler" in options.targets:
        for proof in prove_all(order.policy):
            if weakness := find_weakness(proof):
                streams.tell(f"warning: {weakness}")
    if options.explain or options.scheduler_config:
        return
    if "webhook" in options.targets and needs_ca_bundle(order):
        streams.tell(f"warning: the webhook's registration {NO_BUNDLE}")
    if "webhook" in options.targets and order.policy.webhook.image == PLACEHOLDER_IMAGE:
        streams.tell(f"note: {_PLACEHOLDER}")
    if "nodes" in options.targets and order.nodes is not None:
        for skipped in assign(order.policy, order.nodes).skipped:
            streams.tell(f"warning: node {skipped.node} gets no labels: {skipped.reason}")

"""``gpupolicy fn``: a function of the KRM Functions specification, for kustomize and kpt."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from gpupolicy.cli.inputs import current_time
from gpupolicy.cli.parser import Subparsers
from gpupolicy.cli.streams import Streams
from gpupolicy.errors import Severity, UsageError
from gpupolicy.loading import load, load_text
from gpupolicy.manifests.claims import claims_in
from gpupolicy.manifests.judgement import Surroundings
from gpupolicy.manifests.krm_function import (
    FunctionInput,
    in_file,
    judge_items,
    read_resource_list,
    route_items,
    write_list,
)
from gpupolicy.manifests.namespaces import namespace_labels_in
from gpupolicy.manifests.reading import STANDARD_INPUT_NAME
from gpupolicy.model import Policy
from gpupolicy.reporting.krm_format import format_results
from gpupolicy.reporting.text_format import format_findings
from gpupolicy.suggestions import hint_known

MODES = ("validate", "mutate")
_MODE_ANNOTATION = "gpupolicy.dev/mode"
_OPTIONS = ("policy", "mode", "namespace", "templates", "strict")
_TRUTHS = {"true": True, "false": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionOptions:
    """What arguments and functionConfig say; the arguments win."""

    mode: str
    namespace: str
    templates: bool
    strict: bool


def add_parser(subparsers: Subparsers) -> None:
    """Adds the verb's arguments."""
    parser = subparsers.add_parser(
        "fn",
        description="Read a ResourceList from standard input and write it to standard output, with results; exit "
        "status 1 where one of them is an error. The policy is the functionConfig itself, or data.policy of it "
        "names its file. data may also hold mode, namespace, templates and strict.",
    )
    parser.add_argument(
        "policy", metavar="POLICY", nargs="?", help="the policy's file; default: as functionConfig says"
    )
    parser.add_argument("--mode", choices=MODES, help="only judge, or route pods as well (default: validate)")
    parser.add_argument("--namespace", metavar="NAME", help="of items that name none (default: default)")
    parser.add_argument("--templates", action="store_true", help="with mutate: also route the templates of workloads")
    parser.add_argument("--strict", action="store_true", help="warnings end in exit status 1, too")


def run(args: argparse.Namespace, streams: Streams) -> int:
    """Runs the function once; what is denied stays as it is."""
    data = streams.read_bytes()
    given = read_resource_list(data, STANDARD_INPUT_NAME)
    policy = _read_policy(args.policy, given)
    options = _read_options(args, given)
    surroundings = Surroundings(
        namespace=options.namespace,
        now=current_time(),
        claims=claims_in(data, STANDARD_INPUT_NAME, namespace=options.namespace),
        namespace_labels=namespace_labels_in(policy, data, STANDARD_INPUT_NAME),
    )
    findings = judge_items(policy, given, surroundings)
    value = given.value
    if options.mode == "mutate":
        value = route_items(policy, given, surroundings, templates=options.templates)
    streams.write_bytes(write_list(data, given, value, format_results(findings)))
    worst = {found.finding.severity for found in findings}
    if Severity.ERROR in worst or (options.strict and Severity.WARNING in worst):
        streams.stderr.write(format_findings(in_file(found) for found in findings))  # all that kustomize shows
        return 1
    return 0


def _read_policy(named: str | None, given: FunctionInput) -> Policy:
    """Loads the policy: that of the arguments, else the functionConfig itself, else the file that it names."""
    if named is not None:
        return load(named)
    if text := given.find_policy_text():
        return load_text(text, "functionConfig")
    path = given.options.get("policy")
    if not isinstance(path, str):
        raise UsageError("no policy: make functionConfig a GPUPolicy, name its file in data.policy, or as argument")
    return load(path)


def _read_options(args: argparse.Namespace, given: FunctionInput) -> FunctionOptions:
    for key in sorted(map(str, given.options.keys() - set(_OPTIONS))):
        raise UsageError(f"functionConfig has data.{key}, which is no option; {hint_known(key, _OPTIONS)}")
    metadata = given.config.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    noted = annotations.get(_MODE_ANNOTATION) if isinstance(annotations, dict) else None
    mode = args.mode or given.options.get("mode") or noted or MODES[0]
    if mode not in MODES:
        raise UsageError(f"mode of functionConfig is {mode}; known are {', '.join(MODES)}")
    return FunctionOptions(
        mode=str(mode),
        namespace=args.namespace or str(given.options.get("namespace") or "default"),
        templates=args.templates or _truth(given, "templates"),
        strict=args.strict or _truth(given, "strict"),
    )


def _truth(given: FunctionInput, key: str) -> bool:
    """Returns an option; those of a ConfigMap are texts."""
    value = given.options.get(key, False)
    truth = value if isinstance(value, bool) else _TRUTHS.get(str(value))
    if truth is None:
        raise UsageError(f"{key} of functionConfig is {value}; true or false is expected")
    return truth

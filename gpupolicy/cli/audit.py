"""``gpupolicy audit``: judges what already runs, in a cluster or a dump, and tells what mends it."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass

from gpupolicy.assignment import assign
from gpupolicy.auditing.auditor import Auditor
from gpupolicy.auditing.judging import Surroundings
from gpupolicy.auditing.report import AuditReport
from gpupolicy.cli.cluster_inputs import cluster_arguments, read_source
from gpupolicy.cli.cluster_surroundings import (
    garbage_collection_paused,
    read_known_claims,
    read_namespace_labels,
)
from gpupolicy.cli.inputs import current_time, policy_argument, read_policy
from gpupolicy.cli.numbers import whole_number
from gpupolicy.cli.outcome import Outcome, outcome_arguments, read_outcome
from gpupolicy.cli.parser import Subparsers
from gpupolicy.cli.streams import Streams
from gpupolicy.cluster.dumps import Dumps
from gpupolicy.cluster.live import LiveCluster
from gpupolicy.cluster.workloads import CLAIM_KINDS, read_claims, read_workloads
from gpupolicy.inventory.seats import Seat, read_seats
from gpupolicy.inventory.usage import read_usage
from gpupolicy.model import Policy, Routing
from gpupolicy.reporting.audit_output import REPORT_FORMATS, write_audit
from gpupolicy.reporting.audit_text import summarize_audit
from gpupolicy.rollout.planning import as_assigned
from gpupolicy.rollout.slimming import slim
from gpupolicy.workloads import rows_of

_NO_GROUPS = (
    "no node is labelled for a slot group yet, so every pod stands wrong: --as-planned judges by the groups that nodes "
    "plan would give"
)
_NO_WORKLOADS = frozenset({"Pod", "PodTemplate"})


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditOptions:
    """The arguments of the verb; ``kubectl`` are the words that every command of a remedy begins with."""

    policy: str
    namespace: str | None
    expiring_days: int
    as_planned: bool
    kubectl: tuple[str, ...]
    outcome: Outcome


def add_parser(subparsers: Subparsers) -> None:
    """Adds the verb's arguments."""
    parser = subparsers.add_parser(
        "audit",
        description="Judge the pods that run, and the workloads that make them, as if they were made today: who would "
        "be denied, lacks the routing of the policy, or is on a node where the policy would not put it; with the "
        "command that mends it. Exit status: 0 no error, 1 an error (with --strict a warning), 2 something could not "
        "be read or nothing was there.",
    )
    policy_argument(parser)
    cluster_arguments(parser)
    parser.add_argument("--namespace", "-n", metavar="NAME", help="judge one namespace (default: all)")
    parser.add_argument(
        "--expiring-within",
        type=whole_number(0, 999_999, "is no number of days"),
        default=30,
        metavar="DAYS",
        help="warn of exemptions in use that end within so many days (default: 30)",
    )
    parser.add_argument(
        "--as-planned",
        action="store_true",
        help="before the policy is in force: judge by the groups that nodes plan would give, and pass over that pods "
        "which run are not routed",
    )
    outcome_arguments(parser, *REPORT_FORMATS)


def run(args: argparse.Namespace, streams: Streams) -> int:
    """Audits; findings go to standard output, the summary to standard error."""
    options = AuditOptions(
        policy=args.policy,
        namespace=args.namespace,
        expiring_days=args.expiring_within,
        as_planned=args.as_planned,
        kubectl=_kubectl(args),
        outcome=read_outcome(args),
    )
    policy = read_policy(options.policy, streams)
    source = read_source(args, streams, also=(*_kinds(policy), *CLAIM_KINDS))
    with garbage_collection_paused():
        report = _audit(policy, source, options, streams)
    _tell(report, policy, options, streams)
    if not report.pods and not report.workloads:
        streams.tell(f"error: nothing was audited: no pod in {source.name}")
        return 2
    return 1 if options.outcome.fails(report.every_finding) else 0


def _kubectl(args: argparse.Namespace) -> tuple[str, ...]:
    named = (("--kubeconfig", args.kubeconfig), ("--context", args.context))
    return ("kubectl", *(word for option, value in named if value for word in (option, value)))


def _audit(policy: Policy, source: Dumps | LiveCluster, options: AuditOptions, streams: Streams) -> AuditReport:
    """Reads nodes, namespaces, claims and workloads first: what is said of a pod hangs on them. Pods stream by."""
    seats = _plan_seats(policy, source, streams) if options.as_planned else read_seats(policy, source.nodes())
    if _needs_groups(policy) and seats and not any(group for _, group in seats.values()):
        streams.tell(f"hint: {_NO_GROUPS}")
    surroundings = Surroundings(
        seats=seats,
        namespace_labels=read_namespace_labels(policy, source, streams),
        claims=read_claims(source, namespace=options.namespace, on_note=streams.tell),
        now=current_time(),
        expiring_days=options.expiring_days,
        kubectl=options.kubectl,
        as_planned=options.as_planned,
    )
    auditor = Auditor(policy, surroundings)
    for workload in read_workloads(source, _kinds(policy), namespace=options.namespace, on_note=streams.tell):
        auditor.add_workload(workload)
    for pod in source.pods(namespace=options.namespace):
        auditor.add_pod(pod)
    return auditor.finish()


def _plan_seats(policy: Policy, source: Dumps | LiveCluster, streams: Streams) -> Mapping[str, Seat]:
    """Returns the seats that ``nodes plan`` would give, by what runs in all namespaces."""
    usage = read_usage(policy, source.pods(), claims=read_known_claims(policy, source, streams))
    nodes = (as_assigned(policy, slim(node)) for node in source.nodes())
    return assign(policy, nodes, used=usage.gpus_by_node, running=usage.requests_by_node).groups


def _needs_groups(policy: Policy) -> bool:
    """Returns whether a pod stands wrong on a node without a group."""
    return policy.admission.routing is Routing.REQUIRED


def _kinds(policy: Policy) -> tuple[str, ...]:
    """Returns the kinds of objects that make pods."""
    return tuple(sorted({row.kind for row in rows_of(policy.workloads)} - _NO_WORKLOADS))


def _tell(report: AuditReport, policy: Policy, options: AuditOptions, streams: Streams) -> None:
    outcome = options.outcome
    told = report.with_findings(outcome.is_told) if outcome.quiet else report
    streams.write(write_audit(told, outcome.style, policy))
    if not outcome.quiet and not outcome.style.summary_only:
        streams.tell(summarize_audit(report))

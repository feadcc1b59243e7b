"""What the actions of ``nodes`` read: the nodes, what runs on them, and the plan that follows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from gpupolicy.admission.claims import Claims
from gpupolicy.cli.cluster_surroundings import garbage_collection_paused, read_known_claims, read_namespace_labels
from gpupolicy.cli.inputs import current_time
from gpupolicy.cli.streams import Streams
from gpupolicy.cluster.dumps import Dumps
from gpupolicy.cluster.live import LiveCluster
from gpupolicy.errors import InputError, locate
from gpupolicy.inventory.usage import Usage, read_usage
from gpupolicy.model import Policy
from gpupolicy.node import JSONMap
from gpupolicy.reporting.text_format import format_findings
from gpupolicy.rollout.plan import NodePlan
from gpupolicy.rollout.planning import plan_nodes
from gpupolicy.rollout.slimming import slim
from gpupolicy.rollout.state import NodeState

NO_OWNERS = (
    "the nodes come without metadata.managedFields, so who has set a label is not known: kubectl get nodes -o json "
    "--show-managed-fields shows it"
)


@dataclass(frozen=True, kw_only=True)
class Fleet:
    """The nodes (without what nobody looks at), what runs on them, and the plan."""

    nodes: tuple[JSONMap, ...]
    usage: Usage
    plan: NodePlan

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all nodes, sorted."""
        return tuple(sorted(self.states))

    @cached_property
    def states(self) -> Mapping[str, NodeState]:
        """All nodes by name."""
        return {state.name: state for state in map(NodeState, self.nodes)}


@dataclass(frozen=True, slots=True, kw_only=True)
class PodReader:
    """Reads what pods hold, with what is known of their namespaces, their claims and the time."""

    policy: Policy
    namespace_labels: Mapping[str, Mapping[str, str]]
    claims: Claims
    now: datetime

    @classmethod
    def from_source(cls, policy: Policy, source: Dumps | LiveCluster, streams: Streams) -> PodReader:
        """Reads the namespaces and the claims, where the policy asks for them."""
        return cls(
            policy=policy,
            namespace_labels=read_namespace_labels(policy, source, streams),
            claims=read_known_claims(policy, source, streams),
            now=current_time(),
        )

    def read(self, pods: Iterable[JSONMap]) -> Usage:
        """Returns what the pods hold."""
        with garbage_collection_paused():
            return read_usage(
                self.policy, pods, namespace_labels=self.namespace_labels, now=self.now, claims=self.claims
            )


def read_fleet(policy: Policy, source: Dumps | LiveCluster, reader: PodReader, manager: str, streams: Streams) -> Fleet:
    """Reads nodes and pods, and makes the plan; pods that cannot be read are told.

    Raises:
        InputError: there is no node.
        ClusterError: the cluster cannot be read.
    """
    with garbage_collection_paused():
        nodes = tuple(map(slim, source.nodes()))
    if not nodes:
        raise InputError(f"there is no Node in {source.name}")
    usage = reader.read(source.pods())
    if isinstance(source, Dumps) and not usage.pods_read:
        streams.tell(f"note: there is no Pod in {source.name}, so nodes count as empty and nobody as misplaced")
    streams.stderr.write(format_findings(locate(finding, None, None, None) for finding in usage.findings))
    return Fleet(nodes=nodes, usage=usage, plan=plan_nodes(policy, nodes, usage, manager=manager))

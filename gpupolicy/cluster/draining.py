"""Empties nodes of the pods that a plan leaves misplaced: cordon, evict, wait. Other pods stay where they are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from gpupolicy.cluster.api import Api
from gpupolicy.cluster.eviction import Clock, PodName, ask_once, evict
from gpupolicy.cluster.node_writes import LeftError, Writer
from gpupolicy.cluster.progress import Listener, Progress
from gpupolicy.inventory.usage import Usage
from gpupolicy.model import Policy
from gpupolicy.node import JSONMap
from gpupolicy.rollout.plan import NodeChange, Resident
from gpupolicy.rollout.planning import find_residents, groups_after
from gpupolicy.rollout.staleness import find_newcomers
from gpupolicy.rollout.state import NodeState

ReadPods = Callable[[Iterable[JSONMap]], Usage]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drain:
    """Drains nodes. ``read_pods`` reads the usage of pods, with what the caller knows of namespaces and the time."""

    api: Api
    policy: Policy
    writer: Writer
    timeout_seconds: float
    progress: Progress
    read_pods: ReadPods
    listener: Listener
    clock: Clock

    def prepare(self, change: NodeChange, state: NodeState) -> tuple[NodeState, tuple[PodName, ...]]:
        """Cordons a node that has pods to evict, so that no new ones come.

        Returns:
            The node as it is then, and the pods.

        Raises:
            LeftError: pods are there that would be misplaced and that the plan did not know.
        """
        if not self._find_pods(change)[0]:
            return state, ()
        if not self.writer.dry_run:
            if not state.is_unschedulable:
                self.progress.cordoned[change.node] = None
            state = self.writer.cordon(state)
        residents, names = self._find_pods(change)
        if newcomers := find_newcomers(change, residents):
            raise LeftError(f"pods came after the plan was made: {', '.join(newcomers)}")
        return state, names

    def evict(self, leaving: Mapping[str, tuple[PodName, ...]]) -> Mapping[str, str]:
        """Evicts the pods of several nodes, all at once.

        Args:
            leaving: pods by node.

        Returns:
            By node, why some of its pods are still there.
        """
        nodes = {pod: node for node, pods in leaving.items() for pod in pods}
        left = self._ask(nodes) if self.writer.dry_run else self._evict(nodes)
        blocked: dict[str, list[str]] = {}
        for pod, why in left.items():
            blocked.setdefault(nodes[pod], []).append(f"pod {pod}: {why}")
        return {node: "; ".join(whys) for node, whys in blocked.items()}

    def _ask(self, pods: Iterable[PodName]) -> Mapping[PodName, str]:
        return {pod: said for pod in pods if (said := ask_once(self.api, pod))}

    def _evict(self, nodes: Mapping[PodName, str]) -> Mapping[PodName, str]:
        return evict(
            self.api,
            nodes,
            timeout_seconds=self.timeout_seconds,
            clock=self.clock,
            on_gone=self.progress.evicted.append,
            on_wait=lambda pod, said: self.listener.on_note(f"{nodes[pod]}: pod {pod} waits: {said}"),
        ).left

    def _find_pods(self, change: NodeChange) -> tuple[tuple[Resident, ...], tuple[PodName, ...]]:
        """Returns the pods that would be misplaced, of those that are on the node now."""
        pods = list(self.api.list("/api/v1/pods", {"fieldSelector": f"spec.nodeName={change.node}"}))
        found = find_residents(self.policy, groups_after([change]), self.read_pods(pods))
        residents = found.get(change.node, ())
        uids = dict(map(_identity, pods))
        return residents, tuple(PodName(namespace=r.namespace, name=r.name, uid=uids[str(r)]) for r in residents)


def _identity(pod: JSONMap) -> tuple[str, str]:
    metadata = pod.get("metadata")
    known = metadata if isinstance(metadata, Mapping) else {}
    return f"{known.get('namespace') or 'default'}/{known.get('name', '')}", str(known.get("uid") or "")

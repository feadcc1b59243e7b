"""The few writes that we make to a node: labels, taints, cordon and uncordon; each on a version that was read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gpupolicy.cluster.api import Api, PatchKind
from gpupolicy.cluster.errors import ApiError, ConflictError
from gpupolicy.errors import ClusterError
from gpupolicy.node import JSONMap
from gpupolicy.rollout.plan import NodeChange
from gpupolicy.rollout.state import CORDONED_BY, NodeState, taint_key

_ATTEMPTS = 8
_CONFLICT = "FieldManagerConflict"


class LeftError(Exception):
    """A node is left as it is; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Writer:
    """Writes to nodes as one field manager.

    ``force``: take over what other managers own. ``dry_run``: the API server judges, and keeps nothing.
    """

    api: Api
    manager: str
    policy: str
    force: bool = False
    dry_run: bool = False

    def read(self, name: str) -> NodeState:
        """Reads a node.

        Raises:
            ClusterError: it cannot be read.
        """
        return NodeState(self.api.get(_path(name)))

    def change(self, change: NodeChange, state: NodeState, recheck: Callable[[NodeState], None]) -> NodeState:
        """Sets and removes taints and labels; returns the node as it is then.

        Args:
            change: what to do.
            state: the node as read.
            recheck: called with the node as it is now when it has changed meanwhile; raises LeftError where what has
                changed matters to the plan.

        Raises:
            LeftError: another manager owns a field, or ``recheck`` says so.
            ClusterError: the API server refuses, or does not answer.
        """
        if change.changes_taints:
            state = self._write(state, PatchKind.MERGE, lambda now: _taints(change, now), recheck)
        state = self._write(state, PatchKind.APPLY, lambda now: _labels(change, now), recheck)
        kept = [] if self.dry_run else [key for key in change.remove if key in state.labels]
        if kept and not self.force:
            raise LeftError(f"label {', '.join(kept)} belongs to another field manager: --force-conflicts removes it")
        if kept:
            state = self._write(state, PatchKind.MERGE, lambda now: _without(kept, now), recheck)
        return state

    def cordon(self, state: NodeState) -> NodeState:
        """Marks a node unschedulable, with our name on it; a node that is cordoned already is left alone."""
        if state.is_unschedulable:
            return state
        body = {"metadata": {"annotations": {CORDONED_BY: self.policy}}, "spec": {"unschedulable": True}}
        return self._write(state, PatchKind.MERGE, lambda now: _on_version(body, now), _ignore)

    def uncordon(self, state: NodeState) -> NodeState:
        """Takes a cordon of ours away; one of somebody else stays."""
        if state.cordoned_by != self.policy or self.dry_run:
            return state
        body = {"metadata": {"annotations": {CORDONED_BY: None}}, "spec": {"unschedulable": None}}
        return self._write(state, PatchKind.MERGE, lambda now: _on_version(body, now), _ignore)

    def _write(
        self,
        state: NodeState,
        kind: PatchKind,
        body: Callable[[NodeState], JSONMap],
        recheck: Callable[[NodeState], None],
    ) -> NodeState:
        """Patches the version that was read; when the node has changed meanwhile, looks and tries again."""
        query = {"fieldManager": self.manager}
        if kind is PatchKind.APPLY and self.force:
            query["force"] = "true"
        if self.dry_run:
            query["dryRun"] = "All"
        for _ in range(_ATTEMPTS):
            try:
                return NodeState(self.api.patch(_path(state.name), body(state), kind, query))
            except ConflictError as conflict:
                if told := find_managers(conflict):
                    raise LeftError(f"{told}: --force-conflicts takes it over") from conflict
                state = self.read(state.name)
                recheck(state)
        raise ClusterError(f"node {state.name} changes faster than it can be written ({_ATTEMPTS} attempts)")


def find_managers(conflict: ApiError) -> str:
    """Returns the field managers that a conflict names, each with its field; empty where versions differ."""
    details = conflict.answer.get("details")
    causes = details.get("causes") if isinstance(details, Mapping) else None
    told = (cause for cause in (causes if isinstance(causes, list) else ()) if isinstance(cause, Mapping))
    return "; ".join(
        f"{cause.get('message', '')}: {str(cause.get('field', '')).removeprefix('.')}"
        for cause in told
        if cause.get("reason") == _CONFLICT
    )


def _path(name: str) -> str:
    return f"/api/v1/nodes/{name}"


def _labels(change: NodeChange, state: NodeState) -> JSONMap:
    """Returns what server-side apply is to hold: every label we want; what we applied before and is not in it goes."""
    metadata = {"name": state.name, "labels": dict(change.wanted)}
    return _on_version({"apiVersion": "v1", "kind": "Node", "metadata": metadata}, state)


def _taints(change: NodeChange, state: NodeState) -> JSONMap:
    """Returns the whole list of taints, those of others among them.

    spec.taints is atomic in server-side apply: applying ours would take the list from everybody else. So it is written
    as a merge patch, on the version that was read.
    """
    ours = [taint.to_json() for taint in change.set_taints]
    replaced = {taint_key(taint) for taint in (*ours, *(taint.to_json() for taint in change.remove_taints))}
    kept = [dict(taint) for taint in state.taints if taint_key(taint) not in replaced]
    return _on_version({"spec": {"taints": [*kept, *ours]}}, state)


def _without(keys: list[str], state: NodeState) -> JSONMap:
    return _on_version({"metadata": {"labels": dict.fromkeys(keys)}}, state)


def _on_version(body: Mapping[str, object], state: NodeState) -> JSONMap:
    metadata = body.get("metadata")
    known = metadata if isinstance(metadata, Mapping) else {}
    identity = {"resourceVersion": state.resource_version, **({"uid": state.uid} if state.uid else {})}
    return {**body, "metadata": {**known, **identity}}


def _ignore(state: NodeState) -> None:
    """Takes a node as it is."""

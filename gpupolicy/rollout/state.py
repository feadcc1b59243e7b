"""What a node shows that a rollout looks at: schedulable or not, Ready or not, taints, and our mark on it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpupolicy.node import JSONMap, NodeView

# Set together with spec.unschedulable by the one who cordons; says that it is ours to uncordon the node again.
CORDONED_BY = "gpupolicy.dev/cordoned-by"

TaintKey = tuple[str, str]  # key and effect: what makes a taint the same taint


class NodeState(NodeView):
    """Reads a Node; what is missing or of another type than the Kubernetes API has there counts as absent."""

    @property
    def resource_version(self) -> str:
        """metadata.resourceVersion, empty where it is not told."""
        version = self._metadata.get("resourceVersion")
        return version if isinstance(version, str) else ""

    @property
    def uid(self) -> str:
        """metadata.uid, empty where it is not told."""
        uid = self._metadata.get("uid")
        return uid if isinstance(uid, str) else ""

    @property
    def cordoned_by(self) -> str | None:
        """The mark of an apply that cordoned the node; None where it was somebody else, or nobody."""
        annotations = self._metadata.get("annotations")
        mark = annotations.get(CORDONED_BY) if isinstance(annotations, Mapping) else None
        return mark if isinstance(mark, str) else None

    @property
    def is_unschedulable(self) -> bool:
        """spec.unschedulable: the node is cordoned."""
        return self._spec.get("unschedulable") is True

    @property
    def is_ready(self) -> bool:
        """Whether the condition Ready is True; a node without status is not."""
        return any(c.get("type") == "Ready" and c.get("status") == "True" for c in self._conditions)

    @property
    def not_ready_reason(self) -> str:
        """What the condition Ready says of a node that is not: its status, reason and since when."""
        for condition in self._conditions:
            if condition.get("type") == "Ready":
                parts = (condition.get("reason"), condition.get("message"))
                since = condition.get("lastTransitionTime")
                told = ": ".join(str(part) for part in parts if part)
                return told + (f" (since {since})" if since else "")
        return "it has no condition Ready"

    @property
    def allocatable_names(self) -> tuple[str, ...]:
        """The names of the resources that the node offers at least one unit of."""
        amounts = self._status.get("allocatable")
        names = (str(name) for name in amounts) if isinstance(amounts, Mapping) else iter(())
        return tuple(sorted(name for name in names if self.find_allocatable(name)))

    @property
    def _spec(self) -> JSONMap:
        spec = self.node.get("spec")
        return spec if isinstance(spec, Mapping) else {}

    @property
    def _status(self) -> JSONMap:
        status = self.node.get("status")
        return status if isinstance(status, Mapping) else {}

    @property
    def _conditions(self) -> Iterator[JSONMap]:
        return _mappings(self._status.get("conditions"))


def taint_key(taint: JSONMap) -> TaintKey:
    """Returns what makes a taint the same taint."""
    return str(taint.get("key") or ""), str(taint.get("effect") or "")


def told_taint(taint: JSONMap) -> str:
    """Returns a taint as kubectl writes it: ``key=value:effect``."""
    key, effect = taint_key(taint)
    value = taint.get("value")
    return f"{key}={value}:{effect}" if value else f"{key}:{effect}"


def _mappings(items: object) -> Iterator[JSONMap]:
    return (item for item in (items if isinstance(items, (list, tuple)) else ()) if isinstance(item, Mapping))

"""What runs already, read from pods: GPU requests by node and by size, and the namespaces that serve GPUs to others."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from gpupolicy.admission.counting import count_gpus
from gpupolicy.discovery.fleet import GPUNode
from gpupolicy.discovery.hardware import Hardware
from gpupolicy.discovery.remarks import Notes
from gpupolicy.errors import PodShapeError, counted
from gpupolicy.model import GPUType, Policy
from gpupolicy.node import JSONMap
from gpupolicy.pod import PodView

SYSTEM_NAMESPACES = ("kube-system", "gpu-system")
USUAL_OPERATOR = "gpu-operator"
_OVER = ("Succeeded", "Failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """``gpus_by_size``: GPUs that pods of a size hold now. ``is_known`` is false where no pod was given."""

    is_known: bool = False
    sizes_by_node: Mapping[str, frozenset[int]] = field(default_factory=dict)
    gpus_by_size: Mapping[int, int] = field(default_factory=dict)
    exempt_namespaces: tuple[str, ...] = (*SYSTEM_NAMESPACES, USUAL_OPERATOR)


def read_demand(pods: Iterable[JSONMap], nodes: Iterable[GPUNode], hardware: Hardware, notes: Notes) -> Demand:
    """Reads pods in one pass; those that have ended or are not on a GPU node hold nothing.

    Args:
        pods: Pods as the API prints them; none leaves the demand unknown.
        nodes: the GPU nodes.
        hardware: by which pods that serve GPUs are recognised.
        notes: takes remarks.
    """
    resources = {node.name: node.resource for node in nodes}
    policy = _counting(sorted(set(resources.values())))
    sizes: dict[str, set[int]] = defaultdict(set)
    held: Counter[int] = Counter()
    serving: set[str] = set()
    tenants: set[str] = set()
    seen = unreadable = 0
    for pod in pods:
        seen += 1
        try:
            view = PodView(pod)
            if hardware.is_plugin(_name(view)) and view.controller_kind == "DaemonSet":
                serving.add(view.namespace)
                continue
            gpus = count_gpus(policy, view).gpus
            if gpus:
                tenants.add(view.namespace)
            size = 0 if _is_over(pod) else gpus.get(resources.get(view.node_name, ""), 0)
        except PodShapeError:
            unreadable += 1
            continue
        if size:
            sizes[view.node_name].add(size)
            held[size] += size
    if unreadable:
        notes.add(f"{counted(unreadable, 'pod')} could not be read and count as none")
    return Demand(
        is_known=seen > 0,
        sizes_by_node={name: frozenset(found) for name, found in sizes.items()},
        gpus_by_size=dict(sorted(held.items())),
        exempt_namespaces=_find_exempt(serving, tenants, notes) if seen else Demand().exempt_namespaces,
    )


def _counting(resources: Iterable[str]) -> Policy:
    """Returns a policy that does no more than count resources."""
    types = tuple(GPUType(name=f"type-{i}", gpus_per_node=1, resource_name=name) for i, name in enumerate(resources))
    return Policy(name="counting", gpu_types=types, slot_groups=())


def _find_exempt(serving: set[str], tenants: set[str], notes: Notes) -> tuple[str, ...]:
    """Returns the namespaces that only serve; one with GPU pods of others stays judged."""
    for namespace in sorted(serving & tenants - {*SYSTEM_NAMESPACES}):
        notes.add(f"{namespace} holds a device plugin and GPU pods of others, so it is not exempt as a whole")
    found = {name for name in serving - tenants if name}
    return (*SYSTEM_NAMESPACES, *sorted(found - {*SYSTEM_NAMESPACES}))


def _name(view: PodView) -> str:
    name = view.metadata.get("name")
    return name if isinstance(name, str) else ""


def _is_over(pod: JSONMap) -> bool:
    status = pod.get("status")
    return isinstance(status, Mapping) and status.get("phase") in _OVER

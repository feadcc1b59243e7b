"""The nodes of a cluster as discovery sees them: which have GPUs, of which resource, how many, how many once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from gpupolicy.discovery.hardware import RESOURCE, Hardware, ResourceRow
from gpupolicy.discovery.remarks import Notes, named
from gpupolicy.errors import shown
from gpupolicy.labels import find_label_value_problem
from gpupolicy.model import KUBERNETES_VERSIONS
from gpupolicy.node import MOST_GPUS, JSONMap, NodeView
from gpupolicy.quantity import QuantityError, parse_quantity

_COUNT = re.compile(r"[0-9]{1,6}")
_VERSION = re.compile(r"v?1\.([0-9]{1,3})(?![0-9])")


@dataclass(frozen=True, slots=True, kw_only=True)
class GPUNode:
    """A node with GPUs. ``gpus`` is what it offers now, ``built`` what it was built with, as far as anybody says.

    ``taints`` are (key, value, effect). ``is_slice``: the unit of ``resource`` is a part of a device.
    """

    name: str
    labels: Mapping[str, str]
    resource: str
    vendor: str
    gpus: int
    built: int
    is_slice: bool = False
    taints: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """GPU nodes by name, the labels of all others, and what the whole cluster says of itself."""

    nodes: tuple[GPUNode, ...]
    others: tuple[Mapping[str, str], ...]
    seen: int
    provider: str | None
    kubernetes_version: str

    @property
    def gpus(self) -> int:
        """GPUs that the nodes offer now."""
        return sum(node.gpus for node in self.nodes)


def read_fleet(nodes: Iterable[JSONMap], hardware: Hardware, notes: Notes) -> Fleet:
    """Reads Nodes; what is odd about them becomes a note.

    Args:
        nodes: Nodes as the API prints them, in any order.
        hardware: by which GPUs are recognised.
        notes: takes the remarks.
    """
    views = _by_name(nodes, notes)
    _note_gaps(views, notes)
    found = [(view, _read_node(view, hardware, notes)) for view in views]
    return Fleet(
        nodes=tuple(node for _, node in found if node is not None),
        others=tuple(view.labels for view, node in found if node is None),
        seen=len(views),
        provider=hardware.find_provider({key: None for view in views for key in view.labels}),
        kubernetes_version=_find_version(views, notes),
    )


def _by_name(nodes: Iterable[JSONMap], notes: Notes) -> list[NodeView]:
    views: dict[str, NodeView] = {}
    twice: set[str] = set()
    nameless = 0
    for node in nodes:
        view = NodeView(node)
        if not view.name:
            nameless += 1
        elif view.name in views:
            twice.add(view.name)
        else:
            views[view.name] = view
    if nameless:
        notes.add(f"{nameless} of the nodes have no metadata.name and are left out")
    if twice:
        notes.add(f"listed twice, the first counts: {named(twice)}")
    return [views[name] for name in sorted(views)]


def _note_gaps(views: Iterable[NodeView], notes: Notes) -> None:
    if silent := [view.name for view in views if not isinstance(view.node.get("status"), Mapping)]:
        notes.add(f"without status, so nothing is known of what they offer: {named(silent)}")


def _read_node(view: NodeView, hardware: Hardware, notes: Notes) -> GPUNode | None:
    """Returns a node that has GPUs, or should have; None for every other."""
    offered = _amounts(view, "allocatable", hardware, notes)
    capacity = _amounts(view, "capacity", hardware, notes)
    resource = _choose(offered) or _choose(capacity) or _find_declared(view, hardware)
    resource = resource or next(iter(offered), None) or _find_labelled(view, hardware)
    if resource is None:
        return None
    several = [name for name, amount in offered.items() if amount]
    if len(several) > 1:
        notes.add(f"{view.name} offers {', '.join(several)}; a node is of one type, so only {resource} is counted")
    gpus = offered.get(resource, 0)
    has_others = any(name != resource for name in several)
    built = max(gpus, capacity.get(resource, 0), 0 if has_others else _declared(view, resource, hardware))
    if built > MOST_GPUS:
        notes.add(f"left out: {view.name} offers {built} {resource}, and a policy takes at most {MOST_GPUS} a node")
        return None
    row = _row_of(resource, hardware)
    return GPUNode(
        name=view.name,
        labels=view.labels,
        resource=resource,
        vendor=row.vendor,
        gpus=gpus,
        built=built,
        is_slice=row.is_slice or _is_shared(view, resource, hardware),
        taints=tuple(_read_taints(view.node)),
    )


def _amounts(view: NodeView, part: str, hardware: Hardware, notes: Notes) -> dict[str, int]:
    """Returns a node's amounts of GPU resources, in the order of the table, the larger first within a pattern."""
    status = view.node.get("status")
    found = status.get(part) if isinstance(status, Mapping) else None
    listed: JSONMap = found if isinstance(found, Mapping) else {}
    amounts: dict[str, int] = {}
    for row in hardware.resources:
        fitting = {str(key): value for key, value in listed.items() if fnmatchcase(str(key), row.name)}
        read = {
            key: _read_amount(value, f"{view.name}: status.{part} of {key}", notes) for key, value in fitting.items()
        }
        amounts.update(sorted(read.items(), key=lambda entry: (-entry[1], entry[0])))
    return amounts


def _read_amount(value: object, place: str, notes: Notes) -> int:
    try:
        amount = parse_quantity(value)
        if amount < 0 or amount != int(amount):
            raise QuantityError(f"{shown(str(value), 40)} is no whole number of at least 0")
        return int(amount)
    except QuantityError as error:
        notes.add(f"{place}: {error}; it counts as 0")
        return 0


def _choose(amounts: Mapping[str, int]) -> str | None:
    return next((name for name, amount in amounts.items() if amount), None)


def _find_declared(view: NodeView, hardware: Hardware) -> str | None:
    """Returns the resource whose number stands in a label, for nodes without a status."""
    for row in hardware.resources:
        if "*" not in row.name and _declared(view, row.name, hardware, own_only=True):
            return row.name
    return None


def _declared(view: NodeView, resource: str, hardware: Hardware, *, own_only: bool = False) -> int:
    """Returns how many units labels say a node has, 0 where none does."""
    for row in hardware.counts:
        if own_only and RESOURCE not in row.key:
            continue
        number = _whole(view.labels.get(row.key.replace(RESOURCE, resource)))
        if number:
            sharers = _whole(view.labels.get(row.times.replace(RESOURCE, resource))) if row.times else 1
            product = number * max(1, sharers)
            return product if product <= MOST_GPUS else 0
    return 0


def _whole(text: str | None) -> int:
    return int(text) if text is not None and _COUNT.fullmatch(text) else 0


def _is_shared(view: NodeView, resource: str, hardware: Hardware) -> bool:
    """Returns whether labels say that the unit is a part of a device: time-slicing, MPS, MIG."""
    shared = any(
        _whole(view.labels.get(row.times.replace(RESOURCE, resource))) > 1 for row in hardware.counts if row.times
    )
    product = view.labels.get(f"{resource}.product", "")
    partition = view.labels.get("cloud.google.com/gke-gpu-partition-size")
    return shared or product.endswith("-SHARED") or "-MIG-" in product or partition is not None


def _find_labelled(view: NodeView, hardware: Hardware) -> str | None:
    """Returns the resource of a node that a label calls a GPU node although it offers none."""
    for row in hardware.products:
        value = view.labels.get(row.key_for(hardware.resources[0].name))
        if (
            value is None
            or find_label_value_problem(value)
            or (row.says_instance and not hardware.find_instance(value))
        ):
            continue
        vendor = row.vendor or (hardware.find_instance(value) or "").partition("-")[0] or hardware.resources[0].vendor
        return next((r.name for r in hardware.resources if r.vendor == vendor), hardware.resources[0].name)
    return None


def _row_of(resource: str, hardware: Hardware) -> ResourceRow:
    return next(row for row in hardware.resources if fnmatchcase(resource, row.name))


def _read_taints(node: JSONMap) -> Iterator[tuple[str, str, str]]:
    spec = node.get("spec")
    taints = spec.get("taints") if isinstance(spec, Mapping) else None
    for taint in taints if isinstance(taints, list) else ():
        if isinstance(taint, Mapping):
            yield str(taint.get("key", "")), str(taint.get("value") or ""), str(taint.get("effect", ""))


def _find_version(views: Iterable[NodeView], notes: Notes) -> str:
    """Returns the newest version of a kubelet, which no API server is older than; the nearest that we know."""
    minors = [minor for view in views if (minor := _minor(view.node))]
    known = [int(version.partition(".")[2]) for version in KUBERNETES_VERSIONS]
    if not minors:
        return KUBERNETES_VERSIONS[-1]
    newest = max(minors)
    nearest = min(max(newest, known[0]), known[-1])
    if nearest != newest:
        notes.add(f"the nodes run Kubernetes 1.{newest}; the nearest whose rules gpupolicy knows is 1.{nearest}")
    return f"1.{nearest}"


def _minor(node: JSONMap) -> int:
    status = node.get("status")
    info = status.get("nodeInfo") if isinstance(status, Mapping) else None
    version = info.get("kubeletVersion") if isinstance(info, Mapping) else None
    matched = _VERSION.match(version) if isinstance(version, str) else None
    return int(matched[1]) if matched else 0

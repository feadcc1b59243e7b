"""GPU types from nodes: what is one product, which sizes of node it comes in, and how its nodes are recognised."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gpupolicy.discovery.existing import TYPE_NAME, Existing
from gpupolicy.discovery.fleet import Fleet, GPUNode
from gpupolicy.discovery.hardware import Hardware
from gpupolicy.discovery.naming import propose_aliases, to_name
from gpupolicy.discovery.remarks import Notes, named
from gpupolicy.discovery.separating import LabelMap, Separation, separate
from gpupolicy.errors import counted
from gpupolicy.labels import LabelSelector, find_label_value_problem

USUAL_SHARE = 4  # one of so many nodes makes an odd number of GPUs a size of its own
UNKNOWN_MACHINES = frozenset({"k3s", "k0s", "rke2", "microk8s", "kind", "minikube"})

Sign = tuple[str, str, str]  # resource, label key, value


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundType:
    """A GPU type of the policy to be. ``remarks`` become comments beside it."""

    name: str
    resource: str
    gpus: int
    nodes: tuple[GPUNode, ...]
    aliases: tuple[str, ...] = ()
    selector: LabelSelector | None = None
    is_slice: bool = False
    remarks: tuple[str, ...] = ()

    @property
    def live(self) -> tuple[GPUNode, ...]:
        """The nodes that offer a GPU now: those that get labels."""
        return tuple(node for node in self.nodes if node.gpus)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kind:
    """Nodes of one product and resource. ``is_given``: its name is a type label that is in use."""

    name: str
    resource: str
    is_given: bool
    nodes: tuple[GPUNode, ...]


def find_types(fleet: Fleet, existing: Existing, hardware: Hardware, notes: Notes) -> tuple[FoundType, ...]:
    """Returns the GPU types of a fleet by name.

    Args:
        fleet: its nodes.
        existing: labels in use; a type label names the types and is not second-guessed.
        hardware: the table of labels.
        notes: takes remarks.
    """
    kinds = _find_kinds(fleet, existing, hardware)
    found = [found for kind in kinds for found in _split(kind, notes)]
    found = _with_unique_names(found)
    separated = [_with_selector(one, found, fleet, existing, hardware, notes) for one in found]
    aliases = propose_aliases([(one.name, one.gpus, one.is_slice) for one in separated])
    return tuple(
        replace(one, aliases=_aliases(one, alias, existing, separated))
        for one, alias in zip(separated, aliases, strict=True)
    )


def _find_kinds(fleet: Fleet, existing: Existing, hardware: Hardware) -> list[_Kind]:
    """Groups the nodes by product; a node without the best label joins those that share its next one."""
    machines = {labels.get("node.kubernetes.io/instance-type") for labels in fleet.others}
    signs = {node.name: list(dict.fromkeys(_signs(node, existing, hardware, machines))) for node in fleet.nodes}
    homes: dict[Sign, set[str]] = defaultdict(set)
    for found in signs.values():
        for _, sign in found[1:]:
            homes[sign].add(found[0][0])
    kinds: dict[tuple[str, str], list[GPUNode]] = defaultdict(list)
    for node in fleet.nodes:
        kinds[node.resource, _name_of(node, signs[node.name], homes)].append(node)
    given = {node.labels.get(existing.type_key) for node in fleet.nodes} if existing.type_key else set()
    return [
        _Kind(name=name, resource=resource, is_given=name in given, nodes=tuple(nodes))
        for (resource, name), nodes in sorted(kinds.items())
    ]


def _name_of(node: GPUNode, signs: Sequence[tuple[str, Sign]], homes: Mapping[Sign, set[str]]) -> str:
    """Returns the product of a node; where its best label is only the next best of others, theirs if all agree."""
    if not signs:
        return f"{node.vendor}-GPU"
    name, sign = signs[0]
    others = homes.get(sign, set())
    return next(iter(others)) if len(others) == 1 else name


def _signs(
    node: GPUNode, existing: Existing, hardware: Hardware, machines: set[str | None]
) -> Iterator[tuple[str, Sign]]:
    """Yields the product's name by each label that tells it, the best first, with the label itself."""
    if existing.type_key is not None and (value := _usable(node.labels, existing.type_key)):
        yield value, (node.resource, existing.type_key, value)
    for row in hardware.products:
        key = row.key_for(node.resource)
        value = _usable(node.labels, key)
        if value is None or row.vendor not in (None, node.vendor):
            continue
        if not row.says_instance:
            parts = [value, *(node.labels[key] for key in row.also if _usable(node.labels, key))]
            yield "-".join(parts), (node.resource, key, "-".join(parts))
        elif (product := hardware.find_instance(value)) or (value not in machines | UNKNOWN_MACHINES):
            yield product or value, (node.resource, key, value)


def _usable(labels: LabelMap, key: str) -> str | None:
    value = labels.get(key)
    return value if value and not find_label_value_problem(value) else None


def _split(kind: _Kind, notes: Notes) -> Iterator[FoundType]:
    """Makes a type of each size of node that the product comes in; a type that is in use is left whole."""
    number = Counter(node.built for node in kind.nodes if node.built)
    if not number:
        names = named(node.name for node in kind.nodes)
        notes.add(f"left out, since nothing says how many {kind.resource} they have: {names} ({kind.name})")
        return
    usual = max(number, key=lambda size: (number[size], size))
    sizes = sorted({usual} if kind.is_given else {size for size in number if _is_size(size, number, usual)})
    homes = {node.name: _home(node, sizes, usual) for node in kind.nodes}
    for size in sizes:
        nodes = tuple(node for node in kind.nodes if homes[node.name] == size)
        name = to_name(kind.name if len(sizes) == 1 else f"{to_name(kind.name)}-x{size}")
        yield FoundType(
            name=name,
            resource=kind.resource,
            gpus=size,
            nodes=nodes,
            is_slice=any(node.is_slice for node in nodes),
            remarks=tuple(_remark_odd(name, size, nodes, notes)),
        )


def _is_size(size: int, number: Counter[int], usual: int) -> bool:
    """Returns whether nodes are built with so many GPUs, rather than left with them."""
    several = number[size] > 1 and number[size] * USUAL_SHARE >= number.total()
    return size == usual or size & (size - 1) == 0 or several


def _home(node: GPUNode, sizes: Sequence[int], usual: int) -> int:
    if node.built == 0:
        return usual
    return next((size for size in sizes if size >= node.built), sizes[-1])


def _remark_odd(name: str, size: int, nodes: Sequence[GPUNode], notes: Notes) -> Iterator[str]:
    """Yields, and notes, which nodes offer another number of GPUs than the type says."""
    odd: dict[int, list[str]] = defaultdict(list)
    for node in nodes:
        if node.gpus != size:
            odd[node.gpus].append(node.name)
    for gpus, names in sorted(odd.items()):
        line = f"{named(names)}: {gpus} of {size} {nodes[0].resource} allocatable"
        notes.add(
            f"{line} ({name}); a GPU lost, or the device plugin is not there" if gpus < size else f"{line} ({name})"
        )
        yield line


def _with_unique_names(types: Sequence[FoundType]) -> list[FoundType]:
    """Tells types of one name apart by their resource, then by a number."""
    number = Counter(one.name for one in types)
    taken: set[str] = set()
    result = []
    for one in types:
        name = one.name if number[one.name] == 1 else to_name(f"{one.name}-{one.resource.rpartition('/')[2]}")
        suffix = 2
        while name in taken:
            name, suffix = to_name(f"{one.name}-{suffix}"), suffix + 1
        taken.add(name)
        result.append(replace(one, name=name))
    return result


def _with_selector(
    one: FoundType, types: Sequence[FoundType], fleet: Fleet, existing: Existing, hardware: Hardware, notes: Notes
) -> FoundType:
    members = [node.labels for node in one.nodes if node.built]
    rivals = [node.labels for other in types if other is not one for node in other.nodes if node.built]
    keys = [row.key_for(one.resource) for row in hardware.products]
    keys = [key for row, name in zip(hardware.products, keys, strict=True) for key in (name, *row.also)]
    if existing.type_key is not None and not existing.owns_types:
        keys.insert(0, existing.type_key)
    keys += [f"{resource}.product" for resource in sorted({n.resource for n in fleet.nodes} - {one.resource})]
    separation = _separate_from_all(members, rivals, [*fleet.others], keys, hardware)
    unlabelled = [n.name for n in one.live if n.labels.get(f"{existing.prefix}/{TYPE_NAME}") != one.name]
    if (separation.guessed or separation.by_name) and not unlabelled:
        separation = Separation()  # the type label that is in use says it better
    return replace(
        one,
        selector=separation.selector,
        remarks=(*_remark_selector(one, separation, unlabelled, existing, notes), *one.remarks),
    )


def _separate_from_all(
    members: Sequence[LabelMap],
    rivals: Sequence[LabelMap],
    others: Sequence[LabelMap],
    keys: Sequence[str],
    hardware: Hardware,
) -> Separation:
    """Separates by labels that only GPU nodes have, without a look at the others; else from them, too."""
    machine = {row.key for row in hardware.products if row.says_instance}
    by_product = [key for key in keys if key not in machine]
    if any(all(_usable(labels, key) for labels in members) for key in by_product):
        return separate(members, rivals, keys, hardware)
    return separate(members, [*rivals, *others], keys, hardware)


def _remark_selector(
    one: FoundType, separation: Separation, unlabelled: Sequence[str], existing: Existing, notes: Notes
) -> Iterator[str]:
    if separation.selector is None and not unlabelled:
        yield f"nodes of this type are recognised by the label {existing.type_key} that they have"
    elif separation.selector is None:
        key = f"{existing.prefix}/{TYPE_NAME}"
        yield f"no label tells these nodes from others: label them {key}={one.name}"
        notes.add(f"no label tells nodes of {one.name} from others: kubectl label node NODE {key}={one.name}")
    elif separation.by_name:
        yield "no label tells these nodes from others, so they are listed; feature discovery would label new ones, too"
        notes.add(f"{one.name}: no label but their names tells {counted(len(one.nodes), 'node')} from others")
    elif separation.guessed:
        yield f"check: {', '.join(separation.guessed)} is no label of a vendor; today it tells these nodes from others"


def _aliases(one: FoundType, alias: str | None, existing: Existing, types: Sequence[FoundType]) -> tuple[str, ...]:
    """Returns the proposed short name, and other type labels that nodes of the type have today."""
    names = {other.name for other in types}
    in_use = {node.labels.get(existing.type_key or "", "") for node in one.nodes if existing.owns_types}
    shared = {
        node.labels.get(existing.type_key or "", "") for other in types if other is not one for node in other.nodes
    }
    kept = sorted(value for value in in_use - shared - names if value and not find_label_value_problem(value))
    return tuple(dict.fromkeys((*((alias,) if alias else ()), *kept)))

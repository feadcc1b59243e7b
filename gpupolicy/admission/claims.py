"""Resource claims (DRA): the devices that a pod's claims ask for, where the claims and templates are known.

A review holds the names of claims only. Whoever has the objects as well (files, a dump, a cluster) passes them along.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from gpupolicy.admission.remark import Remark
from gpupolicy.errors import FieldPath, Part, shown
from gpupolicy.model import DEVICE_CLASS_PREFIX, Policy
from gpupolicy.pod import JSONMap, PodView

CLAIM = "ResourceClaim"
TEMPLATE = "ResourceClaimTemplate"
CLAIM_GROUP = "resource.k8s.io"
ALL = "All"

ClaimKey = tuple[str, str, str]  # kind, namespace, name
Claims = Mapping[ClaimKey, JSONMap]

NO_CLAIMS: Claims = MappingProxyType({})
NOT_COUNTED = "device-claim-not-counted"
_NAMES = (("resourceClaimName", CLAIM), ("resourceClaimTemplateName", TEMPLATE))


class ClaimShapeError(ValueError):
    """A claim whose requests are not of the shape that the Kubernetes API has."""


@dataclass(frozen=True, slots=True)
class Devices:
    """What one request of a claim takes. ``count`` is None for every device of the class that a node has."""

    device_class: str
    count: int | None = 1


@dataclass(slots=True)
class ClaimCount:
    """Devices of the pod's claims by their counted name, the place of the first claim that has any, and remarks."""

    gpus: dict[str, int] = field(default_factory=dict)
    first: FieldPath | None = None
    remarks: list[Remark] = field(default_factory=list)

    def add(self, other: ClaimCount) -> None:
        """Adds what another claim has."""
        for name, amount in other.gpus.items():
            self.gpus[name] = self.gpus.get(name, 0) + amount
        self.first = self.first or other.first
        self.remarks += other.remarks


def index_claims(objects: Iterable[JSONMap], namespace: str = "default") -> dict[ClaimKey, JSONMap]:
    """Returns the claims and templates among objects by what pods call them.

    Args:
        objects: Kubernetes objects of any kind.
        namespace: of objects that name none.
    """
    return {key: each for each in objects if (key := find_claim_key(each, namespace)) is not None}


def find_claim_key(obj: JSONMap, namespace: str = "default") -> ClaimKey | None:
    """Returns what pods call a claim or template; None for any other object, and for one without a name."""
    kind, metadata = obj.get("kind"), obj.get("metadata")
    if kind not in (CLAIM, TEMPLATE) or not str(obj.get("apiVersion")).startswith(f"{CLAIM_GROUP}/"):
        return None
    if not isinstance(metadata, Mapping) or not isinstance(name := metadata.get("name"), str):
        return None
    own = metadata.get("namespace")
    return str(kind), own if isinstance(own, str) and own else namespace, name


def count_claims(policy: Policy, view: PodView, claims: Claims, namespace: str) -> ClaimCount:
    """Counts the devices of a pod's claims: they are held for the pod's whole life, whichever container uses them.

    A claim that the pod names twice counts once; one made from a template counts each time.
    """
    total = ClaimCount()
    for _, counted in each_claim(policy, view, claims, namespace):
        total.add(counted)
    return total


def each_claim(policy: Policy, view: PodView, claims: Claims, namespace: str) -> Iterator[tuple[FieldPath, ClaimCount]]:
    """Yields the place of each claim of a pod, and what it asks for."""
    seen: set[ClaimKey] = set()
    for index, entry in enumerate(view.resource_claims):
        place: FieldPath = ("spec", "resourceClaims", index)
        key = _find_key(entry, namespace)
        if key is not None and key in seen:
            continue
        if key is not None and key[0] == CLAIM:
            seen.add(key)
        known = claims.get(key) if key is not None else None
        if known is None:
            yield place, ClaimCount(remarks=[_not_seen(shown(str(entry.get("name", index))), place)])
        else:
            yield place, _count_claim(policy, known, place)


def find_named(view: PodView, namespace: str) -> Iterator[ClaimKey]:
    """Yields the claims and templates that a pod names, as often as it does."""
    for entry in view.resource_claims:
        if (key := _find_key(entry, namespace)) is not None:
            yield key


def _find_key(entry: JSONMap, namespace: str) -> ClaimKey | None:
    for field_name, kind in _NAMES:
        if isinstance(name := entry.get(field_name), str):
            return kind, namespace, name
    return None


def _not_seen(name: str, place: FieldPath) -> Remark:
    message = f"the devices of resource claim {name} are counted in another object; they are not judged"
    return Remark(NOT_COUNTED, place, message)


def _count_claim(policy: Policy, claim: JSONMap, place: FieldPath) -> ClaimCount:
    label = f"{_kind_of(claim)} {shown(_name_of(claim))}"
    try:
        requests = read_requests(claim)
    except ClaimShapeError as error:
        message = f"the devices of {label} cannot be counted: {error}"
        return ClaimCount(remarks=[Remark(NOT_COUNTED, place, message)])
    counted = ClaimCount()
    for alternatives in requests:
        known = [d for d in alternatives if DEVICE_CLASS_PREFIX + d.device_class in policy.types_by_resource]
        for devices in alternatives:
            if devices not in known:
                counted.remarks.append(unknown_class(policy, devices.device_class, place, f" ({label})"))
        if known:
            name, amount = max((_measure(policy, devices) for devices in known), key=lambda measured: measured[1])
            counted.add(ClaimCount({name: amount}, place))
    return counted


def _measure(policy: Policy, devices: Devices) -> tuple[str, int]:
    """Returns the counted name and how many; all devices of a class are as many as its largest node has."""
    name = DEVICE_CLASS_PREFIX + devices.device_class
    if devices.count is not None:
        return name, devices.count
    return name, max(gpu_type.gpus_per_node for gpu_type in policy.types_by_resource[name])


def unknown_class(
    policy: Policy, device_class: str, place: FieldPath, told: str = "", part: Part = Part.VALUE
) -> Remark:
    """Returns what is said of devices of a class that no GPU type names; ``told``: more about where they stand."""
    known = ", ".join(sorted({c for t in policy.gpu_types for c in t.device_classes})) or "none"
    message = f"devices of class {shown(device_class)}{told} are not counted: no GPU type names the class"
    return Remark("device-class-not-known", place, message, f"deviceClasses of the GPU types: {known}", part)


def read_requests(claim: JSONMap) -> list[tuple[Devices, ...]]:
    """Returns what a claim, or the claim in a template, asks for: the alternatives of each request.

    Reads resource.k8s.io/v1 and v1beta2 (``exactly``, ``firstAvailable``) and v1beta1 (the fields beside the name).
    A request with adminAccess takes no device from anybody, and is left out. A count of 0 is 1, as none at all.

    Raises:
        ClaimShapeError: it is not of the shape that the API has.

    Source: k8s.io/api resource/v1, v1beta2 and v1beta1 types.go; counts measured on 1.37.2.
    """
    spec = _mapping(claim.get("spec"), "spec")
    if claim.get("kind") == TEMPLATE:
        spec = _mapping(spec.get("spec"), "spec.spec")
    if "resourceClassName" in spec:
        raise ClaimShapeError("resourceClassName is of an API that Kubernetes no longer has")
    devices = spec.get("devices")
    requests = _list(_mapping(devices, "devices").get("requests"), "devices.requests") if devices is not None else ()
    return [alternatives for request in requests if (alternatives := tuple(_read_request(request)))]


def _read_request(request: object) -> Iterator[Devices]:
    fields = _mapping(request, "a request")
    alternatives = _list(fields.get("firstAvailable"), "firstAvailable")
    if alternatives:
        for each in alternatives:
            yield _read_devices(_mapping(each, "an alternative"))
        return
    exactly = _mapping(fields.get("exactly") or fields, "exactly")
    if exactly.get("adminAccess") is not True:
        yield _read_devices(exactly)


def _read_devices(fields: JSONMap) -> Devices:
    device_class, count = fields.get("deviceClassName"), fields.get("count")
    if not isinstance(device_class, str) or not device_class:
        raise ClaimShapeError("a request names no deviceClassName")
    if fields.get("allocationMode") == ALL:
        return Devices(device_class, None)
    if isinstance(count, float) and count.is_integer():
        count = int(count)  # 2.0 in YAML is 2 in the JSON that the API server gets
    if count is None or (count == 0 and count is not False):  # the API server makes it 1
        return Devices(device_class)
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise ClaimShapeError(f"count is {shown(str(count))}, a whole number from 1 on is expected")
    return Devices(device_class, count)


def _mapping(value: object, what: str) -> JSONMap:
    if not isinstance(value, Mapping):
        raise ClaimShapeError(f"{what} is no mapping")
    return value


def _list(value: object, what: str) -> Sequence[object]:
    if value is None:
        return ()
    if not isinstance(value, (list, tuple)):
        raise ClaimShapeError(f"{what} is no list")
    return value


def _kind_of(claim: JSONMap) -> str:
    return TEMPLATE if claim.get("kind") == TEMPLATE else CLAIM


def _name_of(claim: JSONMap) -> str:
    metadata = claim.get("metadata")
    return str(metadata.get("name")) if isinstance(metadata, Mapping) else "without a name"

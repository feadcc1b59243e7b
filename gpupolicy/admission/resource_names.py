"""Resource names that look like GPUs and are not counted: misspelt, shared, MIG, of another vendor or device class."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from gpupolicy.admission.claims import unknown_class
from gpupolicy.admission.remark import Remark
from gpupolicy.errors import FieldPath, Part, shown
from gpupolicy.labels import find_resource_name_problem
from gpupolicy.model import DEVICE_CLASS_PREFIX, Policy
from gpupolicy.pod import Container, PodView
from gpupolicy.quantity import QuantityError, parse_quantity

MOST_NAMES = 100  # names a pod has looked at; a longer list is made to cost time
MIG_PREFIX = "nvidia.com/mig-"
_SHARED_SUFFIX = ".shared"
_PREFIXES = (MIG_PREFIX, "gpu.intel.com/", *(f"amd.com/{mode}_nps" for mode in ("spx", "dpx", "qpx", "cpx")))
_NIC_WORDS = ("nic", "rdma", "roce")  # a network card that belongs to a GPU is named after it
_GPU_NAMES = frozenset(  # without the word in them, or close to a name that a policy may count
    {
        "gpu.intel.com/i915",
        "gpu.intel.com/xe",
        "habana.ai/gaudi",
        "nvidia.com/gpumem",
        "aliyun.com/gpu-mem",
        "tencent.com/vcuda-core",
        "tencent.com/vcuda-memory",
        "volcano.sh/gpu-number",
    }
)


@dataclass(frozen=True, slots=True)
class Ask:
    """One resource that a container asks for, in the part (requests or limits) that counts."""

    container: Container
    part: str
    name: str
    value: object

    @property
    def place(self) -> FieldPath:
        """The field of the amount."""
        return self.container.place(self.part, self.name)

    @property
    def is_for_none(self) -> bool:
        """Whether it asks for 0 in so many words; an empty amount is rarely meant."""
        try:
            return self.value is not None and parse_quantity(self.value) == 0
        except QuantityError:
            return False


def find_odd_names(policy: Policy, asks: Sequence[Ask]) -> Iterator[Remark]:
    """Yields what is odd about resources that the policy does not count.

    Args:
        policy: the policy.
        asks: what the pod asks for beside counted and standard resources, container by container.
    """
    looked_at = asks[:MOST_NAMES]
    for ask in looked_at:
        finders = (_find_refused,) if ask.is_for_none else _ODD_NAMES
        if remark := next(filter(None, (find(policy, ask) for find in finders)), None):
            yield remark
    yield from _find_several_migs([ask for ask in looked_at if not ask.is_for_none])


def is_uncounted_gpu(policy: Policy, name: str) -> bool:
    """Returns whether it is a GPU resource that the policy does not count, and whose amounts the API server judges."""
    return _is_gpu_resource(policy, name) and "kubernetes.io/" not in name and find_resource_name_problem(name) is None


def find_pod_level(policy: Policy, view: PodView) -> Iterator[Remark]:
    """Yields GPUs in the pod's own resources, which the API server refuses there."""
    container = view.pod_level_resources
    for name, part, _ in container.amounts():
        if name in policy.types_by_resource or _is_gpu_name(str(name)):
            message = (
                f"{shown(str(name))} stands in the pod's own resources, "
                "where Kubernetes takes cpu, memory and hugepages only"
            )
            hint = "put it under a container's resources.limits"
            yield Remark("gpu-at-pod-level", container.place(part, name), message, hint)


def _is_gpu_name(name: str) -> bool:
    domain, _, last = name.casefold().rpartition("/")
    if "gpu" in last:
        return not any(word in last for word in _NIC_WORDS) and "network" not in domain and domain != "rdma"
    return name in _GPU_NAMES or name.startswith(_PREFIXES)


def _is_gpu_resource(policy: Policy, name: str) -> bool:
    return _is_gpu_name(name) or _is_shared(policy, name) or _is_named_after_type(policy, name)


def _is_shared(policy: Policy, name: str) -> bool:
    return name.endswith(_SHARED_SUFFIX) and name.removesuffix(_SHARED_SUFFIX) in policy.types_by_resource


def _is_named_after_type(policy: Policy, name: str) -> bool:
    """Returns whether it is what device plugins may rename GPUs to: ``nvidia.com/a100``."""
    domain, _, last = name.rpartition("/")
    return bool(domain) and last.casefold() in {each.casefold() for each in policy.type_names}


def _find_device_class(policy: Policy, ask: Ask) -> Remark | None:
    if not ask.name.startswith(DEVICE_CLASS_PREFIX):
        return None
    return unknown_class(policy, ask.name.removeprefix(DEVICE_CLASS_PREFIX), ask.place, part=Part.KEY)


def _find_shares(policy: Policy, ask: Ask) -> Remark | None:
    if not _is_shared(policy, ask.name) or not _is_several(ask.value):
        return None
    message = f"{shown(str(ask.value))} shares of {ask.name} give no more than one; a container may be refused them"
    return Remark("gpu-shares-several", ask.place, message, "ask for 1 share")


def _is_several(value: object) -> bool:
    try:
        return parse_quantity(value) > 1
    except QuantityError:
        return True


def _find_refused(policy: Policy, ask: Ask) -> Remark | None:
    problem = find_resource_name_problem(ask.name)
    if problem is None or not (_is_gpu_name(ask.name) or _find_close(policy, ask.name)):
        return None
    message = f"{shown(ask.name)} is no name of a resource ({problem}), so the API server refuses it"
    return Remark("gpu-name-not-valid", ask.place, message, _hint_name(policy, ask.name), Part.KEY)


def _find_close(policy: Policy, name: str) -> str | None:
    """Returns the counted name that a name seems to be a slip of."""
    folded = {known.casefold(): known for known in policy.resource_names}
    close = folded.get(name.casefold())
    if close is None and not (name.startswith(MIG_PREFIX) or name in _GPU_NAMES or _is_shared(policy, name)):
        close = next(iter(get_close_matches(name, policy.resource_names, 1, 0.85)), None)
    return close


def _hint_name(policy: Policy, name: str) -> str:
    close = _find_close(policy, name)
    return f"did you mean {close}" if close else f"counted: {', '.join(policy.resource_names)}"


def _find_misspelt(policy: Policy, ask: Ask) -> Remark | None:
    if _find_close(policy, ask.name) is None:
        return None
    message = f"{shown(ask.name)} is no counted resource; no node may offer it"
    return Remark("resource-name-misspelt", ask.place, message, _hint_name(policy, ask.name), Part.KEY)


def _find_uncounted(policy: Policy, ask: Ask) -> Remark | None:
    if not _is_gpu_resource(policy, ask.name):
        return None
    message = f"{shown(ask.name)} is a GPU resource that the policy does not count"
    return Remark("gpu-resource-not-counted", ask.place, message, _hint_name(policy, ask.name), Part.KEY)


def _find_several_migs(asks: Sequence[Ask]) -> Iterator[Remark]:
    """Looks at the counted profiles of a container too, where it asks for one that is not."""
    containers = {ask.container.field: ask.container for ask in asks if ask.name.startswith(MIG_PREFIX)}
    for container in containers.values():
        every = (Ask(container, part, name, value) for name, part, value in container.amounts())
        migs = [ask for ask in every if ask.name.startswith(MIG_PREFIX) and not ask.is_for_none]
        if len(migs) > 1:
            names = shown(", ".join(ask.name for ask in migs), 300)
            message = f"one container asks for {len(migs)} MIG profiles ({names}); it can use one device of one profile"
            yield Remark("mig-profiles-several", migs[1].place, message)


_ODD_NAMES: tuple[Callable[[Policy, Ask], Remark | None], ...] = (
    _find_device_class,
    _find_refused,
    _find_shares,
    _find_misspelt,
    _find_uncounted,
)

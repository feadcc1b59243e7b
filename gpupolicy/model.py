"""The policy as values: typed, complete, immutable. Knows no file format; only ``loading`` builds it from text."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from functools import cached_property

from gpupolicy.errors import FieldPath
from gpupolicy.labels import LabelSelector, matches_glob

API_VERSION = "gpupolicy.dev/v1alpha1"
KIND = "GPUPolicy"
KUBERNETES_VERSIONS = ("1.34", "1.35", "1.36", "1.37")
DEVICE_CLASS_PREFIX = "deviceclass.resource.kubernetes.io/"
POWER_OF_TWO = "powerOfTwo"
NAMESPACE_NAME_LABEL = "kubernetes.io/metadata.name"  # the API server sets it on every namespace


class Action(StrEnum):
    """What happens when a rule is broken at admission."""

    DENY = "deny"
    WARN = "warn"
    AUDIT = "audit"


class EarlyAction(StrEnum):
    """What the webhook does at the creation of a workload whose pods would be denied."""

    WARN = "warn"
    DENY = "deny"
    OFF = "off"


class Routing(StrEnum):
    """How a pod is bound to its slot groups: required affinity, preferred affinity, or not at all."""

    REQUIRED = "required"
    PREFERRED = "preferred"
    OFF = "off"


class SchedulerMode(StrEnum):
    """Who runs the profiles: the control plane's own kube-scheduler, or a second one beside it."""

    PROFILES = "profiles"
    SECOND = "second"


class StrategyType(StrEnum):
    """The scoring strategies of kube-scheduler's NodeResourcesFit."""

    MOST_ALLOCATED = "MostAllocated"
    LEAST_ALLOCATED = "LeastAllocated"
    REQUESTED_TO_CAPACITY_RATIO = "RequestedToCapacityRatio"


class FailurePolicy(StrEnum):
    """What the API server does when the webhook does not answer."""

    FAIL = "Fail"
    IGNORE = "Ignore"


class CertificateMode(StrEnum):
    """Where the webhook's certificate comes from."""

    SECRET = "secret"
    CERT_MANAGER = "certManager"


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """The node labels that the policy owns. ``guard``: compile a policy that keeps kubelets from setting them."""

    prefix: str = "my.gpu.cluster"
    guard: bool = True

    @property
    def gpu_type(self) -> str:
        """Key of the label that names a node's GPU type."""
        return f"{self.prefix}/gpu-type"

    @property
    def node_group(self) -> str:
        """Key of the label that names a node's slot group."""
        return f"{self.prefix}/node-group"

    @property
    def gpu_support(self) -> str:
        """Key of the label that says "true" on every node of the policy."""
        return f"{self.prefix}/nvidia-gpu-support"


@dataclass(frozen=True, slots=True, kw_only=True)
class GPUType:
    """One kind of GPU node. ``gpus_per_node`` counts units of ``resource_name``."""

    name: str
    gpus_per_node: int
    resource_name: str = "nvidia.com/gpu"
    aliases: tuple[str, ...] = ()
    node_selector: LabelSelector | None = None
    request_sizes: tuple[int, ...] | None = None
    device_classes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeClaim:
    """Which nodes of a type belong to a slot group: names or globs, a selector, a count, or a weight.

    ``weight`` is the group's share of the type's remaining nodes, not a scheduler weight.
    """

    gpu_type: str
    names: tuple[str, ...] = ()
    node_selector: LabelSelector | None = None
    count: int | None = None
    weight: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotGroup:
    """Nodes that serve certain request sizes. ``overflow`` names groups its pods may also use, first choice first."""

    name: str
    sizes: tuple[int, ...]
    nodes: tuple[NodeClaim, ...] = ()
    overflow: tuple[str, ...] = ()
    scheduler_name: str | None = None

    def serves(self, gpu_type: str) -> bool:
        """Returns whether the group claims nodes of the type."""
        return any(claim.gpu_type == gpu_type for claim in self.nodes)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceWeight:
    """A resource's weight (1..100) inside NodeResourcesFit's score."""

    name: str
    weight: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapePoint:
    """A point of RequestedToCapacityRatio: utilization in percent, score 0..10."""

    utilization: int
    score: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringStrategy:
    """How NodeResourcesFit scores nodes."""

    type: StrategyType = StrategyType.MOST_ALLOCATED
    resources: tuple[ResourceWeight, ...] = ()
    shape: tuple[ShapePoint, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One kube-scheduler profile that the policy compiles to."""

    scheduler_name: str
    scoring_strategy: ScoringStrategy


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderElection:
    """The Lease by which replicas of the scheduler agree; durations in seconds."""

    resource_name: str = "gpupolicy-scheduler"
    resource_namespace: str = "gpu-system"
    lease_duration_seconds: int = 15
    renew_deadline_seconds: int = 10
    retry_period_seconds: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheduler:
    """The scheduler side of a policy. ``other_schedulers`` are foreign names that pods may keep unremarked."""

    mode: SchedulerMode = SchedulerMode.PROFILES
    profiles: tuple[Profile, ...] = ()
    leader_election: LeaderElection | None = None
    other_schedulers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceMatch:
    """Namespaces by name or glob, and by labels; what is left out matches all."""

    names: tuple[str, ...] = ()
    selector: LabelSelector | None = None

    def matches(self, namespace: str, labels: Mapping[str, str]) -> bool:
        """Returns whether a namespace (its name and labels) is meant."""
        if self.names and not matches_glob(namespace, self.names):
            return False
        return self.selector is None or self.selector.matches({**labels, NAMESPACE_NAME_LABEL: namespace})

    @property
    def needs_labels(self) -> bool:
        """Whether the selector looks at more than the label that holds the namespace's name."""
        requirements = self.selector.to_requirements() if self.selector else ()
        return any(requirement.key != NAMESPACE_NAME_LABEL for requirement in requirements)


@dataclass(frozen=True, slots=True, kw_only=True)
class EnforcementOverride:
    """A different action for some rules (all when empty) in some namespaces."""

    action: Action
    rules: tuple[str, ...] = ()
    namespaces: NamespaceMatch = NamespaceMatch()


@dataclass(frozen=True, slots=True, kw_only=True)
class Enforcement:
    """What is done about violations; the first override that fits wins over the default."""

    default: Action = Action.DENY
    overrides: tuple[EnforcementOverride, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Exemption:
    """Pods that are not judged: every part given must match. ``service_accounts`` are ``namespace/name`` globs.

    ``expires`` is the last day on which it holds.
    """

    reason: str
    namespaces: NamespaceMatch = NamespaceMatch()
    owner_kinds: tuple[str, ...] = ()
    service_accounts: tuple[str, ...] = ()
    pod_selector: LabelSelector | None = None
    owner: str | None = None
    expires: date | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessRule:
    """Namespaces and the GPU types and slot groups they may use; None means all of them."""

    namespaces: NamespaceMatch = NamespaceMatch()
    gpu_types: tuple[str, ...] | None = None
    slot_groups: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """The admission side. ``request_sizes`` None means powers of two up to the GPUs of a node.

    ``access`` empty means that every namespace may use everything; else a namespace needs an entry. ``workloads`` says
    what is done at the creation of an object whose pods would be denied.
    """

    request_sizes: tuple[int, ...] | None = None
    enforcement: Enforcement = Enforcement()
    routing: Routing = Routing.REQUIRED
    exemptions: tuple[Exemption, ...] = ()
    access: tuple[AccessRule, ...] = ()
    workloads: EarlyAction = EarlyAction.WARN


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadKind:
    """A kind whose objects make pods: ``templates`` are paths to pod templates or pod specs, as in ``spec.tasks[*]``.

    ``resource`` is the kind's plural in the API (None: guessed from its name), ``owner_kind`` the kind that owns its
    pods (None: itself).
    """

    group: str
    kind: str
    templates: tuple[str, ...]
    resource: str | None = None
    owner_kind: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificates:
    """Certificates of the webhook: ``issuer`` (kind/name) is used with cert-manager only."""

    mode: CertificateMode = CertificateMode.SECRET
    secret_name: str = "gpupolicy-webhook-tls"
    issuer: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """How the webhook is deployed and registered."""

    namespace: str = "gpu-system"
    name: str = "gpupolicy-webhook"
    image: str = "gpupolicy:latest"
    replicas: int = 2
    failure_policy: FailurePolicy = FailurePolicy.FAIL
    timeout_seconds: int = 3
    certificates: Certificates = Certificates()


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a policy was read from: its text, and the (line, column) of each field, counted from 1."""

    file: str = "policy"
    text: str = ""
    places: Mapping[FieldPath, tuple[int, int]] = field(default_factory=dict)
    document: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Policy:
    """A whole GPUPolicy. Compared by meaning: ``origin`` says where it stood, and does not count."""

    name: str
    gpu_types: tuple[GPUType, ...]
    slot_groups: tuple[SlotGroup, ...]
    kubernetes_version: str = KUBERNETES_VERSIONS[-1]
    labels: Labels = Labels()
    scheduler: Scheduler = Scheduler()
    admission: Admission = Admission()
    webhook: Webhook = Webhook()
    workloads: tuple[WorkloadKind, ...] = ()
    origin: Origin = field(default=Origin(), compare=False, repr=False)

    @cached_property
    def memo(self) -> dict[Hashable, object]:
        """What the core has worked out from the policy alone, by what it depends on; no part of the value."""
        return {}

    @cached_property
    def resource_names(self) -> tuple[str, ...]:
        """The counted resource names, in the order of the policy, each once."""
        return tuple(dict.fromkeys(gpu_type.resource_name for gpu_type in self.gpu_types))

    @cached_property
    def types_by_name(self) -> Mapping[str, GPUType]:
        """GPU types by name."""
        return {gpu_type.name: gpu_type for gpu_type in self.gpu_types}

    @cached_property
    def aliases(self) -> Mapping[str, str]:
        """What a user may call a type instead of its name, to the name."""
        aliases = {alias: t.name for t in self.gpu_types for alias in t.aliases}
        return {alias: name for alias, name in aliases.items() if alias not in self.types_by_name}

    @cached_property
    def type_names(self) -> Mapping[str, str]:
        """What a user may call a type (its name, its aliases), to the type's name."""
        return {**self.aliases, **{t.name: t.name for t in self.gpu_types}}

    @cached_property
    def groups_by_name(self) -> Mapping[str, SlotGroup]:
        """Slot groups by name."""
        return {group.name: group for group in self.slot_groups}

    @cached_property
    def types_by_resource(self) -> Mapping[str, tuple[GPUType, ...]]:
        """GPU types by counted resource name; a device class's implicit name counts as its type's."""
        table: dict[str, list[GPUType]] = {}
        for gpu_type in self.gpu_types:
            for name in (gpu_type.resource_name, *(DEVICE_CLASS_PREFIX + c for c in gpu_type.device_classes)):
                table.setdefault(name, []).append(gpu_type)
        return {name: tuple(types) for name, types in table.items()}

    @cached_property
    def types_of_group(self) -> Mapping[str, frozenset[str]]:
        """Names of the GPU types whose nodes a slot group claims, by group name."""
        return {group.name: frozenset(claim.gpu_type for claim in group.nodes) for group in self.slot_groups}

    @cached_property
    def groups_by_size(self) -> Mapping[int, tuple[SlotGroup, ...]]:
        """Slot groups by the request that they serve, in the order of the policy."""
        sizes = dict.fromkeys(size for group in self.slot_groups for size in group.sizes)
        return {size: tuple(group for group in self.slot_groups if size in group.sizes) for size in sizes}

    @cached_property
    def node_labels_of_type(self) -> Mapping[str, Mapping[str, str]]:
        """Labels that every node of a type has as far as the policy says, by the type's name."""
        return {
            t.name: {
                **(t.node_selector.match_labels if t.node_selector else {}),
                self.labels.gpu_type: t.name,
                self.labels.gpu_support: "true",
            }
            for t in self.gpu_types
        }

    @cached_property
    def known_label_keys(self) -> frozenset[str]:
        """Keys of node labels that the policy says anything about."""
        keys = {key for labels in self.node_labels_of_type.values() for key in labels}
        return frozenset({*keys, self.labels.node_group})

    @cached_property
    def scheduler_names(self) -> tuple[str, ...]:
        """Names of the profiles that the policy compiles."""
        return tuple(profile.scheduler_name for profile in self.scheduler.profiles)

    @cached_property
    def _sizes_by_type(self) -> Mapping[str, tuple[int, ...]]:
        return {t.name: self._find_sizes(t) for t in self.gpu_types}

    def _find_sizes(self, gpu_type: GPUType) -> tuple[int, ...]:
        sizes = gpu_type.request_sizes or self.admission.request_sizes
        if sizes is None:
            return powers_of_two(gpu_type.gpus_per_node)
        return tuple(size for size in sorted(set(sizes)) if size <= gpu_type.gpus_per_node)

    def sizes_of(self, gpu_type: GPUType) -> tuple[int, ...]:
        """Returns the requests (GPUs of one pod) admitted on a type, rising; none is larger than a node."""
        return self._sizes_by_type[gpu_type.name]

    @cached_property
    def namespace_label_fields(self) -> tuple[FieldPath, ...]:
        """Fields of the entries whose namespaceSelector looks at more of a namespace than its name."""
        lists: tuple[tuple[FieldPath, tuple[EnforcementOverride | Exemption | AccessRule, ...]], ...] = (
            (("enforcement", "overrides"), self.admission.enforcement.overrides),
            (("exemptions",), self.admission.exemptions),
            (("access",), self.admission.access),
        )
        return tuple(
            ("spec", "admission", *field, index, "namespaceSelector")
            for field, entries in lists
            for index, entry in enumerate(entries)
            if entry.namespaces.needs_labels
        )

    @property
    def uses_namespace_labels(self) -> bool:
        """Whether deciding may take labels of namespaces, which no review carries: the cluster has to be asked."""
        return bool(self.namespace_label_fields)

    def find_place(self, path: FieldPath) -> tuple[int, int] | None:
        """Returns (line, column) of a field, or of the nearest field above it that has a place."""
        for length in range(len(path), -1, -1):
            if place := self.origin.places.get(path[:length]):
                return place
        return None

    def cite(self, *path: str | int) -> str:
        """Returns ``policy.yaml:12`` for a field, the file alone where the line is not known."""
        place = self.find_place(path)
        return f"{self.origin.file}:{place[0]}" if place else self.origin.file


def powers_of_two(limit: int) -> tuple[int, ...]:
    """Returns 1, 2, 4, ... up to and including the limit."""
    return tuple(_powers(limit))


def _powers(limit: int) -> Iterator[int]:
    size = 1
    while size <= limit:
        yield size
        size *= 2


def overflow_weights(levels: int) -> tuple[int, ...]:
    """Returns the weights (100..1) of the preferred terms that keep overflow in order.

    Args:
        levels: how many levels of groups there are, own groups included.

    Returns:
        One weight for each level but the last, which gets no term: the steps are as steep as 1..100 allows, because
        what separates two levels in the score is 1 - lower/higher.

    Source: measured on kube-scheduler 1.37.2; the docs on overflow have the figures.
    """
    terms = levels - 1
    if terms <= 0:
        return ()
    ratio = 100 ** (1 / max(2, terms - 1)) if terms > 1 else 1.0
    return tuple(min(100, max(terms - i, round(100 / ratio**i))) for i in range(terms))

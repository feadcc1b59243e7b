"""The policy as values: typed, complete, immutable. Knows no file format; only ``loading`` builds it from text."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from gpupolicy.errors import FieldPath
from gpupolicy.model.admission import (
    NAMESPACE_NAME_LABEL,
    POWER_OF_TWO,
    AccessRule,
    Action,
    Admission,
    EarlyAction,
    Enforcement,
    EnforcementOverride,
    Exemption,
    NamespaceMatch,
    Routing,
    WorkloadKind,
)
from gpupolicy.model.deployment import (
    PLACEHOLDER_IMAGE,
    CertificateMode,
    Certificates,
    FailurePolicy,
    LeaderElection,
    Profile,
    ResourceWeight,
    Scheduler,
    SchedulerMode,
    ScoringStrategy,
    ShapePoint,
    StrategyType,
    Webhook,
)
from gpupolicy.model.fleet import (
    DEVICE_CLASS_PREFIX,
    ZONE_LABEL,
    GPUType,
    Labels,
    NodeClaim,
    SlotGroup,
    Taint,
    TaintEffect,
    Topology,
    TopologyPlacement,
    overflow_weights,
    powers_of_two,
)

__all__ = [
    "API_VERSION",
    "DEVICE_CLASS_PREFIX",
    "KIND",
    "KUBERNETES_VERSIONS",
    "NAMESPACE_NAME_LABEL",
    "PLACEHOLDER_IMAGE",
    "POWER_OF_TWO",
    "ZONE_LABEL",
    "AccessRule",
    "Action",
    "Admission",
    "CertificateMode",
    "Certificates",
    "EarlyAction",
    "Enforcement",
    "EnforcementOverride",
    "Exemption",
    "FailurePolicy",
    "GPUType",
    "Labels",
    "LeaderElection",
    "NamespaceMatch",
    "NodeClaim",
    "Origin",
    "Policy",
    "Profile",
    "ResourceWeight",
    "Routing",
    "Scheduler",
    "SchedulerMode",
    "ScoringStrategy",
    "ShapePoint",
    "SlotGroup",
    "StrategyType",
    "Taint",
    "TaintEffect",
    "Topology",
    "TopologyPlacement",
    "Webhook",
    "WorkloadKind",
    "overflow_weights",
    "powers_of_two",
]

API_VERSION = "gpupolicy.dev/v1alpha1"
KIND = "GPUPolicy"
KUBERNETES_VERSIONS = ("1.34", "1.35", "1.36", "1.37")


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
    labels: Labels = field(default=Labels())
    scheduler: Scheduler = field(default=Scheduler())
    admission: Admission = field(default=Admission())
    webhook: Webhook = field(default=Webhook())
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
    def without_aliases(self) -> Policy:
        """The policy as those see it who know types by the names on nodes alone."""
        return replace(self, gpu_types=tuple(replace(gpu_type, aliases=()) for gpu_type in self.gpu_types))

    @cached_property
    def groups_by_name(self) -> Mapping[str, SlotGroup]:
        """Slot groups by name."""
        return {group.name: group for group in self.slot_groups}

    @cached_property
    def types_by_resource(self) -> Mapping[str, tuple[GPUType, ...]]:
        """GPU types by counted resource name; a device class's implicit name counts as its type's."""
        table: dict[str, list[GPUType]] = {}
        for gpu_type in self.gpu_types:
            for name in gpu_type.counted_names:
                table.setdefault(name, []).append(gpu_type)
        return {name: tuple(types) for name, types in table.items()}

    @cached_property
    def uses_device_classes(self) -> bool:
        """Whether GPUs of a type may be had through resource claims (DRA)."""
        return any(gpu_type.device_classes for gpu_type in self.gpu_types)

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
    def taints_by_group(self) -> Mapping[str, Taint]:
        """The taint on the nodes of a slot group, by the group's name; groups without one are left out."""
        key = self.labels.node_group
        return {g.name: Taint(key=key, value=g.name, effect=str(g.taint)) for g in self.slot_groups if g.taint}

    @cached_property
    def known_label_keys(self) -> frozenset[str]:
        """Keys of node labels that the policy says anything about."""
        keys = {key for labels in self.node_labels_of_type.values() for key in labels}
        selectors = (t.node_selector for t in self.gpu_types if t.node_selector)
        expressed = {requirement.key for selector in selectors for requirement in selector.match_expressions}
        return frozenset({*keys, *expressed, self.labels.node_group})

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

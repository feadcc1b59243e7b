"""The admission side of a policy as values: who may ask for what, and what is done where a rule is broken."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from gpupolicy.labels import LabelSelector, matches_glob

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

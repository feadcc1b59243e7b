"""What a policy compiles to, as values: the profiles of kube-scheduler and the webhook's deployment."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

PLACEHOLDER_IMAGE = "gpupolicy:latest"  # published nowhere: whoever installs the webhook builds an image and names it


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
    SELF_MANAGED = "selfManaged"


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
    image: str = PLACEHOLDER_IMAGE
    replicas: int = 2
    failure_policy: FailurePolicy = FailurePolicy.FAIL
    timeout_seconds: int = 3
    certificates: Certificates = Certificates()

"""Rules about the leader election of a KubeSchedulerConfiguration."""

from __future__ import annotations

from collections.abc import Iterator

from gpupolicy.errors import FieldPath, Finding
from gpupolicy.linting.foreign.durations import parse_duration
from gpupolicy.linting.foreign.findings import error, listed, show, warning
from gpupolicy.linting.foreign.reading import child, text
from gpupolicy.linting.foreign.scheduler.configuration import SchedulerConfiguration
from gpupolicy.linting.foreign.scheduler.profiles import DEFAULT_SCHEDULER

# namespace and name of the lease that the cluster's own kube-scheduler holds, by default
OWN_LEASE = ("kube-system", "kube-scheduler")


def leader_election_lock_unknown(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """A lock that is no Lease.

    Why: locks by Endpoints and ConfigMaps are gone; kube-scheduler ends at its start while leaderElect is on.
    Bad:  leaderElection: {leaderElect: true, resourceLock: endpoints}
    Good: leaderElection: {leaderElect: true, resourceLock: leases}
    Source: kubernetes pkg/scheduler/apis/config/validation; measured on kube-scheduler 1.37.2.
    """
    lock = text(configuration.at("leaderElection", "resourceLock"))
    if configuration.leads and lock not in ("", "leases"):
        yield error(
            "leader-election-lock-unknown",
            ("leaderElection", "resourceLock"),
            f"resourceLock is {show(lock)}; kube-scheduler takes leases alone",
            "write leases, or leave it out",
        )


_DURATIONS = {"leaseDuration": 15.0, "renewDeadline": 10.0, "retryPeriod": 2.0}
_JITTER = 1.2  # client-go waits up to this many retry periods between two tries


def leader_election_durations(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """Durations of the leader election that do not fit together.

    Why: kube-scheduler ends at its start unless leaseDuration > renewDeadline > 1.2 times retryPeriod > 0.
    Bad:  leaderElection: {leaseDuration: 10s, renewDeadline: 15s}
    Good: leaderElection: {leaseDuration: 15s, renewDeadline: 10s, retryPeriod: 2s}
    Source: component-base config/validation; client-go tools/leaderelection, NewLeaderElector.
    """
    if not configuration.leads:
        return
    seconds = {name: _seconds(configuration, name) for name in _DURATIONS}
    for name, value in seconds.items():
        if value <= 0:
            yield _duration(configuration, name, f"{name} is {value:g}s; it has to be above zero")
    lease, renew, retry = seconds["leaseDuration"], seconds["renewDeadline"], seconds["retryPeriod"]
    if 0 < lease <= renew:
        message = f"leaseDuration is {lease:g}s; it has to be longer than renewDeadline, {renew:g}s"
        yield _duration(configuration, "leaseDuration", message)
    if 0 < renew <= _JITTER * retry:
        message = f"renewDeadline is {renew:g}s; it has to be longer than 1.2 times retryPeriod, {retry:g}s"
        yield _duration(configuration, "renewDeadline", message)


def _seconds(configuration: SchedulerConfiguration, name: str) -> float:
    """A duration of zero means the default, as an absent one does."""
    written = configuration.at("leaderElection", name)
    return (parse_duration(text(written)) or 0.0) or _DURATIONS[name]


def _duration(configuration: SchedulerConfiguration, name: str, message: str) -> Finding:
    present = child(configuration.value, "leaderElection", name) is not None
    field: FieldPath = ("leaderElection", name) if present else ("leaderElection",)
    return error("leader-election-durations", field, message)


def leader_election_shares_lease(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """A second scheduler that competes for the lease of the cluster's own.

    Why: kube-system/kube-scheduler is the default of both, so one of them never becomes leader: this one does nothing,
    or the cluster's scheduler stops. An election that the file does not mention is on all the same, and worth a
    warning alone: it may be switched off by a flag.
    Bad:  leaderElection: {leaderElect: true} with the one profile gpu-binpack
    Good: leaderElection: {leaderElect: true, resourceName: gpu-binpack, resourceNamespace: gpu-system}
    Source: kubernetes pkg/scheduler/apis/config/v1/defaults.go; kubernetes-sigs/scheduler-plugins issue 815.
    """
    names = [profile.name for profile in configuration.profiles if profile.name]
    election = configuration.at("leaderElection")
    if not configuration.leads or not names or DEFAULT_SCHEDULER in names or _lease(configuration) != OWN_LEASE:
        return
    say, field = (error, ("leaderElection",)) if election else (warning, ())
    yield say(
        "leader-election-shares-lease",
        field,
        "the lease is kube-system/kube-scheduler, which the cluster's own scheduler holds;"
        f" the profiles here are {listed(names)}",
        "give resourceName and resourceNamespace of its own, or leaderElect: false for a single replica",
    )


def default_scheduler_taken(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """A profile called default-scheduler in a scheduler that holds a lease of its own.

    Why: another lease means another scheduler beside the cluster's, and both then place the pods that name none. A
    single profile without a name is called default-scheduler too.
    Bad:  leaderElection: {resourceName: gpu-binpack} with the profile default-scheduler
    Good: leaderElection: {resourceName: gpu-binpack} with the profile gpu-binpack
    Source: kubernetes pkg/scheduler/apis/config/v1/defaults.go; measured on Kubernetes 1.37.2.
    """
    if not configuration.leads or _lease(configuration) == OWN_LEASE:
        return
    for profile in configuration.profiles:
        if profile.name == DEFAULT_SCHEDULER:
            path = (*profile.path, "schedulerName") if "schedulerName" in profile.value else profile.path
            message = "the lease is not that of the cluster's own scheduler, which serves default-scheduler already"
            yield warning("default-scheduler-taken", path, message, "give the profile a name of its own")


def _lease(configuration: SchedulerConfiguration) -> tuple[str, str]:
    election = configuration.at("leaderElection")
    default_namespace, default_name = OWN_LEASE
    return (
        text(child(election, "resourceNamespace")) or default_namespace,
        text(child(election, "resourceName")) or default_name,
    )

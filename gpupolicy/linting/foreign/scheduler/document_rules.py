"""Rules about a KubeSchedulerConfiguration as a whole: its version, and numbers that stand alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpupolicy.errors import FieldPath, Finding
from gpupolicy.linting.foreign.findings import error, show
from gpupolicy.linting.foreign.kinds import SCHEDULER_KIND, SCHEDULER_VERSION
from gpupolicy.linting.foreign.reading import whole
from gpupolicy.linting.foreign.scheduler.configuration import SchedulerConfiguration


def scheduler_config_version_unknown(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """A version of the configuration format that kube-scheduler does not read.

    Why: v1 is the only version since Kubernetes 1.29; with any other kube-scheduler ends at its start.
    Bad:  apiVersion: kubescheduler.config.k8s.io/v1beta3
    Good: apiVersion: kubescheduler.config.k8s.io/v1
    Source: kubernetes pkg/scheduler/apis/config/scheme; measured on kube-scheduler 1.37.2.
    """
    version = configuration.value.get("apiVersion")
    if version != SCHEDULER_VERSION:
        found = f"apiVersion is {show(version)}" if version is not None else "there is no apiVersion"
        yield error(
            "scheduler-config-version-unknown",
            ("apiVersion",) if version is not None else (),
            f"{found}; kube-scheduler {configuration.version} reads {SCHEDULER_VERSION} alone",
            f"write {SCHEDULER_VERSION}",
        )


def scheduler_config_kind_unknown(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """A kind that is no configuration of kube-scheduler.

    Why: kube-scheduler reads one kind from the file of --config and ends at its start with any other.
    Bad:  kind: KubeschedulerConfiguration
    Good: kind: KubeSchedulerConfiguration
    Source: kubernetes cmd/kube-scheduler/app/options/configfile.go; measured on kube-scheduler 1.37.2.
    """
    kind = configuration.value.get("kind")
    if kind != SCHEDULER_KIND:
        found = f"kind is {show(kind)}" if kind is not None else "there is no kind"
        yield error(
            "scheduler-config-kind-unknown",
            ("kind",) if kind is not None else (),
            f"{found}; kube-scheduler reads {SCHEDULER_KIND} alone",
            f"write {SCHEDULER_KIND}",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Bounds:
    low: int
    high: int | None = None

    def contain(self, value: int) -> bool:
        return value >= self.low and (self.high is None or value <= self.high)

    def __str__(self) -> str:
        return f"at least {self.low}" if self.high is None else f"{self.low} to {self.high}"


_NUMBERS: tuple[tuple[tuple[str, ...], _Bounds], ...] = (
    (("parallelism",), _Bounds(low=1)),
    (("percentageOfNodesToScore",), _Bounds(low=0, high=100)),
    (("podInitialBackoffSeconds",), _Bounds(low=1)),
    (("clientConnection", "burst"), _Bounds(low=0)),
)
_ARGUMENTS: tuple[tuple[str, str, _Bounds], ...] = (
    ("InterPodAffinity", "hardPodAffinityWeight", _Bounds(low=0, high=100)),
    ("DefaultPreemption", "minCandidateNodesPercentage", _Bounds(low=0, high=100)),
    ("DefaultPreemption", "minCandidateNodesAbsolute", _Bounds(low=0)),
    ("VolumeBinding", "bindTimeoutSeconds", _Bounds(low=0)),
)


def scheduler_number_out_of_range(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """A number outside the range that kube-scheduler takes.

    Why: kube-scheduler validates these numbers at its start and ends.
    Bad:  percentageOfNodesToScore: 150
    Good: percentageOfNodesToScore: 100
    Source: kubernetes pkg/scheduler/apis/config/validation; measured on kube-scheduler 1.37.2.
    """
    for field, number, bounds in _numbers(configuration):
        if not bounds.contain(number):
            message = f"{field[-1]} is {number}; kube-scheduler takes {bounds}"
            yield error("scheduler-number-out-of-range", field, message)


def _numbers(configuration: SchedulerConfiguration) -> Iterator[tuple[FieldPath, int, _Bounds]]:
    for field, bounds in _NUMBERS:
        if (number := whole(configuration.at(*field))) is not None:
            yield field, number, bounds
    for profile in configuration.profiles:
        if (number := whole(profile.value.get("percentageOfNodesToScore"))) is not None:
            yield (*profile.path, "percentageOfNodesToScore"), number, _Bounds(low=0, high=100)
    for plugin, name, bounds in _ARGUMENTS:
        for _, path, arguments in configuration.plugin_arguments(plugin):
            if (number := whole(arguments.get(name))) is not None:
                yield (*path, name), number, bounds


def scheduler_backoff_order(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """A longest backoff that is shorter than the first one.

    Why: kube-scheduler ends at its start; a missing value counts with its default, 1 and 10 seconds.
    Bad:  podInitialBackoffSeconds: 20 with podMaxBackoffSeconds: 5
    Good: podInitialBackoffSeconds: 1 with podMaxBackoffSeconds: 10
    Source: kubernetes pkg/scheduler/apis/config/validation; measured on kube-scheduler 1.37.2.
    """
    written = whole(configuration.at("podMaxBackoffSeconds"))
    first = whole(configuration.at("podInitialBackoffSeconds"))
    longest = 10 if written is None else written
    if longest < (1 if first is None else first):
        field = "podInitialBackoffSeconds" if written is None else "podMaxBackoffSeconds"
        yield error(
            "scheduler-backoff-order",
            (field,),
            f"podMaxBackoffSeconds is {longest}, less than podInitialBackoffSeconds, {1 if first is None else first}",
        )


def preemption_candidates_zero(configuration: SchedulerConfiguration) -> Iterator[Finding]:
    """No node may be a candidate for preemption, by number and by share.

    Why: kube-scheduler ends at its start; one of the two has to be above zero.
    Bad:  minCandidateNodesPercentage: 0 with minCandidateNodesAbsolute: 0
    Good: minCandidateNodesPercentage: 10 with minCandidateNodesAbsolute: 100
    Source: kubernetes pkg/scheduler/apis/config/validation/validation_pluginargs.go.
    """
    for _, path, arguments in configuration.plugin_arguments("DefaultPreemption"):
        if arguments.get("minCandidateNodesPercentage") == 0 and arguments.get("minCandidateNodesAbsolute") == 0:
            yield error(
                "preemption-candidates-zero",
                (*path, "minCandidateNodesPercentage"),
                "minCandidateNodesPercentage and minCandidateNodesAbsolute are both 0; one has to be above it",
            )

"""Scheduler profiles of the policy to be: those of a KubeSchedulerConfiguration that pack, else the classic one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from gpupolicy import scoring
from gpupolicy.discovery.remarks import Notes
from gpupolicy.errors import InputError
from gpupolicy.labels import find_dns_label_problem, find_dns_subdomain_problem
from gpupolicy.linting.foreign.durations import parse_duration
from gpupolicy.linting.foreign.scheduler.configuration import SchedulerConfiguration
from gpupolicy.linting.foreign.scheduler.strategies import FitStrategy, strategies
from gpupolicy.loading.documents import Document
from gpupolicy.model import ScoringStrategy, ShapePoint, StrategyType

KIND = "KubeSchedulerConfiguration"
DEFAULT_SCHEDULER = "default-scheduler"
PACKING, SLICE_PACKING = "gpu-packing", "gpu-packing-slices"
GPU_WEIGHT, OTHER_WEIGHT = 100, 1
_NATIVE = ("cpu", "memory", "ephemeral-storage")
_OTHERS = ("cpu", "memory")


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundProfile:
    """A profile of the policy to be; ``weights`` are (resource, weight, comment)."""

    name: str
    type: StrategyType = StrategyType.MOST_ALLOCATED
    weights: tuple[tuple[str, int, str], ...] = ()
    shape: tuple[ShapePoint, ...] = ()
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundScheduler:
    """The profiles, the first for whole GPUs (where there are any), and the fields of leaderElection to write."""

    profiles: tuple[FoundProfile, ...]
    election: Mapping[str, str | int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What profiles are for: resources of nodes on which GPUs can outvote the rest, and of those where they cannot.

    ``gpus`` is the largest node of the first.
    """

    resources: tuple[str, ...]
    fine_resources: tuple[str, ...]
    gpus: int


def read_configuration(documents: Iterable[Document], file: str) -> Mapping[str, object]:
    """Returns the KubeSchedulerConfiguration among the documents of a file.

    Raises:
        InputError: it cannot be read, or there is none.
    """
    for document in documents:
        if not document.readable:
            finding = document.findings[0]
            raise InputError(finding.message, file=file, line=finding.line, column=finding.column)
        if isinstance(document.value, dict) and document.value.get("kind") == KIND:
            return document.value
    raise InputError(f"there is no {KIND} in it", file=file)


def find_scheduler(configuration: Mapping[str, object] | None, file: str, needs: Needs, notes: Notes) -> FoundScheduler:
    """Returns the profiles: those of the configuration that pack, with weights that hold, else the classic one."""
    found: list[FoundProfile] = []
    election: Mapping[str, str | int] = {}
    if configuration is not None:
        read = SchedulerConfiguration(value=configuration)
        found = _take(read, file, needs, notes) if needs.resources else []
        election = _read_election(read, notes)
        if not found and needs.resources:
            notes.add(f"{file} has no profile that packs GPUs; the classic profile is proposed")
    if not found and needs.resources:
        found = [_classic(needs)]
    return FoundScheduler(profiles=(*found, *_for_slices(needs, [one.name for one in found])), election=election)


def _classic(needs: Needs) -> FoundProfile:
    weights = [(name, GPU_WEIGHT, "") for name in needs.resources]
    return FoundProfile(name=PACKING, weights=(*weights, *((name, OTHER_WEIGHT, "") for name in _OTHERS)))


def _for_slices(needs: Needs, taken: Sequence[str]) -> Iterator[FoundProfile]:
    if needs.fine_resources:
        name = SLICE_PACKING if SLICE_PACKING not in taken else f"{SLICE_PACKING}-2"
        remark = "One of many small units is worth so few points that no weight lets it outvote cpu and memory."
        weights = tuple((resource, GPU_WEIGHT, "") for resource in needs.fine_resources)
        yield FoundProfile(name=name, weights=weights, remarks=(remark,))


def _take(read: SchedulerConfiguration, file: str, needs: Needs, notes: Notes) -> list[FoundProfile]:
    found: dict[str, FoundProfile] = {}
    for strategy in strategies(read):
        name = strategy.profile.name
        if not strategy.packs or not _has_usable_shape(strategy):
            notes.add(f"profile {name} of {file} does not pack, so it is left out")
            continue
        profile = _to_profile(strategy, file, needs, notes)
        if needs.fine_resources and found:
            notes.add(f"profile {name} of {file} is left out: no slot group would use it")
        elif profile.name in found:
            notes.add(f"profile {profile.name} stands twice in {file}; the first counts")
        else:
            found[profile.name] = profile
    return list(found.values())


def _has_usable_shape(strategy: FitStrategy) -> bool:
    points = [(utilization, score) for _, utilization, score in strategy.shape()]
    in_range = all(0 <= utilization <= 100 and 0 <= score <= 10 for utilization, score in points)
    return in_range and all(before[0] < after[0] for before, after in pairwise(points))


def _to_profile(strategy: FitStrategy, file: str, needs: Needs, notes: Notes) -> FoundProfile:
    effective = strategy.effective()
    assert effective is not None  # it packs
    name, remarks = strategy.profile.name, []
    if name == DEFAULT_SCHEDULER or find_dns_subdomain_problem(name):
        remarks = [f"{name} in {file}; as a name of its own it packs GPU pods only"]
        name = PACKING
    written = {r.name: min(max(r.weight, 1), 100) for r in reversed(effective.resources)}
    if dropped := [resource for resource in written if resource not in (*_NATIVE, *needs.resources)]:
        notes.add(f"profile {strategy.profile.name} of {file} weighs {', '.join(dropped)}, which no GPU type counts")
    shape = effective.shape if effective.type is StrategyType.REQUESTED_TO_CAPACITY_RATIO else ()
    plain = ScoringStrategy(type=effective.type, shape=shape)
    others = {resource: written[resource] for resource in _NATIVE if resource in written}
    needed = scoring.smallest_unbeaten_gpu_weight(plain, sum(others.values()), needs.gpus) if others else 1
    if needed is None:
        remarks.append(f"{', '.join(others)} left out: no weight lets GPUs outvote them as {file} weighs them")
        others, needed = {}, 1
    weights = [_weigh(resource, written.get(resource), needed, file) for resource in needs.resources]
    weights += [(resource, weight, "") for resource, weight in others.items()]
    return FoundProfile(name=name, type=effective.type, weights=tuple(weights), shape=shape, remarks=tuple(remarks))


def _weigh(resource: str, written: int | None, needed: int, file: str) -> tuple[str, int, str]:
    if written is None:
        return resource, GPU_WEIGHT, f"not weighed in {file}"
    if written < needed:
        return resource, needed, f"{written} in {file}, where cpu and memory can outvote it"
    return resource, written, ""


def _read_election(read: SchedulerConfiguration, notes: Notes) -> dict[str, str | int]:
    """Returns the fields of leaderElection that a policy can hold as they are."""
    if not read.leads:
        return {}
    fields: dict[str, str | int] = {}
    for key, problem in (("resourceName", find_dns_subdomain_problem), ("resourceNamespace", find_dns_label_problem)):
        value = read.at("leaderElection", key)
        if isinstance(value, str) and not problem(value):
            fields[key] = value
    durations = {}
    for key in ("leaseDuration", "renewDeadline", "retryPeriod"):
        value = read.at("leaderElection", key)
        seconds = parse_duration(value) if isinstance(value, str) else None
        if seconds is not None and seconds >= 1 and seconds == int(seconds):
            durations[f"{key}Seconds"] = int(seconds)
    lease, renew, retry = (
        durations.get(f"{k}Seconds", d) for k, d in (("leaseDuration", 15), ("renewDeadline", 10), ("retryPeriod", 2))
    )
    if lease > renew > 1.2 * retry:
        fields.update(durations)
    elif durations:
        notes.add("the durations of leaderElection contradict each other, so they are left out")
    return fields

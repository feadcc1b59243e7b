"""The scoring strategy of NodeResourcesFit in a profile: what the file writes, and what kube-scheduler makes of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gpupolicy.errors import FieldPath
from gpupolicy.linting.foreign.reading import Object, mapping, objects, text, whole
from gpupolicy.linting.foreign.resource_names import is_extended
from gpupolicy.linting.foreign.scheduler.configuration import SchedulerConfiguration
from gpupolicy.linting.foreign.scheduler.profiles import Profile
from gpupolicy.model import Policy, ResourceWeight, ScoringStrategy, ShapePoint, StrategyType
from gpupolicy.scoring import is_packing

FIT = "NodeResourcesFit"
STRATEGIES = tuple(sorted(StrategyType))
USUAL_GPUS = 8  # GPUs of a node where no policy says it

_PACKING_NAME = re.compile(r"pack|most-?alloc|dense|consolidat|compact|fill", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class FitStrategy:
    """The strategy of a profile whose NodeResourcesFit is built. ``path`` is where it stands, or would stand."""

    profile: Profile
    path: FieldPath
    value: Object | None

    @property
    def kind(self) -> str:
        """The type as written; LeastAllocated where no strategy is written."""
        return StrategyType.LEAST_ALLOCATED if self.value is None else text(self.value.get("type"))

    def resources(self) -> Iterator[tuple[FieldPath, str, int | None]]:
        """Yields place, name and weight of each resource that is written."""
        for index, entry in objects(mapping(self.value).get("resources")):
            yield (*self.path, "resources", index), text(entry.get("name")), whole(entry.get("weight"))

    def shape(self) -> Iterator[tuple[FieldPath, int, int]]:
        """Yields place, utilization and score of each point of requestedToCapacityRatio."""
        ratio = mapping(mapping(self.value).get("requestedToCapacityRatio"))
        yield from read_shape((*self.path, "requestedToCapacityRatio"), ratio)

    @property
    def scores(self) -> bool:
        """Whether the plugin scores at all in this profile."""
        return self.profile.find_enabled("score", FIT) is not None

    def effective(self) -> ScoringStrategy | None:
        """Returns the strategy after kube-scheduler's defaults, None where it refuses the type."""
        if self.kind not in STRATEGIES:
            return None
        written = [(name, weight or 1) for _, name, weight in self.resources()] or [("cpu", 1), ("memory", 1)]
        return ScoringStrategy(
            type=StrategyType(self.kind),
            resources=tuple(ResourceWeight(name=name, weight=weight) for name, weight in written),
            shape=tuple(ShapePoint(utilization=u, score=s) for _, u, s in self.shape()),
        )

    @property
    def packs(self) -> bool:
        """Whether the strategy prefers the fuller of two nodes, in a profile where it scores."""
        strategy = self.effective()
        return strategy is not None and self.scores and is_packing(strategy)

    @property
    def is_named_for_packing(self) -> bool:
        """Whether the profile's name promises to pack."""
        return bool(_PACKING_NAME.search(self.profile.name))


def read_shape(path: FieldPath, owner: Object) -> Iterator[tuple[FieldPath, int, int]]:
    """Yields place, utilization and score of each point of a ``shape``; what is left out is 0."""
    for index, point in objects(owner.get("shape")):
        yield (*path, "shape", index), whole(point.get("utilization")) or 0, whole(point.get("score")) or 0


def strategies(configuration: SchedulerConfiguration) -> Iterator[FitStrategy]:
    """Yields the strategy of every profile in which NodeResourcesFit is built; elsewhere nobody reads it."""
    for profile in configuration.profiles:
        if not profile.is_needed(FIT):
            continue
        found = profile.arguments(FIT)
        path, arguments = found or (profile.path, {})
        value = arguments.get("scoringStrategy")
        where = (*path, "scoringStrategy") if isinstance(value, dict) else path
        yield FitStrategy(profile=profile, path=where, value=value if isinstance(value, dict) else None)


def counted_resources(policy: Policy | None, strategy: ScoringStrategy) -> tuple[str, ...]:
    """Returns the GPU resources: the policy's, else every extended resource of the strategy."""
    if policy is not None:
        return policy.resource_names
    return tuple(resource.name for resource in strategy.resources if is_extended(resource.name))


def gpus_per_node(policy: Policy | None, resource_name: str) -> int:
    """Returns the GPUs of the largest node that offers a resource; 8 where no policy says it."""
    types: Mapping[str, tuple[int, ...]] = {}
    if policy is not None:
        types = {name: tuple(t.gpus_per_node for t in found) for name, found in policy.types_by_resource.items()}
    return max(types.get(resource_name, ()), default=USUAL_GPUS)

"""A KubeSchedulerConfiguration as its rules see it: the document, the version that reads it, and the policy if any."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from gpupolicy.errors import FieldPath
from gpupolicy.linting.foreign.reading import Object, child
from gpupolicy.linting.foreign.scheduler.profiles import Profile, read_profiles
from gpupolicy.model import KUBERNETES_VERSIONS, Policy


@dataclass(frozen=True, kw_only=True)
class SchedulerConfiguration:
    """What a rule about scheduler configurations is given."""

    value: Object
    policy: Policy | None = None

    @cached_property
    def version(self) -> str:
        """The Kubernetes version whose kube-scheduler reads the file: the policy's, else the newest known."""
        return self.policy.kubernetes_version if self.policy else KUBERNETES_VERSIONS[-1]

    @cached_property
    def profiles(self) -> tuple[Profile, ...]:
        """The profiles after defaulting of their number and names."""
        return read_profiles(self.value, self.version)

    def at(self, *path: str) -> Any:
        """Returns what stands at a path, None where it does not."""
        return child(self.value, *path)

    def plugin_arguments(self, plugin: str) -> Iterator[tuple[Profile, FieldPath, Object]]:
        """Yields profile, place and value of a plugin's arguments in every profile that gives some."""
        for profile in self.profiles:
            if found := profile.arguments(plugin):
                yield profile, *found

    @cached_property
    def leads(self) -> bool:
        """Whether leader election is on, which is the default."""
        return self.at("leaderElection", "leaderElect") is not False

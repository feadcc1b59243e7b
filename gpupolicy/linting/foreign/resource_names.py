"""Resource names: which ones Kubernetes has itself, which are extended, and which look like a slip of a known one."""

from __future__ import annotations

from collections.abc import Iterable

from gpupolicy.labels import find_label_key_problem

NATIVE = ("cpu", "memory", "ephemeral-storage")  # what the scheduler scores beside extended resources
KNOWN_GPUS = (
    "nvidia.com/gpu",
    "amd.com/gpu",
    "aws.amazon.com/neuron",
    "aws.amazon.com/neuroncore",
    "google.com/tpu",
    "gpu.intel.com/i915",
    "gpu.intel.com/xe",
    "habana.ai/gaudi",
    "nvidia.com/gpu.shared",
)
QUOTA_PREFIX = "requests."
_DIFFERENT = 0.75  # names of one domain, or domains of one name, that are at least this much alike are a slip


def find_extended_name_problem(name: str) -> str | None:
    """Returns why a name is none of an extended resource, or None.

    Source: kubernetes pkg/apis/core/v1/helper, IsExtendedResourceName.
    """
    if problem := find_label_key_problem(name):
        return problem
    domain, slash, _ = name.partition("/")
    if not slash:
        return "has no domain before a slash"
    if "kubernetes.io/" in name:
        return "lies in a domain of Kubernetes itself"
    if domain.startswith(QUOTA_PREFIX) or find_label_key_problem(QUOTA_PREFIX + name):
        return "does not fit the names of resource quotas"
    return None


def is_extended(name: str) -> bool:
    """Returns whether a name may be that of an extended resource."""
    return find_extended_name_problem(name) is None


def find_misspelt(name: str, known: Iterable[str]) -> str | None:
    """Returns the first known resource name that a name seems to be a slip of, or None; a known name is none."""
    names = list(known)
    if name in names:
        return None
    folded = {candidate.casefold(): candidate for candidate in reversed(names)}
    if (same := folded.get(name.casefold())) is not None:
        return same
    return next((candidate for candidate in names if _is_slip(name, candidate)), None)


def _is_slip(name: str, known: str) -> bool:
    domain, slash, rest = name.rpartition("/")
    known_domain, known_slash, known_rest = known.rpartition("/")
    if slash != known_slash:
        return rest.casefold() == known_rest.casefold()
    if rest == known_rest:
        return _likeness(domain, known_domain) >= _DIFFERENT
    return domain == known_domain and _likeness(rest, known_rest) >= _DIFFERENT


def _likeness(one: str, other: str) -> float:
    from difflib import SequenceMatcher  # not needed where every name is known

    return SequenceMatcher(None, one, other).ratio()

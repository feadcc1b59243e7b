"""Policies as texts, one part changed, and what lint finds in them."""

from __future__ import annotations

from gpupolicy.linting import lint_text

TYPES = "{name: V100, gpusPerNode: 8}"
GROUPS = "{name: SLOT-ALL, sizes: [1, 2, 4, 8], nodes: [{gpuType: V100, weight: 1}]}"
EXEMPTIONS = "{namespaces: [kube-system], reason: parts of the cluster itself}"


def policy_text(
    *,
    types: str = TYPES,
    groups: str = GROUPS,
    labels: str = "{}",
    scheduler: str = "{}",
    sizes: str = "powerOfTwo",
    enforcement: str = "deny",
    exemptions: str = EXEMPTIONS,
    access: str = "",
    webhook: str = "{}",
) -> str:
    """A policy that lint finds nothing in, unless a part says otherwise; lists are given without their brackets."""
    return f"""apiVersion: gpupolicy.dev/v1alpha1
kind: GPUPolicy
metadata: {{name: example}}
spec:
  labels: {labels}
  gpuTypes: [{types}]
  slotGroups: [{groups}]
  scheduler: {scheduler}
  admission: {{requestSizes: {sizes}, enforcement: {enforcement}, exemptions: [{exemptions}], access: [{access}]}}
  webhook: {webhook}
"""


def group(name: str, sizes: str, *types: str, rest: str = "") -> str:
    """A slot group that has a share of the nodes of some types (V100 where none is given)."""
    claims = ", ".join(f"{{gpuType: {gpu_type}, weight: 1}}" for gpu_type in types or ("V100",))
    return f"{{name: {name}, sizes: [{sizes}], nodes: [{claims}]{rest}}}"


def profile(resources: str, name: str = "gpu-packing", **strategy: str) -> str:
    """The scheduler of a policy with one profile."""
    more = "".join(f", {key}: {value}" for key, value in strategy.items())
    return f"{{profiles: [{{schedulerName: {name}, scoringStrategy: {{resources: [{resources}]{more}}}}}]}}"


def found(**parts: str) -> list[tuple[str, str]]:
    """The rules that a policy breaks, and what is said."""
    return [(finding.rule, finding.message) for finding in lint_text(policy_text(**parts))]


def rules(**parts: str) -> list[str]:
    """The rules that a policy breaks."""
    return [rule for rule, _ in found(**parts)]


def hints(**parts: str) -> list[str | None]:
    """The hints that a policy gets."""
    return [finding.hint for finding in lint_text(policy_text(**parts))]

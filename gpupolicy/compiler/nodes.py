"""Target ``nodes``: our labels and taints on nodes, rules that find GPU types, and the guard against kubelets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

from gpupolicy.assignment import Plan, assign, labels_for, taints_for
from gpupolicy.compiler.manifest import Document, Manifest, Order
from gpupolicy.compiler.templating import fill
from gpupolicy.labels import LabelSelector, Requirement, is_kubelet_settable
from gpupolicy.model import KUBERNETES_VERSIONS, GPUType, Policy

_APPLY = "Holds only the policy's labels: kubectl apply --server-side --field-manager gpupolicy"
_FOLLOWS = "Its taint %s follows the label: nodes/taints-mutatingadmissionpolicy.yaml"
_BY_HAND = "Its taint is not in here: kubectl taint node %s %s --overwrite"
_NEEDS_NFD = "needs the NodeFeatureRule kind of Node Feature Discovery"
# What GPU Feature Discovery writes; nvidia.com/mig.config and gpu.present are put on the Node by others.
_DISCOVERED = re.compile(
    r"nvidia\.com/(gpu\.(product|count|memory|family|machine|replicas|sharing-strategy|compute\.\w+|mode|clique)"
    r"|cuda\.[\w.-]+|mig\.(capable|strategy)|mps\.capable|mig-[\w.]+)"
)
_FEATURE_FILE = (
    "Works where GPU Feature Discovery writes a feature file (--use-node-feature-api=false). Newer releases make",
    "NodeFeature objects unless told so, and no rule can see the labels in them: label nodes by compile --nodes then.",
)
_NFD_DOMAINS = ("feature.node.kubernetes.io", "profile.node.kubernetes.io")


def compile_nodes(order: Order) -> Iterator[Manifest]:
    """Yields the guard, the taints, a NodeFeatureRule where one can work, and one manifest a node of the given list."""
    policy = order.policy
    if is_guarded(policy):
        yield from _guard(policy)
    if policy.taints_by_group and _has_mutating_policies(policy):
        yield from _taints(policy)
    yield from _feature_rule(policy)
    if order.nodes is not None:
        yield from _node_labels(policy, assign(policy, order.nodes))


def is_guarded(policy: Policy) -> bool:
    """Returns whether a guard is compiled: it is wanted, and a kubelet could set the labels without it."""
    return policy.labels.guard and is_kubelet_settable(policy.labels.node_group)


def _node_labels(policy: Policy, plan: Plan) -> Iterator[Manifest]:
    """Server-side apply removes what we applied before and no longer list, so a manifest holds every label we want."""
    for node, (gpu_type, group) in plan.groups.items():
        document: Document = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": node, "labels": labels_for(policy, gpu_type, group)},
        }
        yield Manifest(document=document, path="nodes/nodes.yaml", remarks=tuple(_remarks(policy, node, group)))


def _remarks(policy: Policy, node: str, group: str | None) -> Iterator[str]:
    yield _APPLY
    if group is None:
        yield "No slot group claims this node."
    for taint in taints_for(policy, group):
        yield _FOLLOWS % taint if _has_mutating_policies(policy) else _BY_HAND % (node, taint)


def _has_mutating_policies(policy: Policy) -> bool:
    """Returns whether the cluster serves MutatingAdmissionPolicy in v1, which 1.36 is the first to do."""
    return KUBERNETES_VERSIONS.index(policy.kubernetes_version) >= KUBERNETES_VERSIONS.index("1.36")


def _taints(policy: Policy) -> Iterator[Manifest]:
    """A Node's manifest cannot hold them: the list is atomic, so applying it would remove the taints of others.

    Source: kubernetes/api core/v1 types.go, NodeSpec.taints, listType=atomic.
    """
    effects = ", ".join(f"'{name}': '{taint.effect}'" for name, taint in policy.taints_by_group.items())
    values = {
        "name": f"gpupolicy-{policy.name}-node-taints",
        "labels": _part_of(policy),
        "key": policy.labels.node_group,
        "effect": f"{{{effects}}}[?variables.group].orValue('')",
    }
    for document in fill("node-taints", values):
        yield Manifest(document=document, path=f"nodes/taints-{str(document['kind']).lower()}.yaml")


def _part_of(policy: Policy) -> dict[str, str]:
    return {"app.kubernetes.io/part-of": "gpupolicy", "app.kubernetes.io/instance": policy.name}


def _guard(policy: Policy) -> Iterator[Manifest]:
    labels = policy.labels
    keys = sorted((labels.gpu_type, labels.node_group, labels.gpu_support))
    listed = ", ".join(f"'{key}'" for key in keys)
    values = {
        "name": f"gpupolicy-{policy.name}-node-labels",
        "policy": policy.name,
        "labels": _part_of(policy),
        "changed": (
            f"[{listed}].filter(k, (k in variables.now) != (k in variables.before) || "
            "(k in variables.now && variables.now[k] != variables.before[k]))"
        ),
        "message": f"a kubelet may not set, change or remove {', '.join(keys)}",
    }
    for document in fill("node-label-guard", values):
        yield Manifest(document=document, path=f"nodes/guard-{str(document['kind']).lower()}.yaml")


def _feature_rule(policy: Policy) -> Iterator[Manifest]:
    """Only labels that GPU Feature Discovery writes to a feature file can be matched, and not every key may be set.

    A GPU's PCI identity could be matched everywhere, but it is the same with MIG or sharing on, so nodes would get a
    type that their selector excludes.

    Source: node-feature-discovery customization guide (local.label holds labels from feature files, not those of the
    Node or of a NodeFeature object; kubernetes.io and its subdomains are denied but for two).
    """
    rules = [_rule(policy, gpu_type) for gpu_type in policy.gpu_types if _is_discoverable(gpu_type)]
    if not rules or not _may_nfd_set(policy.labels.prefix):
        return
    yield Manifest(
        document={
            "apiVersion": "nfd.k8s-sigs.io/v1alpha1",
            "kind": "NodeFeatureRule",
            "metadata": {"name": f"gpupolicy-{policy.name}"},
            "spec": {"rules": rules},
        },
        path="nodes/nodefeaturerule.yaml",
        remarks=_FEATURE_FILE,
        kept_apart=_NEEDS_NFD,
    )


def _is_discoverable(gpu_type: GPUType) -> bool:
    selector = gpu_type.node_selector or LabelSelector()
    requirements = selector.to_requirements()
    return bool(requirements) and all(_DISCOVERED.fullmatch(requirement.key) for requirement in requirements)


def _may_nfd_set(prefix: str) -> bool:
    if any(prefix == domain or prefix.endswith(f".{domain}") for domain in _NFD_DOMAINS):
        return True
    return not (prefix == "kubernetes.io" or prefix.endswith(".kubernetes.io"))


def _rule(policy: Policy, gpu_type: GPUType) -> Document:
    selector = gpu_type.node_selector or LabelSelector()
    matches = [list(terms) for terms in product(*map(_alternatives, selector.to_requirements()))]
    matcher: Document = (
        {"matchFeatures": matches[0]}
        if len(matches) == 1
        else {"matchAny": [{"matchFeatures": terms} for terms in matches]}
    )
    return {"name": f"GPU type {gpu_type.name}", "labels": {policy.labels.gpu_type: gpu_type.name}, **matcher}


def _alternatives(requirement: Requirement) -> list[Document]:
    """Returns one term, or two for NotIn: in Kubernetes a missing label meets it, in a feature rule it does not."""
    terms = [_term(requirement.key, requirement.operator, requirement.values)]
    return [*terms, _term(requirement.key, "DoesNotExist", ())] if requirement.operator == "NotIn" else terms


def _term(key: str, operator: str, values: tuple[str, ...]) -> Document:
    expression: Document = {"op": operator, "value": list(values)} if values else {"op": operator}
    return {"feature": "local.label", "matchExpressions": {key: expression}}

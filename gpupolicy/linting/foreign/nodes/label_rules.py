"""Rules about the policy's labels on Nodes: names that there are not, contradictions, and who set them."""

from __future__ import annotations

from collections.abc import Iterator

from gpupolicy.errors import FieldPath, Finding, Part
from gpupolicy.labels import find_label_value_problem
from gpupolicy.linting.foreign.findings import did_you_mean, error, info, listed, show, warning
from gpupolicy.linting.foreign.metadata import LABELS
from gpupolicy.linting.foreign.nodes.inventory import NodeSubject
from gpupolicy.linting.foreign.reading import child, mapping, objects, text
from gpupolicy.model import GPUType, Policy


def node_type_unknown(node: NodeSubject) -> Iterator[Finding]:
    """A gpu-type label that names no GPU type of the policy.

    Why: pods are routed by the type's name, exactly; an alias or another spelling matches no pod.
    Bad:  my.gpu.cluster/gpu-type: v100
    Good: my.gpu.cluster/gpu-type: NVIDIA-V100-32GB
    Source: the policy, spec.gpuTypes.
    """
    policy, label = node.policy, node.type_label
    if policy is None or label is None or label in policy.types_by_name or find_label_value_problem(label):
        return
    known = policy.type_names.get(label)
    hint = f"write {known}, of which it is an alias" if known else did_you_mean(label, policy.types_by_name)
    types, cited = listed(sorted(policy.types_by_name)), policy.cite("spec", "gpuTypes")
    message = f"{node.title} has the GPU type {show(label)}; the policy knows {types} ({cited})"
    yield error("node-type-unknown", (*LABELS, policy.labels.gpu_type), message, hint)


def node_group_unknown(node: NodeSubject) -> Iterator[Finding]:
    """A node-group label that names no slot group of the policy.

    Why: no pod is routed there, so the node's GPUs stay idle.
    Bad:  my.gpu.cluster/node-group: SLOT4
    Good: my.gpu.cluster/node-group: SLOT-4
    Source: the policy, spec.slotGroups.
    """
    policy, label = node.policy, node.group_label
    if policy is None or label is None or label in policy.groups_by_name or find_label_value_problem(label):
        return
    groups = listed(sorted(policy.groups_by_name))
    cited = policy.cite("spec", "slotGroups")
    message = f"{node.title} is in the group {show(label)}; the policy knows {groups} ({cited})"
    hint = did_you_mean(label, policy.groups_by_name)
    yield error("node-group-unknown", (*LABELS, policy.labels.node_group), message, hint)


def node_group_lacks_type(node: NodeSubject) -> Iterator[Finding]:
    """A node in a group that has no nodes of its type.

    Why: the policy routes no pod of that type to the group.
    Bad:  gpu-type H100 and node-group SLOT-4, where SLOT-4 takes nodes of A100 alone
    Good: a group whose nodes name the type
    Source: the policy, spec.slotGroups[].nodes.
    """
    policy, gpu_type, group = node.policy, node.gpu_type, node.group
    if policy is None or gpu_type is None or group is None or group.serves(gpu_type.name):
        return
    cited = policy.cite("spec", "slotGroups", policy.slot_groups.index(group))
    message = f"{node.title} is in {group.name}, which takes no nodes of {gpu_type.name} ({cited})"
    yield warning("node-group-lacks-type", (*LABELS, policy.labels.node_group), message)


def node_half_labelled(node: NodeSubject) -> Iterator[Finding]:
    """A node with one of the labels gpu-type and node-group and not the other.

    Why: pods that wish for a type need both, so the node is passed over.
    Bad:  my.gpu.cluster/node-group: SLOT-4 alone
    Good: my.gpu.cluster/node-group: SLOT-4 with my.gpu.cluster/gpu-type: A100
    Source: the policy, spec.labels.
    """
    if node.policy is None or (node.type_label is None) == (node.group_label is None):
        return
    keys = node.policy.labels
    has, lacks = (keys.node_group, keys.gpu_type) if node.type_label is None else (keys.gpu_type, keys.node_group)
    yield warning("node-half-labelled", LABELS, f"{node.title} has the label {has}, but not {lacks}")


def node_support_label(node: NodeSubject) -> Iterator[Finding]:
    """A labelled node whose nvidia-gpu-support label does not say "true".

    Why: it is the third label of the policy, by which GPU nodes are told from the rest.
    Bad:  my.gpu.cluster/nvidia-gpu-support: "yes"
    Good: my.gpu.cluster/nvidia-gpu-support: "true"
    Source: the policy, spec.labels.
    """
    if node.policy is None or node.group_label is None:
        return
    key = node.policy.labels.gpu_support
    value = node.labels.get(key)
    if value is None:
        yield info("node-support-label", LABELS, f"{node.title} lacks the label {key}", 'write "true"')
    elif value != "true":
        message = f'{node.title} has {key} {show(value)}; "true" is expected'
        yield warning("node-support-label", (*LABELS, key), message)


def node_label_key_unknown(node: NodeSubject) -> Iterator[Finding]:
    """A label below the policy's prefix that the policy does not have.

    Why: nobody reads it; often it is a slip of one that is read.
    Bad:  my.gpu.cluster/gpu-typ: A100
    Good: my.gpu.cluster/gpu-type: A100
    Source: the policy, spec.labels.prefix.
    """
    if node.policy is None:
        return
    own = node.policy.labels
    known = (own.gpu_type, own.node_group, own.gpu_support)
    for key in node.labels:
        if key.startswith(f"{own.prefix}/") and key not in known:
            message = f"the policy has no label {key}"
            yield warning("node-label-key-unknown", (*LABELS, key), message, did_you_mean(key, known), part=Part.KEY)


def node_type_contradicts(node: NodeSubject) -> Iterator[Finding]:
    """A gpu-type label that the node's own labels contradict.

    Why: the policy recognises the type by other labels, which say something else: one of the two is wrong.
    Bad:  gpu-type H100 on a node with nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB
    Good: gpu-type A100 on a node with nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB
    Source: the policy, spec.gpuTypes[].nodeSelector.
    """
    policy, gpu_type = node.policy, node.gpu_type
    if policy is None or gpu_type is None:
        return
    for key, value in _contradictions(node, gpu_type):
        if _base_product(value) == value:
            message = f"{node.title} is labelled {gpu_type.name}, but its {key} is {value}"
            others = [other.name for other in node.matching_types()]
            hint = f"that is {listed(others)}" if others else None
            yield warning("node-type-contradicts", (*LABELS, policy.labels.gpu_type), message, hint)


def node_product_shared(node: NodeSubject) -> Iterator[Finding]:
    """A node whose product label says that its GPUs are shared or cut, where the policy expects whole ones.

    Why: the device plugin appends -SHARED or -MIG-... to the product, and its amounts then count shares.
    Bad:  nvidia.com/gpu.product: Tesla-V100-SXM2-32GB-SHARED on a node of a type of whole V100s
    Good: a GPU type of its own for shared or cut nodes
    Source: NVIDIA k8s-device-plugin, GPU feature discovery.
    """
    policy = node.policy
    for gpu_type in policy.gpu_types if policy else ():
        for key, value in _contradictions(node, gpu_type):
            base = _base_product(value)
            if base != value and _is_met_by(gpu_type, node, key, base):
                message = f"{key} of {node.title} is {value}: its {gpu_type.resource_name} count shares, not GPUs"
                hint = f"{gpu_type.name} means nodes with {base}"
                yield info("node-product-shared", (*LABELS, key), message, hint)


def _contradictions(node: NodeSubject, gpu_type: GPUType) -> Iterator[tuple[str, str]]:
    """The node's labels that the type's selector speaks of and does not take."""
    requirements = gpu_type.node_selector.to_requirements() if gpu_type.node_selector else ()
    for requirement in requirements:
        value = node.labels.get(requirement.key)
        if value is not None and not requirement.matches(node.labels):
            yield requirement.key, value


def _is_met_by(gpu_type: GPUType, node: NodeSubject, key: str, value: str) -> bool:
    selector = gpu_type.node_selector
    return selector is not None and selector.matches({**node.labels, key: value})


def _base_product(value: str) -> str:
    """A product without the endings of sharing and MIG."""
    return value.removesuffix("-SHARED").partition("-MIG-")[0]


def node_label_set_by_kubelet(node: NodeSubject) -> Iterator[Finding]:
    """A label of the policy that the node's kubelet has set.

    Why: a kubelet may set most labels on its own node, so a broken-in node can draw any pods to itself. managedFields
    say who wrote a label; the status subresource is a way for kubelets too.
    Bad:  managedFields: [{manager: kubelet, fieldsV1: {f:metadata: {f:labels: {f:my.gpu.cluster/node-group: {}}}}}]
    Good: labels set by an administrator, and a guard that keeps kubelets from changing them
    Source: kubernetes plugin/pkg/admission/noderestriction; measured on Kubernetes 1.37.2.
    """
    policy = node.policy
    if policy is None:
        return
    own = {policy.labels.gpu_type, policy.labels.node_group, policy.labels.gpu_support} & set(node.labels)
    for key in sorted(own):
        if writer := _kubelet_writer(node, key):
            path: FieldPath = (*LABELS, key)
            message = f"the label {key} was set by {writer}, not by an administrator"
            yield warning("node-label-set-by-kubelet", path, message, _guard_hint(policy))


def _kubelet_writer(node: NodeSubject, key: str) -> str | None:
    for _, entry in objects(child(node.value, "metadata", "managedFields")):
        labels = mapping(child(entry, "fieldsV1", "f:metadata", "f:labels"))
        if f"f:{key}" not in labels:
            continue
        if text(entry.get("manager")).startswith("kubelet"):
            return "the kubelet"
        if entry.get("subresource") == "status":
            return f"{text(entry.get('manager')) or 'somebody'} through nodes/status"
    return None


def _guard_hint(policy: Policy) -> str:
    guarded = policy.labels.guard
    return "apply the guard that gpupolicy compile writes" if guarded else "set spec.labels.guard to true"

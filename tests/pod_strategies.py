"""Pods for property tests: ones that the API server would take, ones of any shape, and the policies they meet."""

from __future__ import annotations

from builders import (
    GPU,
    GROUP,
    PREFERRED,
    REQUIRED,
    ROUTED_TO,
    TYPE,
    access,
    enforcing,
    exemption,
    gpu_type,
    group,
    policy,
)
from hypothesis import strategies as st

from gpupolicy.labels import LabelSelector, Requirement
from gpupolicy.model import Admission, Routing

SUPPORT = "my.gpu.cluster/nvidia-gpu-support"
PRODUCT = "nvidia.com/gpu.product"
CLASS = "deviceclass.resource.kubernetes.io/gpu.example.com"
MEMORY = "nvidia.com/gpu.memory"
SMALL_MEMORY = Requirement(key=MEMORY, operator="Lt", values=("20000",))
TYPES = (
    gpu_type("V100", aliases=("v100",), device_classes=("gpu.example.com",)),
    gpu_type("A100", node_selector=LabelSelector(match_labels={PRODUCT: "A100"})),
    gpu_type("T4", 4, request_sizes=(1, 2), node_selector=LabelSelector(match_expressions=(SMALL_MEMORY,))),
)
NAMES = tuple(t.name for t in TYPES)
LADDER = (
    group("SMALL", 1, 2, types=NAMES),
    group("MIDDLE", 4, types=NAMES, overflow=("SMALL",)),
    group("LARGE", 8, types=("V100", "A100"), overflow=("MIDDLE", "SMALL")),
)
STRICT = tuple(group(f"SLOT-{size}", size, types=NAMES) for size in (1, 2, 4, 8))
TAINTED = (
    group("SMALL", 1, 2, types=NAMES, taint="PreferNoSchedule"),
    group("MIDDLE", 4, types=NAMES, overflow=("SMALL",), taint="NoSchedule"),
    group("LARGE", 8, types=("V100", "A100"), overflow=("MIDDLE", "SMALL"), taint="NoExecute"),
)
TWINS = (group("A", 1, 2, 4, types=("V100",)), group("B", 4, 8, types=("A100", "V100"), overflow=("A",)))
LIMITED = (access("team-a", types=("V100", "T4"), groups=("SMALL", "LARGE")),)

POLICIES = {
    "strict": policy(*STRICT, types=TYPES),
    "overflow": policy(*LADDER, types=TYPES),
    "twins": policy(*TWINS, types=TYPES),
    "preferred": policy(*LADDER, types=TYPES, admission=Admission(routing=Routing.PREFERRED)),
    "tainted": policy(*TAINTED, types=TYPES),
    "tainted-preferred": policy(*TAINTED, types=TYPES, admission=Admission(routing=Routing.PREFERRED)),
    "off": policy(*LADDER, types=TYPES, admission=Admission(routing=Routing.OFF)),
    "access": policy(*LADDER, types=TYPES, admission=Admission(access=LIMITED)),
    "access-preferred": policy(*LADDER, types=TYPES, admission=Admission(access=LIMITED, routing=Routing.PREFERRED)),
    "access-off": policy(*LADDER, types=TYPES, admission=Admission(access=LIMITED, routing=Routing.OFF)),
    "warn": policy(*LADDER, types=TYPES, admission=enforcing("warn")),
    "audit": policy(*STRICT, types=TYPES, admission=enforcing("audit")),
    "exempt": policy(
        *STRICT, types=TYPES, admission=Admission(exemptions=(exemption("team-b", owner_kinds=("DaemonSet",)),))
    ),
}
BINDING = {name: found for name, found in POLICIES.items() if found.admission.routing is Routing.REQUIRED}

GROUP_NAMES = ("SMALL", "MIDDLE", "LARGE", "SLOT-1", "SLOT-2", "SLOT-4", "SLOT-8", "A", "B", "GONE")
TYPE_NAMES = ("V100", "v100", "A100", "T4", "H200")

policy_names = st.sampled_from(list(POLICIES))
binding_policy_names = st.sampled_from(list(BINDING))
amounts = st.sampled_from([None, 0, 1, 2, 2, 4, 4, 8, 8, 3, "4", "2000m", "8e0", "0.5", "-1", "x", 2**63 - 1, "1e30"])


@st.composite
def containers(draw, amounts=amounts, kinds=("limits", "requests", "both")):
    """A container with one or two resources."""
    names = draw(st.lists(st.sampled_from([GPU, GPU, GPU, CLASS, "cpu", "amd.com/gpu"]), max_size=2, unique=True))
    asked = {name: draw(amounts) for name in names}
    kind = draw(st.sampled_from(kinds))
    parts = {"limits": {"limits": asked}, "requests": {"requests": asked}, "both": {"limits": asked, "requests": asked}}
    return {"name": "c", "image": "example/train:1", "resources": parts[kind]}


@st.composite
def inits(draw, amounts=amounts):
    """An init container, often a sidecar."""
    restart = draw(st.sampled_from([{}, {"restartPolicy": "Always"}]))
    return {**draw(containers(amounts)), **restart}


@st.composite
def expressions(draw):
    """An expression on one of our labels or another one."""
    if draw(st.integers(0, 9)) == 0:
        compared = draw(st.sampled_from(["15000", "16000", "20000", "40Gi"]))
        return {"key": MEMORY, "operator": draw(st.sampled_from(["Gt", "Lt"])), "values": [compared]}
    key, values = draw(
        st.sampled_from(
            [
                (GROUP, GROUP_NAMES),
                (TYPE, TYPE_NAMES),
                (SUPPORT, ("true", "false")),
                (PRODUCT, ("A100", "V100")),
                ("zone", ("a", "b")),
            ]
        )
    )
    operator = draw(st.sampled_from(["In", "In", "In", "NotIn", "Exists", "DoesNotExist"]))
    chosen = draw(st.lists(st.sampled_from(values), min_size=1, max_size=3, unique=True))
    return {"key": key, "operator": operator, **({"values": chosen} if operator in ("In", "NotIn") else {})}


fields = st.just([{"key": "metadata.name", "operator": "In", "values": ["gpu-01"]}])


@st.composite
def terms(draw):
    """A node selector term: expressions, fields, both, or nothing."""
    term = {}
    if draw(st.booleans()):
        term["matchExpressions"] = draw(st.lists(expressions(), max_size=2))
    if draw(st.integers(0, 5)) == 0:
        term["matchFields"] = draw(fields)
    return term


preferred_terms = st.builds(
    lambda weight, found: {"weight": weight, "preference": {"matchExpressions": found}},
    st.sampled_from([1, 10, 50, 100]),
    st.lists(expressions(), min_size=1, max_size=2),
)


@st.composite
def affinities(draw):
    """An affinity in every shape that the API server hands on, null and empty ones too."""
    affinity = {}
    if draw(st.booleans()):
        affinity["podAntiAffinity"] = {PREFERRED: []}
    if draw(st.integers(0, 5)) == 0:
        return {**affinity, "nodeAffinity": draw(st.sampled_from([None, {}]))}
    node_affinity = {}
    if draw(st.booleans()):
        required = draw(st.lists(terms(), max_size=3) | st.none())
        node_affinity[REQUIRED] = draw(st.sampled_from([{"nodeSelectorTerms": required}] * 5 + [None, {}]))
    if draw(st.booleans()):
        node_affinity[PREFERRED] = draw(st.lists(preferred_terms, max_size=2) | st.none())
    return {**affinity, "nodeAffinity": node_affinity}


tolerations = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "key": st.sampled_from(["", GROUP, "nvidia.com/gpu"]),
            "operator": st.sampled_from(["", "Equal", "Exists", "Gt"]),
            "value": st.sampled_from(["", "SMALL", "MIDDLE", "LARGE"]),
            "effect": st.sampled_from(["", "NoSchedule", "NoExecute", "PreferNoSchedule"]),
            "tolerationSeconds": st.sampled_from([None, 0, 300]),
        },
    ),
    max_size=3,
)
notes = st.sampled_from(["SMALL", "SLOT-8", "MIDDLE>SMALL", "LARGE>MIDDLE>SMALL", "SMALL|V100", "|T4", ">", "x" * 300])
selectors = st.dictionaries(st.sampled_from([GROUP, TYPE, "zone"]), st.sampled_from(["a", *GROUP_NAMES, *TYPE_NAMES]))


@st.composite
def pods(draw, amounts=amounts, noted=True):
    """A pod as the API server may hand it on; ``noted``: it may carry a note of a route, true or forged."""
    metadata = {"name": "job-a", "namespace": "team-a"}
    if draw(st.booleans()):
        metadata["annotations"] = draw(st.sampled_from([None, {}, {"a": "b"}]))
    if noted and draw(st.integers(0, 3)) == 0:
        metadata["annotations"] = {ROUTED_TO: draw(notes)}
    if draw(st.integers(0, 9)) == 0:
        kind = draw(st.sampled_from(["DaemonSet", "Job"]))
        metadata["ownerReferences"] = [{"kind": kind, "controller": True}]
    spec = {"containers": draw(st.lists(containers(amounts), max_size=3))}
    optional = {
        "initContainers": st.lists(inits(amounts), max_size=2),
        "nodeSelector": selectors,
        "affinity": affinities() | st.none(),
        "schedulerName": st.sampled_from(["", "default-scheduler", "gpu-binpack", "volcano", "kai"]),
        "tolerations": st.none() | st.just([{"operator": "Exists"}]) | tolerations,
        "overhead": st.sampled_from([{}, {GPU: 1}, {"cpu": "1"}]),
        "nodeName": st.sampled_from(["", "", "", "gpu-01"]),
        "resources": st.sampled_from([{}, {"limits": {GPU: 1}}]),
    }
    for name in draw(st.lists(st.sampled_from(list(optional)), max_size=4, unique=True)):
        spec[name] = draw(optional[name])
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


@st.composite
def routable_pods(draw, noted=False):
    """A pod of an admitted size that no rule but those on placement can refuse."""
    asking = {"name": "c", "resources": {"limits": {GPU: draw(st.sampled_from([1, 2, "4", "8e0"]))}}}
    pod = draw(pods(noted=noted))
    others = {name: pod["spec"][name] for name in ("nodeSelector", "affinity", "schedulerName") if name in pod["spec"]}
    metadata = {key: value for key, value in pod["metadata"].items() if key != "ownerReferences"}
    return {**pod, "metadata": metadata, "spec": {"containers": [asking, {"name": "d"}], **others}}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def weird_pods(draw):
    """A pod with a part somewhere replaced by any JSON value."""
    document = draw(pods())
    value, parent, key = document, None, None
    while isinstance(value, (dict, list)) and value and draw(st.integers(0, 6)):
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        parent, key = value, draw(st.sampled_from(keys))
        value = parent[key]
    if parent is None:
        return draw(json_values)
    parent[key] = draw(json_values)
    return document

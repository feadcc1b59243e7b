"""Node labels, taints, the guard, and rules for Node Feature Discovery."""

from __future__ import annotations

from dataclasses import replace

import pytest
from builders import GROUP, TYPE, group, node, policy

from gpupolicy.compiler.manifest import Manifest, Order
from gpupolicy.compiler.nodes import compile_nodes, is_guarded
from gpupolicy.labels import LabelSelector, Requirement
from gpupolicy.model import GPUType, Labels, Policy

PRODUCT = "nvidia.com/gpu.product"


def found_by(*requirements: Requirement, prefix: str = "my.gpu.cluster", **labels: str) -> Policy:
    """A policy of one type with this selector."""
    selector = LabelSelector(
        match_labels={k.replace("__", "/"): v for k, v in labels.items()}, match_expressions=requirements
    )
    gpu_type = GPUType(name="V100", gpus_per_node=8, node_selector=selector)
    return replace(policy(types=(gpu_type,)), labels=Labels(prefix=prefix))


V100 = found_by(Requirement(key=PRODUCT, operator="In", values=("Tesla-V100",)))


def compiled(chosen: Policy, *nodes: dict[str, object]) -> list[Manifest]:
    return list(compile_nodes(Order(policy=chosen, nodes=nodes or None)))


def kinds(chosen: Policy) -> list[object]:
    return [manifest.document["kind"] for manifest in compiled(chosen)]


def test_a_node_manifest_holds_our_labels_and_nothing_else() -> None:
    (manifest,) = [
        m for m in compiled(policy(), node("n1", labels={TYPE: "V100", "other": "x"})) if m.path == "nodes/nodes.yaml"
    ]

    assert manifest.document == {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": "n1",
            "labels": {TYPE: "V100", "my.gpu.cluster/nvidia-gpu-support": "true", GROUP: "SLOT-1"},
        },
    }


def test_nodes_stand_in_one_file_by_name() -> None:
    nodes = [node(name, labels={TYPE: "V100"}) for name in ("n2", "n1")]

    names = [m.document["metadata"]["name"] for m in compiled(policy(), *nodes) if m.path == "nodes/nodes.yaml"]  # type: ignore[index]

    assert names == ["n1", "n2"]


def test_without_a_list_of_nodes_there_are_the_guard_and_the_rule() -> None:
    assert kinds(V100) == ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "NodeFeatureRule"]


@pytest.mark.parametrize(
    ("labels", "guarded"),
    [
        pytest.param(Labels(), True, id="own-domain"),
        pytest.param(Labels(guard=False), False, id="not-wanted"),
        pytest.param(Labels(prefix="a.node-restriction.kubernetes.io"), False, id="protected-by-kubernetes"),
        pytest.param(Labels(prefix="node.kubernetes.io"), True, id="kubernetes-domain-open-to-kubelets"),
    ],
)
def test_a_guard_is_compiled_where_it_is_wanted_and_needed(labels: Labels, guarded: bool) -> None:
    chosen = replace(policy(), labels=labels)

    assert is_guarded(chosen) is guarded
    assert ("ValidatingAdmissionPolicy" in kinds(chosen)) is guarded


def test_the_guard_watches_exactly_our_labels_on_nodes_and_their_status() -> None:
    spec = compiled(policy())[0].document["spec"]

    assert isinstance(spec, dict)
    (rule,) = spec["matchConstraints"]["resourceRules"]
    assert (rule["operations"], rule["resources"]) == (["CREATE", "UPDATE"], ["nodes", "nodes/status"])
    assert spec["variables"][2]["expression"] == (
        "['my.gpu.cluster/gpu-type', 'my.gpu.cluster/node-group', 'my.gpu.cluster/nvidia-gpu-support']"
        ".filter(k, (k in variables.now) != (k in variables.before) || "
        "(k in variables.now && variables.now[k] != variables.before[k]))"
    )


def rules(chosen: Policy) -> list[object]:
    (rule,) = [m for m in compiled(chosen) if m.document["kind"] == "NodeFeatureRule"]
    spec = rule.document["spec"]
    assert isinstance(spec, dict)
    return list(spec["rules"])


def term(key: str, **expression: object) -> dict[str, object]:
    return {"feature": "local.label", "matchExpressions": {key: expression}}


def test_a_type_found_by_its_product_label_gets_a_feature_rule() -> None:
    assert rules(V100) == [
        {
            "name": "GPU type V100",
            "labels": {TYPE: "V100"},
            "matchFeatures": [term(PRODUCT, op="In", value=["Tesla-V100"])],
        }
    ]


def test_every_requirement_is_a_term_of_its_own_so_that_one_key_may_stand_twice() -> None:
    memory = "nvidia.com/gpu.memory"
    twice = found_by(
        Requirement(key=memory, operator="Gt", values=("30000",)), Requirement(key=memory, operator="Exists")
    )

    assert rules(twice)[0]["matchFeatures"] == [term(memory, op="Gt", value=["30000"]), term(memory, op="Exists")]  # type: ignore[index]


def test_not_in_also_fits_where_the_label_is_missing_as_in_kubernetes() -> None:
    (rule,) = rules(found_by(Requirement(key="nvidia.com/mig.strategy", operator="NotIn", values=("single",))))

    assert rule["matchAny"] == [  # type: ignore[index]
        {"matchFeatures": [term("nvidia.com/mig.strategy", op="NotIn", value=["single"])]},
        {"matchFeatures": [term("nvidia.com/mig.strategy", op="DoesNotExist")]},
    ]


@pytest.mark.parametrize(
    "chosen",
    [
        pytest.param(found_by(), id="empty-selector"),
        pytest.param(found_by(**{"cloud.google.com__gke-accelerator": "nvidia-tesla-v100"}), id="cloud-label"),
        pytest.param(found_by(**{"nvidia.com__mig.config": "all-1g.5gb"}), id="label-that-no-feature-file-has"),
        pytest.param(found_by(**{"nvidia.com__gpu.product": "x", "rack": "r1"}), id="one-of-two"),
        pytest.param(
            found_by(prefix="a.node-restriction.kubernetes.io", **{"nvidia.com__gpu.product": "x"}),
            id="prefix-that-nfd-may-not-set",
        ),
    ],
)
def test_where_a_feature_rule_could_not_work_there_is_none(chosen: Policy) -> None:
    assert "NodeFeatureRule" not in kinds(chosen)


def test_a_feature_rule_may_set_labels_in_nfds_own_domain() -> None:
    own = found_by(prefix="gpu.feature.node.kubernetes.io", **{"nvidia.com__gpu.product": "x"})

    assert "NodeFeatureRule" in kinds(own)


TAINTED = policy(group("SMALL", 1, types=("A100",)), group("LARGE", 8, types=("V100",), taint="NoSchedule"))
OLDER = replace(TAINTED, kubernetes_version="1.35")
TAINT_KINDS = ["MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"]


def test_a_policy_with_a_taint_compiles_what_lets_it_follow_the_label() -> None:
    made, binding = [m for m in compiled(TAINTED) if m.document["kind"] in TAINT_KINDS]

    spec = made.document["spec"]
    assert isinstance(spec, dict)
    assert (made.path, binding.path) == (
        "nodes/taints-mutatingadmissionpolicy.yaml",
        "nodes/taints-mutatingadmissionpolicybinding.yaml",
    )
    assert spec["variables"][1] == {
        "name": "effect",
        "expression": "{'LARGE': 'NoSchedule'}[?variables.group].orValue('')",
    }


@pytest.mark.parametrize(
    "chosen", [pytest.param(policy(), id="no-taint"), pytest.param(OLDER, id="kubernetes-that-has-no-such-kind")]
)
def test_else_no_mutating_policy_is_compiled(chosen: Policy) -> None:
    assert set(kinds(chosen)).isdisjoint(TAINT_KINDS)


@pytest.mark.parametrize(
    ("chosen", "remarks"),
    [
        pytest.param(
            TAINTED,
            [f"Its taint {GROUP}=LARGE:NoSchedule follows the label: nodes/taints-mutatingadmissionpolicy.yaml"],
            id="by-itself",
        ),
        pytest.param(
            OLDER,
            [f"Its taint is not in here: kubectl taint node n1 {GROUP}=LARGE:NoSchedule --overwrite"],
            id="by-hand",
        ),
    ],
)
def test_the_manifest_of_a_node_says_how_it_gets_its_taint(chosen: Policy, remarks: list[str]) -> None:
    nodes = (node("n1", labels={TYPE: "V100"}), node("n2", labels={TYPE: "A100"}))

    first, second = [m for m in compiled(chosen, *nodes) if m.path == "nodes/nodes.yaml"]

    assert "spec" not in first.document
    assert (list(first.remarks[1:]), list(second.remarks[1:])) == (remarks, [])

"""How a decision comes about."""

from __future__ import annotations

import json
from typing import Any

from builders import GPU, container, group, pod, policy
from claim_builders import CLASS_NAME, claim, claimable, claiming

from gpupolicy.admission.claims import index_claims
from gpupolicy.errors import format_field
from gpupolicy.loading.documents import read_documents
from gpupolicy.manifests.explanation import Explanation, explain_object
from gpupolicy.manifests.judgement import Surroundings
from gpupolicy.manifests.objects import read_content
from gpupolicy.model import Policy

POLICY = policy()
ALONE = Surroundings()


def explain(obj: dict[str, Any], by: Policy = POLICY, around: Surroundings = ALONE) -> Explanation:
    (document,) = read_documents(json.dumps(obj), "m.json")
    (explanation,) = explain_object(by, read_content(document).objects[0], around)
    return explanation


def test_each_container_has_its_share_and_its_role() -> None:
    init = (container(2, name="prepare"), container(1, name="side", restartPolicy="Always"))

    shares = explain(pod(2, init=init)).shares

    assert [(share.name, share.role, share.gpus) for share in shares] == [
        ("prepare", "init container", {GPU: 2}),
        ("side", "sidecar", {GPU: 1}),
        (shares[2].name, "container", {GPU: 2}),
    ]


def test_the_overhead_has_its_share_and_comes_on_top() -> None:
    init = (container(4, name="prepare"),)
    explanation = explain(pod(2, init=init, runtimeClassName="kata", overhead={"cpu": 1, GPU: 4}))
    share = explanation.shares[-1]

    assert (share.name, share.role, format_field(share.field), share.gpus) == (
        "kata",
        "overhead",
        "spec.overhead",
        {GPU: 4},
    )
    assert str(explanation.counting).endswith("the larger phase counts, and the overhead on top")


def test_claims_of_an_object_inside_of_another_one_are_those_of_its_own_namespace() -> None:
    inner = {**claiming("train", None), "apiVersion": "v1", "kind": "Pod"}
    outer = {"apiVersion": "kubernetes.crossplane.io/v1", "kind": "Object", "spec": {"manifest": inner}}
    around = Surroundings(claims=index_claims([claim(2, namespace=inner["metadata"]["namespace"])], "default"))
    explanation = explain(outer, claimable(), around)

    assert [(share.role, share.gpus) for share in explanation.shares if share.gpus] == [
        ("resource claim", {CLASS_NAME: 2})
    ]


def test_an_amount_below_none_is_no_share() -> None:
    assert explain(pod(-2)).shares[0].gpus == {}


def test_a_share_has_the_field_of_the_workload() -> None:
    job = {"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": {"spec": pod(2)["spec"]}}}

    assert format_field(explain(job).shares[0].field) == "spec.template.spec.containers[0]"


def test_the_policy_s_statements_are_named_with_their_place() -> None:
    assert [(source.about, source.text) for source in explain(pod(4)).sources] == [
        ("size", "admitted are 1, 2, 4, 8"),
        ("slot group", "SLOT-4 serves 4"),
        ("scheduler", "gpu-binpack scores by MostAllocated (nvidia.com/gpu 100)"),
    ]


def test_overflow_is_told_from_a_pod_s_own_group() -> None:
    overflowing = policy(group("SLOT-8", 8, overflow=("SLOT-SMALL",)), group("SLOT-SMALL", 1, 2, 4))

    sources = explain(pod(8), overflowing).sources

    assert [source.text for source in sources if source.about == "slot group"] == [
        "SLOT-8 serves 8",
        "SLOT-SMALL takes what overflows, and serves 1, 2, 4",
    ]


def test_a_denied_pod_has_no_statement_but_a_cause_for_each_rule() -> None:
    explanation = explain(pod(3))

    assert (explanation.sources, dict(explanation.causes)) == ((), {"request-size-not-admitted": "policy"})


def test_an_object_without_pods_has_only_its_entry() -> None:
    explanation = explain({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}})

    assert explanation == Explanation(entry=explanation.entry)

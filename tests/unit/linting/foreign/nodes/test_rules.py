"""Nodes beside a policy: labels, slots, and who wrote them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from builders import gpu_type, group, policy
from foreign_builders import GPU, findings_of, gpu_node, messages_of, rules_of

from gpupolicy.labels import LabelSelector
from gpupolicy.linting.foreign.nodes import lint_node
from gpupolicy.model import Labels

PRODUCT = "nvidia.com/gpu.product"
A100 = gpu_type("A100", node_selector=LabelSelector(match_labels={PRODUCT: "A100-SXM4"}))
H100 = gpu_type("H100", node_selector=LabelSelector(match_labels={PRODUCT: "H100-HBM3"}))
POLICY = policy(
    group("SLOT-SMALL", 1, 2, 4, types=("A100",)), group("SLOT-8", 8, types=("A100", "H100")), types=(A100, H100)
)
PREFIX = "my.gpu.cluster"


def labelled(gpu_type: str | None = "A100", group: str | None = "SLOT-8", **more: str) -> dict[str, str]:
    """Labels of the policy; None leaves one out."""
    own = {f"{PREFIX}/gpu-type": gpu_type, f"{PREFIX}/node-group": group, f"{PREFIX}/nvidia-gpu-support": "true"}
    return {key: value for key, value in {**own, **more}.items() if value is not None}


def test_a_node_as_the_policy_wants_it_is_left_alone() -> None:
    assert list(lint_node(gpu_node(labels=labelled(**{PRODUCT: "A100-SXM4"})), POLICY)) == []


def test_without_a_policy_labels_mean_nothing() -> None:
    assert list(lint_node(gpu_node(labels={f"{PREFIX}/node-group": "no-such"}, usable="0"))) == []


@pytest.mark.parametrize(
    ("group", "usable", "messages"),
    [
        pytest.param("SLOT-8", "8", [], id="whole"),
        pytest.param(
            "SLOT-8",
            "7",
            [f"gpu-01 offers 0 slots of 8, not 1: 7 of 8 {GPU} are allocatable"],
            id="one-of-eight-broken",
        ),
        pytest.param(
            "SLOT-SMALL",
            "6",
            [
                f"gpu-01 offers 6 slots of 1, not 8: 6 of 8 {GPU} are allocatable",
                f"gpu-01 offers 3 slots of 2, not 4: 6 of 8 {GPU} are allocatable",
                f"gpu-01 offers 1 slots of 4, not 2: 6 of 8 {GPU} are allocatable",
            ],
            id="each-size-of-the-group",
        ),
        pytest.param("SLOT-8", "0", [], id="none-is-another-rule"),
    ],
)
def test_lost_slots_are_counted_by_allocatable(group: str, usable: str, messages: list[str]) -> None:
    assert messages_of(gpu_node(labels=labelled(group=group), usable=usable), "node-slots-lost", POLICY) == messages


def test_a_node_that_never_had_the_gpus_of_its_type_offers_no_slot() -> None:
    found = messages_of(gpu_node(labels=labelled(), capacity="4", usable="4"), "node-slots-lost", POLICY)

    assert found == [f"gpu-01 offers 0 slots of 8, not 1: 4 of 8 {GPU} are allocatable"]


@pytest.mark.parametrize("amount", ["0", 0, None])
def test_a_node_in_a_group_needs_gpus(amount: object) -> None:
    (message,) = messages_of(gpu_node(labels=labelled(), usable=amount), "node-without-gpus", POLICY)

    assert message == f"gpu-01 is in SLOT-8, but has no {GPU} allocatable"


def test_an_absent_amount_means_none() -> None:
    value = gpu_node(labels=labelled())
    del value["status"]["allocatable"][GPU]

    (finding,) = [f for f in findings_of(value, POLICY) if f.rule == "node-without-gpus"]

    assert finding.field == ("status", "allocatable")


def test_gpus_of_a_dra_driver_are_not_missed() -> None:
    devices = replace(POLICY, gpu_types=(replace(A100, device_classes=("gpu.example.com",)), H100))

    assert messages_of(gpu_node(labels=labelled(), usable="0"), "node-without-gpus", devices) == []


@pytest.mark.parametrize(
    ("labels", "rules"),
    [
        pytest.param(labelled("B200"), ["error node-type-unknown"], id="type"),
        pytest.param(labelled(group="SLOT8"), ["error node-group-unknown"], id="group"),
        pytest.param(labelled("H100", "SLOT-SMALL"), ["warning node-group-lacks-type"], id="type-of-another-group"),
        pytest.param(labelled(None), ["warning node-half-labelled"], id="group-alone"),
        pytest.param(labelled(group=None), ["warning node-half-labelled"], id="type-alone"),
        pytest.param(labelled(**{f"{PREFIX}/gpu-typ": "A100"}), ["warning node-label-key-unknown"], id="slip-in-a-key"),
        pytest.param(labelled(**{PRODUCT: "H100-HBM3"}), ["warning node-type-contradicts"], id="other-product"),
        pytest.param(labelled(group="SLOT-2,SLOT-4"), ["error node-label-refused"], id="two-groups"),
        pytest.param(labelled("Tesla V100"), ["error node-label-refused"], id="blank"),
    ],
)
def test_labels_that_do_not_fit_the_policy_are_told(labels: dict[str, str], rules: list[str]) -> None:
    assert rules_of(gpu_node(labels=labels), POLICY) == rules


def test_an_alias_is_no_label() -> None:
    aliased = replace(POLICY, gpu_types=(replace(A100, aliases=("ampere",)), H100))

    (finding,) = findings_of(gpu_node(labels=labelled("ampere")), aliased)

    assert finding.hint == "write A100, of which it is an alias"


def test_a_label_that_is_no_text_has_the_wrong_type() -> None:
    value = gpu_node()
    value["metadata"]["labels"] = {f"{PREFIX}/gpus": 8}

    assert rules_of(value) == ["error foreign-type-wrong"]


TAINTED = policy(
    group("SLOT-SMALL", 1, 2, 4, types=("A100",)),
    group("SLOT-8", 8, types=("A100", "H100"), taint="NoSchedule"),
    types=(A100, H100),
)


def tainted(*taints: dict[str, str], group: str | None = "SLOT-8", **parts: Any) -> dict[str, Any]:
    return gpu_node(labels=labelled(group=group), **parts) | {"spec": {"taints": list(taints)}}


def own(value: str = "SLOT-8", effect: str = "NoSchedule") -> dict[str, str]:
    return {"key": f"{PREFIX}/node-group", "value": value, "effect": effect}


@pytest.mark.parametrize(
    ("value", "rules"),
    [
        pytest.param(tainted(own()), [], id="as-wanted"),
        pytest.param(tainted(), ["warning node-taint-absent"], id="absent"),
        pytest.param(tainted({"key": "other", "effect": "NoSchedule"}, own()), [], id="others-are-left-alone"),
        pytest.param(tainted(own("SLOT-4")), ["warning node-taint-unexpected"], id="of-another-group"),
        pytest.param(
            tainted(own(effect="NoExecute")),
            ["warning node-taint-absent", "warning node-taint-unexpected"],
            id="of-another-effect",
        ),
        pytest.param(
            tainted(own("SLOT-SMALL"), group="SLOT-SMALL"), ["warning node-taint-unexpected"], id="of-a-group-without"
        ),
        pytest.param({**tainted(), "status": None}, ["warning node-status-missing"], id="a-manifest-holds-none"),
    ],
)
def test_the_taint_of_the_group_is_expected(value: dict[str, Any], rules: list[str]) -> None:
    assert rules_of(value, TAINTED) == rules


@pytest.mark.parametrize(
    ("product", "found"),
    [
        pytest.param("A100-SXM4-SHARED", ["info node-product-shared"], id="shared"),
        pytest.param("A100-SXM4-MIG-1g.5gb", ["info node-product-shared"], id="mig"),
        pytest.param("A100-SXM4", [], id="whole"),
    ],
)
def test_shares_of_a_gpu_are_no_gpus(product: str, found: list[str]) -> None:
    value = gpu_node(labels=labelled(**{PRODUCT: product}))

    assert [f"{f.severity} {f.rule}" for f in lint_node(value, POLICY)] == found


@pytest.mark.parametrize(
    ("entry", "writers"),
    [
        pytest.param({"manager": "kubelet"}, ["the kubelet"], id="kubelet"),
        pytest.param({"manager": "curl", "subresource": "status"}, ["curl through nodes/status"], id="status"),
        pytest.param({"manager": "gpupolicy"}, [], id="administrator"),
    ],
)
def test_a_label_that_a_kubelet_wrote_is_told(entry: dict[str, str], writers: list[str]) -> None:
    value: dict[str, Any] = gpu_node(labels=labelled())
    fields = {"f:metadata": {"f:labels": {f"f:{PREFIX}/node-group": {}}}}
    value["metadata"]["managedFields"] = [{**entry, "fieldsV1": fields}]

    assert messages_of(value, "node-label-set-by-kubelet", POLICY) == [
        f"the label {PREFIX}/node-group was set by {writer}, not by an administrator" for writer in writers
    ]


def test_a_policy_without_a_guard_is_told_to_have_one() -> None:
    value: dict[str, Any] = gpu_node(labels=labelled())
    fields = {"f:metadata": {"f:labels": {f"f:{PREFIX}/node-group": {}}}}
    value["metadata"]["managedFields"] = [{"manager": "kubelet", "fieldsV1": fields}]

    (finding,) = findings_of(value, replace(POLICY, labels=Labels(guard=False)))

    assert finding.hint == "set spec.labels.guard to true"


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        pytest.param(
            {PRODUCT: "A100-SXM4"}, "gpu-01 is a node of A100 and has none of the policy's labels", id="known-product"
        ),
        pytest.param({}, f"gpu-01 offers {GPU}, and no GPU type of the policy fits it", id="unknown-product"),
    ],
)
def test_a_gpu_node_without_labels_is_worth_knowing(labels: dict[str, str], message: str) -> None:
    (finding,) = lint_node(gpu_node(labels=labels), POLICY)

    assert (finding.severity, finding.message) == ("info", message)


def test_a_node_without_gpus_and_labels_is_nobodys_business() -> None:
    assert list(lint_node(gpu_node(labels={}, capacity="0", usable="0"), POLICY)) == []


@pytest.mark.parametrize("amount", [8, "8", "8000m", "8.0"])
def test_an_amount_may_be_written_as_the_api_server_takes_it(amount: object) -> None:
    assert rules_of(gpu_node(labels=labelled(), capacity=amount, usable=amount), POLICY) == []

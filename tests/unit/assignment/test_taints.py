"""The taints of a plan: our key alone, and nobody else's."""

from __future__ import annotations

import pytest
from builders import GROUP, TYPE, group, node, policy

from gpupolicy.assignment import Change, assign, taints_for
from gpupolicy.model import Policy, Taint

LABELS = {TYPE: "V100", "my.gpu.cluster/nvidia-gpu-support": "true", GROUP: "LARGE"}
TAINTED = policy(group("LARGE", 8, taint="NoSchedule"))
PLAIN = policy(group("LARGE", 8))
OURS = {"key": GROUP, "value": "LARGE", "effect": "NoSchedule"}
WANTED = Taint(key=GROUP, value="LARGE", effect="NoSchedule")


def changes(chosen: Policy, *taints: object, **labels: str) -> tuple[Change, ...]:
    """The changes for a node of the group LARGE that has these taints."""
    return assign(chosen, [{**node("n1", labels={**LABELS, **labels}), "spec": {"taints": list(taints)}}]).changes


def test_a_node_without_the_taint_of_its_group_gets_it() -> None:
    assert changes(TAINTED) == (
        Change(node="n1", set_taints=(WANTED,), reason="slot group LARGE has a taint of effect NoSchedule (policy)"),
    )


def test_a_node_that_is_tainted_right_is_not_changed() -> None:
    assert changes(TAINTED, OURS) == ()


def test_the_taint_is_gone_with_the_policys() -> None:
    assert changes(PLAIN, OURS) == (
        Change(node="n1", remove_taints=(WANTED,), reason="slot group LARGE has no taint (policy)"),
    )


def test_another_value_of_the_same_effect_is_replaced_not_removed() -> None:
    (change,) = changes(TAINTED, {**OURS, "value": "SMALL"})

    assert (change.set_taints, change.remove_taints) == ((WANTED,), ())


def test_another_effect_of_our_key_is_removed() -> None:
    (change,) = changes(TAINTED, OURS, {**OURS, "effect": "NoExecute"})

    assert (change.set_taints, change.remove_taints) == (
        (),
        (Taint(key=GROUP, value="LARGE", effect="NoExecute"),),
    )


@pytest.mark.parametrize("chosen", [pytest.param(PLAIN, id="no-taint"), pytest.param(TAINTED, id="taint")])
def test_taints_of_others_are_never_touched(chosen: Policy) -> None:
    foreign = ({"key": "nvidia.com/gpu", "effect": "NoSchedule"}, {"key": "x", "value": "LARGE", "effect": "NoExecute"})

    found = [taint for change in changes(chosen, *foreign) for taint in (*change.set_taints, *change.remove_taints)]

    assert {taint.key for taint in found} <= {GROUP}


def test_labels_and_taint_of_a_new_node_have_one_reason_each() -> None:
    (change,) = assign(TAINTED, [node("n1", labels={TYPE: "V100"})]).changes

    assert change.reason == (
        "slot group LARGE has a share of 1 of 1 nodes (weight 1 of 1) (policy); "
        "slot group LARGE has a taint of effect NoSchedule (policy)"
    )


def test_a_node_that_nobody_claims_loses_the_taint_for_that_reason() -> None:
    nobody = policy(group("LARGE", 8, types=("A100",), taint="NoSchedule"))

    (change,) = changes(nobody, OURS)

    assert (change.remove, change.remove_taints, change.reason) == ((GROUP,), (WANTED,), "no slot group claims it")


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param({"key": GROUP, "effect": "NoSchedule"}, id="no-value"),
        pytest.param({"key": GROUP, "value": 8, "effect": None}, id="other-types"),
        pytest.param("LARGE", id="no-mapping"),
    ],
)
def test_a_taint_of_another_shape_is_not_the_one_that_is_wanted(odd: object) -> None:
    (change,) = changes(TAINTED, odd)

    assert change.set_taints == (WANTED,)


@pytest.mark.parametrize(
    ("name", "taints"),
    [
        pytest.param("LARGE", (WANTED,), id="tainted"),
        pytest.param("GONE", (), id="unknown"),
        pytest.param(None, (), id="no-group"),
    ],
)
def test_the_taints_of_a_group(name: str | None, taints: tuple[Taint, ...]) -> None:
    assert taints_for(TAINTED, name) == taints

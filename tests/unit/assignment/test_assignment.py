"""Which node goes to which slot group, and what is said about it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from builders import GROUP, TYPE, node, policy

from gpupolicy.assignment import Change, Plan, Skipped, assign, labels_for, largest_remainder
from gpupolicy.errors import UsageError
from gpupolicy.labels import LabelSelector, Requirement
from gpupolicy.model import GPUType, NodeClaim, Policy, SlotGroup

SUPPORT = "my.gpu.cluster/nvidia-gpu-support"
PRODUCT = "nvidia.com/gpu.product"
V100 = GPUType(
    name="V100", gpus_per_node=8, aliases=("v100",), node_selector=LabelSelector(match_labels={PRODUCT: "Tesla-V100"})
)


def claim(**fields: object) -> NodeClaim:
    """A claim on V100 nodes."""
    return NodeClaim(gpu_type="V100", **fields)  # type: ignore[arg-type]


def groups(**claims: NodeClaim) -> Policy:
    """A policy of one type with a slot group for each keyword."""
    return policy(*(SlotGroup(name=n, sizes=(8,), nodes=(c,)) for n, c in claims.items()), types=(V100,))


def v100(*names: str, group: str | None = None, labels: Mapping[str, str] | None = None) -> list[dict[str, object]]:
    """V100 nodes, labelled as the policy wants them where a group is given."""
    placed = {TYPE: "V100", SUPPORT: "true", GROUP: group} if group else {}
    return [node(name, labels={PRODUCT: "Tesla-V100", **placed, **(labels or {})}) for name in names]


def placed(plan: Plan) -> dict[str, str | None]:
    """Node -> slot group."""
    return {name: group for name, (_, group) in plan.groups.items()}


def test_a_new_node_gets_all_labels_and_both_reasons() -> None:
    plan = assign(groups(S8=claim(names=("gpu-*",))), v100("gpu-1"))

    assert plan.changes == (
        Change(
            node="gpu-1",
            set={TYPE: "V100", SUPPORT: "true", GROUP: "S8"},
            reason="GPU type V100 selects it (policy); slot group S8 names it (policy)",
        ),
    )
    assert plan.groups == {"gpu-1": ("V100", "S8")}


def test_a_node_that_is_labelled_right_is_not_changed() -> None:
    assert assign(groups(S8=claim(weight=1)), v100("gpu-1", group="S8")).changes == ()


def test_a_change_of_group_alone_gives_the_groups_reason_alone() -> None:
    plan = assign(groups(S8=claim(names=("gpu-*",)), S4=claim(weight=1)), v100("gpu-1", group="S4"))

    assert plan.changes == (Change(node="gpu-1", set={GROUP: "S8"}, reason="slot group S8 names it (policy)"),)


def test_a_missing_support_label_is_set_with_the_types_reason() -> None:
    half = node("gpu-1", labels={PRODUCT: "Tesla-V100", TYPE: "V100", GROUP: "S8"})

    (change,) = assign(groups(S8=claim(weight=1)), [half]).changes

    assert (change.set, change.reason) == ({SUPPORT: "true"}, "GPU type V100 selects it (policy)")


def test_a_node_that_no_claim_takes_loses_its_group_label() -> None:
    plan = assign(groups(S8=claim(count=0)), v100("gpu-1", group="S8"))

    assert plan.changes == (Change(node="gpu-1", remove=(GROUP,), reason="no slot group claims it"),)
    assert placed(plan) == {"gpu-1": None}


def test_names_go_before_selectors_and_these_before_counts_and_weights() -> None:
    order = groups(
        W=claim(weight=1),
        C=claim(count=1),
        S=claim(node_selector=LabelSelector(match_expressions=(Requirement(key="rack", operator="Exists"),))),
        N=claim(names=("gpu-1",)),
    )

    plan = assign(order, v100("gpu-1", "gpu-2", labels={"rack": "r1"}) + v100("gpu-3", "gpu-4"))

    assert placed(plan) == {"gpu-1": "N", "gpu-2": "S", "gpu-3": "C", "gpu-4": "W"}


def test_the_first_group_that_names_a_node_has_it() -> None:
    assert placed(assign(groups(A=claim(names=("gpu-*",)), B=claim(names=("gpu-1",))), v100("gpu-1"))) == {"gpu-1": "A"}


def test_names_and_a_selector_in_one_claim_must_both_fit() -> None:
    rack = LabelSelector(match_labels={"rack": "r1"})
    both = groups(A=claim(names=("gpu-*",), node_selector=rack), B=claim(weight=1))

    assert placed(assign(both, v100("gpu-1", labels={"rack": "r1"}) + v100("gpu-2"))) == {"gpu-1": "A", "gpu-2": "B"}


def test_a_count_limits_what_names_claim() -> None:
    plan = assign(groups(A=claim(names=("gpu-*",), count=1), B=claim(weight=1)), v100("gpu-1", "gpu-2"))

    assert placed(plan) == {"gpu-1": "A", "gpu-2": "B"}


def test_weights_share_what_is_left_by_largest_remainder() -> None:
    plan = assign(groups(A=claim(weight=3), B=claim(weight=1)), v100("n1", "n2", "n3", "n4", "n5"))

    assert placed(plan) == {"n1": "A", "n2": "A", "n3": "A", "n4": "A", "n5": "B"}
    assert plan.changes[4].reason.endswith("slot group B has a share of 1 of 5 nodes (weight 1 of 4) (policy)")


def test_a_node_keeps_its_group_while_the_share_allows() -> None:
    nodes = v100("n1", group="B") + v100("n2", "n3", "n4")

    assert placed(assign(groups(A=claim(weight=3), B=claim(weight=1)), nodes)) == {
        "n1": "B",
        "n2": "A",
        "n3": "A",
        "n4": "A",
    }


def test_the_emptiest_nodes_move_first() -> None:
    nodes = v100("n1", "n2", "n3", "n4", group="A")

    plan = assign(groups(A=claim(weight=1), B=claim(weight=1)), nodes, used={"n1": 8, "n2": 0, "n3": 4, "n4": 1})

    assert placed(plan) == {"n1": "A", "n2": "B", "n3": "A", "n4": "B"}
    assert [change.node for change in plan.changes] == ["n2", "n4"]


def test_equally_full_nodes_stay_in_the_order_of_their_names() -> None:
    plan = assign(groups(A=claim(weight=1), B=claim(weight=1)), v100("n2", "n1", group="A"))

    assert placed(plan) == {"n1": "A", "n2": "B"}


def test_a_count_takes_nodes_without_a_group_before_those_of_others() -> None:
    nodes = v100("n1", group="A") + v100("n2")

    assert placed(assign(groups(C=claim(count=1), A=claim(weight=1)), nodes)) == {"n1": "A", "n2": "C"}


def test_a_count_that_must_take_from_others_takes_the_emptiest() -> None:
    plan = assign(groups(C=claim(count=1), A=claim(weight=1)), v100("n1", "n2", group="A"), used={"n1": 3})

    assert placed(plan) == {"n1": "A", "n2": "C"}
    assert plan.changes[0].reason == "slot group C takes 1 node of GPU type V100 (policy)"


def test_a_label_of_a_group_that_is_gone_counts_as_none() -> None:
    nodes = v100("n1", group="A") + v100("n2", group="GONE")

    assert placed(assign(groups(C=claim(count=1), A=claim(weight=1)), nodes)) == {"n1": "A", "n2": "C"}


def test_each_gpu_type_is_divided_on_its_own() -> None:
    both = policy(
        SlotGroup(name="A", sizes=(8,), nodes=(claim(weight=1), NodeClaim(gpu_type="A100", weight=1))),
        SlotGroup(name="B", sizes=(4,), nodes=(claim(weight=1),)),
        types=(V100, GPUType(name="A100", gpus_per_node=8)),
    )
    nodes = [*v100("n1", "n2"), node("n3", labels={TYPE: "A100"}), node("n4", labels={TYPE: "A100"})]

    assert assign(both, nodes).groups == {
        "n1": ("V100", "A"),
        "n2": ("V100", "B"),
        "n3": ("A100", "A"),
        "n4": ("A100", "A"),
    }


def test_an_alias_in_the_type_label_is_replaced_by_the_name() -> None:
    (change,) = assign(groups(A=claim(weight=1)), [node("n1", labels={TYPE: "v100"})]).changes

    assert change.set == {TYPE: "V100", SUPPORT: "true", GROUP: "A"}
    assert change.reason == (
        "its label my.gpu.cluster/gpu-type names GPU type V100; "
        "slot group A has a share of 1 of 1 nodes (weight 1 of 1) (policy)"
    )


def test_a_selector_goes_before_the_type_label() -> None:
    two = policy(types=(V100, GPUType(name="A100", gpus_per_node=8)))

    assert assign(two, v100("n1", labels={TYPE: "A100"})).groups["n1"][0] == "V100"


TWINS = policy(types=(V100, GPUType(name="A100", gpus_per_node=8, node_selector=V100.node_selector)))


def test_a_node_that_two_types_select_is_skipped() -> None:
    assert assign(TWINS, v100("n1")).skipped == (
        Skipped(node="n1", reason="its labels fit several GPU types: V100, A100"),
    )


def test_the_type_label_decides_between_two_types_that_select_a_node() -> None:
    assert assign(TWINS, v100("n1", labels={TYPE: "A100"})).groups["n1"][0] == "A100"


@pytest.mark.parametrize("gpus", [pytest.param("0", id="zero"), pytest.param(None, id="absent")])
def test_a_node_without_gpus_is_skipped_and_says_why(gpus: object) -> None:
    (bare,) = v100("n1")
    bare["status"] = {"allocatable": {} if gpus is None else {"nvidia.com/gpu": gpus}}

    plan = assign(groups(A=claim(weight=1)), [bare])

    assert plan == Plan(skipped=(Skipped(node="n1", reason="offers no nvidia.com/gpu (status.allocatable)"),))


def test_a_node_whose_amount_of_gpus_is_none_is_left_alone_and_says_why() -> None:
    (bare,) = v100("n1")
    bare["status"] = {"allocatable": {"nvidia.com/gpu": "8Gi"}}

    (skipped,) = assign(groups(A=claim(weight=1)), [bare]).skipped

    assert skipped.reason == "status.allocatable of nvidia.com/gpu is 8Gi, and no node has more than 1024"


def test_a_type_with_device_classes_does_not_need_allocatable() -> None:
    """GPUs behind a DRA driver stand in ResourceSlices, not in the Node."""
    dra = GPUType(name="V100", gpus_per_node=8, device_classes=("gpu.example.com",))
    bare = {"metadata": {"name": "n1", "labels": {TYPE: "V100"}}}

    assert placed(assign(policy(SlotGroup(name="A", sizes=(8,), nodes=(claim(weight=1),)), types=(dra,)), [bare])) == {
        "n1": "A"
    }


def test_a_node_of_no_type_is_left_out() -> None:
    assert assign(groups(A=claim(weight=1)), [node("cpu-1", gpus=0)]) == Plan()


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        pytest.param([{"metadata": {}}], "a node has no metadata.name", id="no-name"),
        pytest.param(v100("n1", "n1"), "node n1 is listed twice", id="twice"),
    ],
)
def test_a_list_that_cannot_be_trusted_is_refused(nodes: list[dict[str, object]], message: str) -> None:
    with pytest.raises(UsageError, match=f"^{message}$"):
        assign(groups(A=claim(weight=1)), nodes)


@pytest.mark.parametrize(
    ("total", "weights", "shares"),
    [
        pytest.param(10, (3, 1), (8, 2), id="equal-remainders-go-to-the-first"),
        pytest.param(7, (1, 1, 1), (3, 2, 2), id="thirds"),
        pytest.param(5, (0, 1), (0, 5), id="weight-0"),
        pytest.param(5, (0, 0), (0, 0), id="no-weight-at-all"),
        pytest.param(1, (1, 99), (0, 1), id="the-largest-remainder-wins"),
    ],
)
def test_shares_by_largest_remainder(total: int, weights: tuple[int, ...], shares: tuple[int, ...]) -> None:
    assert largest_remainder(total, weights) == shares


def test_a_node_without_a_group_still_has_its_type() -> None:
    assert labels_for(groups(A=claim(weight=1)), "V100", None) == {TYPE: "V100", SUPPORT: "true"}


def test_a_node_whose_gpus_are_gone_for_the_moment_keeps_its_place() -> None:
    """The device plugin starts anew: allocatable is 0 for a minute, and nobody is to move because of that."""
    governing = groups(SMALL=claim(weight=3), LARGE=claim(weight=1))
    nodes = [*v100("a", "b", "c", group="SMALL"), *v100("d", group="LARGE")]
    nodes[3]["status"]["allocatable"]["nvidia.com/gpu"] = "0"  # type: ignore[index]

    plan = assign(governing, nodes)

    assert plan.changes == ()
    assert placed(plan) == {"a": "SMALL", "b": "SMALL", "c": "SMALL"}
    assert [skipped.node for skipped in plan.skipped] == ["d"]


def test_a_node_without_gpus_is_the_last_to_leave_a_group_that_shrinks() -> None:
    """It cannot be moved now, so its place would be lost to one group and empty in the other."""
    governing = groups(SMALL=claim(weight=1), LARGE=claim(weight=1))
    nodes = v100("a", "b", "c", "d", group="SMALL")
    nodes[0]["status"]["allocatable"]["nvidia.com/gpu"] = "0"  # type: ignore[index]

    plan = assign(governing, nodes, used={"b": 8})

    assert placed(plan) == {"b": "SMALL", "c": "LARGE", "d": "LARGE"}


def test_a_node_without_gpus_that_is_in_no_group_takes_no_place() -> None:
    governing = groups(SMALL=claim(weight=1), LARGE=claim(weight=1))
    nodes = v100("a", "b", "c")
    nodes[0]["status"]["allocatable"]["nvidia.com/gpu"] = "0"  # type: ignore[index]

    assert placed(assign(governing, nodes)) == {"b": "SMALL", "c": "LARGE"}


def test_a_group_takes_its_own_then_those_of_nobody_then_the_emptiest_of_others() -> None:
    governing = groups(A=claim(count=4), B=claim(weight=1))
    nodes = [*v100("own", group="A"), *v100("loose-full", "loose-empty"), *v100("b-empty", "b-full", group="B")]

    plan = assign(governing, nodes, used={"own": 8, "loose-full": 8, "b-full": 4})

    assert [name for name, group in placed(plan).items() if group == "B"] == ["b-full"]


SMALL = SlotGroup(name="SMALL", sizes=(1, 2, 4), nodes=(claim(weight=3),))
LARGE = SlotGroup(name="LARGE", sizes=(8,), nodes=(claim(weight=1),))


@pytest.mark.parametrize("both", [(SMALL, LARGE), (LARGE, SMALL)], ids=["small-first", "large-first"])
def test_nodes_without_a_group_go_where_their_pods_may_stay_and_the_reserve_gets_an_idle_one(
    both: tuple[SlotGroup, ...],
) -> None:
    plan = assign(policy(*both, types=(V100,)), v100("a", "b", "c", "d"), running={"b": [1], "c": [2], "d": [4, 2]})

    assert placed(plan) == {"a": "LARGE", "b": "SMALL", "c": "SMALL", "d": "SMALL"}


def test_a_node_with_a_large_pod_goes_to_the_group_that_serves_it() -> None:
    plan = assign(policy(SMALL, LARGE, types=(V100,)), v100("a", "b", "c", "d"), running={"a": [8]})

    assert placed(plan) == {"a": "LARGE", "b": "SMALL", "c": "SMALL", "d": "SMALL"}


def v100_with(gpus: int, name: str, group: str | None = None) -> dict[str, object]:
    """A V100 node that offers so many GPUs."""
    (made,) = v100(name, group=group)
    made["status"]["allocatable"]["nvidia.com/gpu"] = str(gpus)  # type: ignore[index]
    return made


@pytest.mark.parametrize("broken", ["a", "d"])
@pytest.mark.parametrize("both", [(SMALL, LARGE), (LARGE, SMALL)], ids=["small-first", "large-first"])
def test_a_node_that_lost_a_gpu_goes_to_a_group_that_still_has_slots_on_it(
    both: tuple[SlotGroup, ...], broken: str
) -> None:
    nodes = [v100_with(7 if name == broken else 8, name) for name in "abcd"]

    assert placed(assign(policy(*both, types=(V100,)), nodes))[broken] == "SMALL"


def test_a_group_takes_a_node_of_others_before_one_that_has_no_slot_of_it() -> None:
    """A count of one 8-GPU node is not met by a node with 7."""
    counted = SlotGroup(name="LARGE", sizes=(8,), nodes=(claim(count=1),))
    nodes = [v100_with(7, "a"), *v100("b", group="SMALL")]

    assert placed(assign(policy(SMALL, counted, types=(V100,)), nodes)) == {"a": "SMALL", "b": "LARGE"}


def test_a_node_keeps_its_group_when_it_loses_a_gpu() -> None:
    nodes = [*v100("a", "b", "c", group="SMALL"), v100_with(7, "d", group="LARGE")]

    assert assign(policy(SMALL, LARGE, types=(V100,)), nodes).changes == ()


def test_a_group_that_shrinks_keeps_the_nodes_on_which_it_has_slots() -> None:
    nodes = [v100_with(7, "a", group="LARGE"), *v100("b", "c", "d", group="LARGE")]

    plan = assign(policy(SMALL, LARGE, types=(V100,)), nodes)

    assert [name for name, group in placed(plan).items() if group == "LARGE"] == ["b"]


def test_of_equal_nodes_of_others_a_group_takes_the_one_that_is_of_no_use_to_them() -> None:
    counted = SlotGroup(name="SMALL", sizes=(1, 2, 4), nodes=(claim(count=1),))
    nodes = [*v100("a", group="LARGE"), v100_with(7, "b", group="LARGE")]

    assert placed(assign(policy(counted, LARGE, types=(V100,)), nodes)) == {"a": "LARGE", "b": "SMALL"}


def test_a_pod_of_a_size_that_no_group_serves_keeps_its_node_from_no_group() -> None:
    """Where it is or goes makes no difference to it; the pods beside it stay."""
    running = {"a": [3, 1], "b": [3, 2, 1], "c": [8]}

    plan = assign(policy(SMALL, LARGE, types=(V100,)), v100(*"abcdefgh"), running=running)

    assert [name for name, group in placed(plan).items() if group == "LARGE"] == ["c", "h"]

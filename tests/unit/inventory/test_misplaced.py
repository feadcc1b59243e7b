"""GPU pods on nodes where the policy would not put them."""

from __future__ import annotations

import pytest
from builders import GPU, access, exemption, gpu_type, group, node, owned, policy
from fleet_builders import running, seated

from gpupolicy.assignment import assign
from gpupolicy.inventory.misplaced import Misplacement, find_misplaced
from gpupolicy.inventory.seats import read_seats
from gpupolicy.inventory.usage import read_usage
from gpupolicy.model import Admission, NodeClaim, Policy, Routing, SlotGroup

POLICY = policy()
NODES = [seated("one", "SLOT-1"), seated("four", "SLOT-4"), seated("loose", None), seated("odd", "SLOT-9")]
OTHERS = [node("cpu", gpus=0), seated("foreign", None, gpu_type=None)]
SEATS = read_seats(POLICY, [*NODES, *OTHERS])


def judged(*pods: dict[str, object], policy: Policy = POLICY) -> list[tuple[str, str]]:
    """The name of each misplaced pod, and why."""
    found = find_misplaced(policy, SEATS, read_usage(policy, pods))
    return [(each.pod.name, str(each.reason)) for each in found]


def test_pods_in_the_group_of_their_size_are_at_home() -> None:
    assert judged(running("a", 1, "one"), running("b", 4, "four")) == []


@pytest.mark.parametrize(
    ("pod", "reason", "message"),
    [
        pytest.param(
            running("a", 1, "four"), "other-group", "four is in SLOT-4; requests for 1 GPU go to SLOT-1", id="group"
        ),
        pytest.param(
            running("a", 4, "loose"),
            "no-group",
            "loose is in no slot group; requests for 4 GPUs go to SLOT-4",
            id="no-group",
        ),
        pytest.param(
            running("a", 4, "odd"),
            "no-group",
            "odd is in no slot group; requests for 4 GPUs go to SLOT-4",
            id="unknown",
        ),
        pytest.param(running("a", 3, "four"), "not-served", "requests for 3 GPUs are not admitted", id="size"),
        pytest.param(running("a", 4, "foreign"), "no-type", "foreign is of no GPU type of the policy", id="no-type"),
    ],
)
def test_a_misplaced_pod_says_why(pod: dict[str, object], reason: str, message: str) -> None:
    (found,) = find_misplaced(POLICY, SEATS, read_usage(POLICY, [pod]))

    assert (str(found.reason), found.message) == (reason, message)


def test_pods_on_nodes_that_nobody_knows_are_passed_over() -> None:
    assert judged(running("a", 1, "gone")) == []


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(running("a", 1, "four", namespace="kube-system"), id="exempt"),
        pytest.param(owned(running("a", 1, "four"), "DaemonSet"), id="daemon"),
        pytest.param(owned(running("a", 3, "four"), "DaemonSet"), id="daemon-of-no-admitted-size"),
        pytest.param(
            running("a", 1, "four", metadata={"annotations": {"kubernetes.io/config.mirror": "x"}}), id="mirror"
        ),
    ],
)
def test_pods_that_are_not_routed_are_never_misplaced(pod: dict[str, object]) -> None:
    assert judged(pod) == []


def test_overflow_is_a_home_too() -> None:
    small = policy(group("SLOT-1", 1, overflow=("SLOT-4",)), group("SLOT-4", 4))

    assert judged(running("a", 1, "four"), policy=small) == []


def test_a_type_that_does_not_have_the_resource_is_the_wrong_one() -> None:
    mixed = policy(
        SlotGroup(name="SLOT-1", sizes=(1,), nodes=(NodeClaim(gpu_type="A100", weight=1),)),
        types=(gpu_type("V100", resource_name="example.com/other"), gpu_type("A100", resource_name=GPU)),
    )

    assert judged(running("a", 1, "one"), policy=mixed) == [("a", "other-type")]


def test_two_resources_that_no_type_has_together_have_no_home() -> None:
    mixed = policy(types=(gpu_type("V100"), gpu_type("A100", resource_name="nvidia.com/mig-1g.5gb")))
    pod = running("a", 1, "one")
    pod["spec"]["containers"].append({"name": "d", "resources": {"limits": {"nvidia.com/mig-1g.5gb": 1}}})

    (found,) = find_misplaced(mixed, SEATS, read_usage(mixed, [pod]))

    assert found.message == "no GPU type has nvidia.com/gpu and nvidia.com/mig-1g.5gb together"


def test_access_decides_as_at_admission() -> None:
    fenced = policy(admission=Admission(access=(access("team-a", groups=("SLOT-4",)),)))
    pods = (running("a", 1, "one"), running("b", 4, "four"), running("c", 4, "four", namespace="team-b"))

    found = find_misplaced(fenced, SEATS, read_usage(fenced, pods))

    assert [each.message for each in found] == [
        "no slot group that its namespace may use serves requests for 1 GPU",
        "namespace team-b may use no GPU type",
    ]


def test_preferred_routing_leaves_pods_where_they_are() -> None:
    lenient = policy(admission=Admission(routing=Routing.PREFERRED, exemptions=(exemption("kube-system"),)))

    assert judged(running("a", 1, "four"), running("b", 1, "loose"), policy=lenient) == []


def test_a_plan_says_who_would_be_misplaced() -> None:
    plan = assign(POLICY, [seated(f"n{i}", "SLOT-8") for i in range(4)])
    usage = read_usage(POLICY, [running("a", 8, "n0"), running("b", 8, "n3")])

    found = find_misplaced(POLICY, plan.groups, usage)

    homes = {name: group for name, (_, group) in plan.groups.items()}
    assert {each.pod.node for each in found} == {name for name in ("n0", "n3") if homes[name] != "SLOT-8"}
    assert {each.reason for each in found} <= {Misplacement.OTHER_GROUP}


def test_a_node_in_a_group_that_does_not_claim_its_type_is_no_wrong_place_where_admission_sends_pods_there() -> None:
    """Admission asks for the group alone; to delete the pod would bring it back to the same node."""
    v100_only = policy(
        SlotGroup(name="SLOT-1", sizes=(1,), nodes=(NodeClaim(gpu_type="V100", weight=1),)),
        types=(gpu_type("V100"), gpu_type("A100")),
    )
    a100 = read_seats(v100_only, [seated("one", "SLOT-1", gpu_type="A100")])

    assert find_misplaced(v100_only, a100, read_usage(v100_only, [running("a", 1, "one")])) == ()

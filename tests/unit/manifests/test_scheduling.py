"""What the scheduler will do, in words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from builders import GPU, GROUP, TYPE, group, pod, policy, profile

from gpupolicy.admission import admit
from gpupolicy.manifests.scheduling import tell_scheduling
from gpupolicy.model import (
    Admission,
    Policy,
    Profile,
    ResourceWeight,
    Routing,
    Scheduler,
    SchedulerMode,
    ScoringStrategy,
    ShapePoint,
    StrategyType,
)
from gpupolicy.workloads import PodTemplate

WHO = "the control plane's scheduler places it by its profile gpu-binpack"
PACKS = f"of those it takes the fullest, so that whole nodes stay free (by weight: {GPU} 100)"
WAITS = "where none has room the pod waits, whatever room there is in other groups"


def told(by: Policy, document: dict[str, Any], owner: str | None = None) -> tuple[str, ...]:
    template = PodTemplate(pod=document, path=("spec",), owner_kind=owner)
    return tell_scheduling(by, template, admit(by, document))


def test_a_routed_pod_has_its_group_its_choice_and_its_end() -> None:
    assert told(policy(), pod(2)) == (
        WHO,
        f"it looks only at nodes of SLOT-2 (V100 or A100) with 2 {GPU} free",
        PACKS,
        WAITS,
    )


def test_overflow_is_told_in_its_order() -> None:
    by = policy(group("BIG", 8, overflow=("A", "B")), group("A", 1), group("B", 2, 4))

    assert told(by, pod(8))[1:3] == (
        f"it looks only at nodes of BIG and A and B (V100 or A100) with 8 {GPU} free",
        "first at those of BIG; where none has room, at those of A, then at those of B",
    )


@pytest.mark.parametrize(
    ("routing", "wish", "where"),
    [
        pytest.param(
            Routing.REQUIRED,
            {GROUP: "A"},
            (f"it looks only at nodes of A (V100 or A100) with 8 {GPU} free", PACKS),
            id="one-group",
        ),
        pytest.param(
            Routing.REQUIRED,
            {TYPE: "V100"},
            (
                f"it looks only at nodes of A and B (V100) with 8 {GPU} free",
                "first at those of A; where none has room, at those of B",
            ),
            id="two-groups",
        ),
        pytest.param(
            Routing.PREFERRED,
            {TYPE: "V100"},
            (
                f"it prefers nodes of A with 8 {GPU} free, and takes others where these are full",
                "first at those of A; where none has room, at those of B",
            ),
            id="preferred",
        ),
    ],
)
def test_a_wish_that_leaves_overflow_alone_begins_there(
    routing: Routing, wish: dict[str, str], where: tuple[str, ...]
) -> None:
    groups = (group("BIG", 8, types=("A100",), overflow=("A", "B")), group("A", 1), group("B", 2, 4))
    by = policy(*groups, admission=Admission(routing=routing))

    assert told(by, pod(8, nodeSelector=wish))[1:3] == where


def test_groups_of_one_size_are_equal() -> None:
    assert told(policy(group("A", 1, 2), group("B", 2)), pod(2))[2] == "A and B are equal to it"


@pytest.mark.parametrize(
    ("routing", "where", "end"),
    [
        pytest.param(
            Routing.PREFERRED,
            f"it prefers nodes of SLOT-2 with 2 {GPU} free, and takes others where these are full",
            "where no node has room the pod waits",
            id="preferred",
        ),
        pytest.param(
            Routing.OFF,
            f"it looks at every node of V100 or A100 with 2 {GPU} free",
            "where no node has room the pod waits",
            id="off",
        ),
    ],
)
def test_without_a_required_routing_other_nodes_come_into_question(routing: Routing, where: str, end: str) -> None:
    lines = told(policy(admission=Admission(routing=routing)), pod(2))

    assert (lines[1], lines[-1]) == (where, end)


def strategy(kind: StrategyType, *shape: ShapePoint) -> Profile:
    weights = (ResourceWeight(name=GPU, weight=9),)
    return replace(profile("p"), scoring_strategy=ScoringStrategy(type=kind, resources=weights, shape=shape))


@pytest.mark.parametrize(
    ("chosen", "choice"),
    [
        pytest.param(
            strategy(StrategyType.LEAST_ALLOCATED),
            f"of those it takes the emptiest, which spreads pods (by weight: {GPU} 9)",
            id="spreads",
        ),
        pytest.param(
            strategy(
                StrategyType.REQUESTED_TO_CAPACITY_RATIO,
                ShapePoint(utilization=0, score=0),
                ShapePoint(utilization=100, score=10),
            ),
            f"of those it takes the one whose use scores highest: 0 % scores 0, 100 % scores 10 (by weight: {GPU} 9)",
            id="shape",
        ),
    ],
)
def test_the_choice_is_that_of_the_profile(chosen: Profile, choice: str) -> None:
    assert choice in told(policy(scheduler=Scheduler(profiles=(chosen,))), pod(2))


@pytest.mark.parametrize(
    ("scheduler", "spec", "who"),
    [
        pytest.param(
            Scheduler(profiles=(profile("p"),), mode=SchedulerMode.SECOND),
            {},
            "a second scheduler places it by its profile p",
            id="second",
        ),
        pytest.param(
            Scheduler(other_schedulers=("volcano",)),
            {"schedulerName": "volcano"},
            "volcano places it by rules of its own, which this policy does not know",
            id="foreign",
        ),
        pytest.param(
            Scheduler(),
            {},
            "default-scheduler places it; without a profile that packs it spreads pods over nodes",
            id="default",
        ),
    ],
)
def test_who_places_the_pod_is_told_first(scheduler: Scheduler, spec: dict[str, Any], who: str) -> None:
    assert told(policy(scheduler=scheduler), pod(2, **spec))[0] == who


@pytest.mark.parametrize(
    ("owner", "line"),
    [
        pytest.param(None, "nothing, because no pod is made", id="bare"),
        pytest.param(
            "ReplicaSet",
            "nothing, because no pod is made; what makes it tries again, and only events say why",
            id="of-a-workload",
        ),
    ],
)
def test_a_denied_pod_is_never_seen_by_a_scheduler(owner: str | None, line: str) -> None:
    assert told(policy(), pod(3), owner) == (line,)


def test_a_pod_without_gpus_has_no_story() -> None:
    assert told(policy(), pod()) == ()


def test_an_exempt_pod_goes_where_it_says_itself() -> None:
    lines = told(policy(), {**pod(3), "metadata": {"name": "x", "namespace": "kube-system"}})

    assert lines == ("goes by what the pod itself says; this policy sends it nowhere",)


def test_a_named_node_leaves_the_scheduler_nothing_to_do() -> None:
    document = {**pod(3, nodeName="gpu-7"), "metadata": {"namespace": "kube-system"}}

    assert told(policy(), document) == ("nothing: spec.nodeName sends the pod to gpu-7, whether it has room or not",)


TAINT = "my.gpu.cluster/node-group=BIG:NoSchedule"
TAINTED = policy(group("BIG", 8, taint="NoSchedule", overflow=("SMALL",)), group("SMALL", 1))


def test_the_tolerations_that_admission_adds_are_told() -> None:
    assert told(TAINTED, pod(8))[3] == f"a toleration that admission adds lets it onto nodes with the taint {TAINT}"


def test_a_toleration_that_the_pod_has_is_its_own() -> None:
    document = pod(8, tolerations=[{"key": "my.gpu.cluster/node-group", "operator": "Exists"}])

    assert told(TAINTED, document)[3] == f"its own toleration lets it onto nodes with the taint {TAINT}"


def test_groups_without_a_taint_need_no_toleration() -> None:
    assert not any("taint" in line for line in told(TAINTED, pod(1)))


def test_without_routing_no_toleration_is_added() -> None:
    by = replace(TAINTED, admission=Admission(routing=Routing.OFF))

    assert not any("taint" in line for line in told(by, pod(8)))

"""Carrying out a plan: what is done, what is left, and what is known when it is cut off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from builders import GROUP, TYPE, gpu_type, group, node, owned, pod, policy
from fake_node_api import FakeNodeApi, budget_refusal, live_node

from gpupolicy.cluster.applying import ApplyOptions, apply_plan
from gpupolicy.cluster.errors import ConnectionFailedError, ForbiddenError
from gpupolicy.cluster.eviction import Clock
from gpupolicy.cluster.progress import Listener, Outcome, Progress
from gpupolicy.inventory.usage import read_usage
from gpupolicy.labels import LabelSelector
from gpupolicy.model import TaintEffect
from gpupolicy.rollout.ownership import label_owners
from gpupolicy.rollout.plan import NodePlan
from gpupolicy.rollout.planning import plan_nodes
from gpupolicy.rollout.state import CORDONED_BY

PRODUCT = {"product": "V100"}
V100 = gpu_type("V100", node_selector=LabelSelector(match_labels=PRODUCT))
SMALL = group("SMALL", 1, 2, 4, types=("V100",))
LARGE = group("LARGE", 8, types=("V100",))
POLICY = policy(SMALL, LARGE, types=(V100,))


class FakeTime:
    """A clock that goes on only while somebody sleeps."""

    def __init__(self, on_sleep: Callable[[], None] = lambda: None) -> None:
        self.now = 0.0
        self._on_sleep = on_sleep

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self._on_sleep()

    def clock(self) -> Clock:
        return Clock(now=lambda: self.now, sleep=self.sleep)


def fleet(count: int, **labels: str) -> list[dict]:
    return [live_node(f"n{number}", {**PRODUCT, **labels}) for number in range(1, count + 1)]


def on(name: str, pod_name: str, gpus: int) -> dict:
    """A pod of a Job that runs on a node."""
    made = owned(pod(gpus, nodeName=name), "Job")
    return {**made, "metadata": {**made["metadata"], "name": pod_name}}  # type: ignore[dict-item]


def usage_of(pods: object) -> object:
    return read_usage(POLICY, pods, now=datetime(2026, 1, 1, tzinfo=UTC))  # type: ignore[arg-type]


def planned(api: FakeNodeApi, used: object = POLICY) -> NodePlan:
    return plan_nodes(used, api.nodes.values(), usage_of(api.pods.values()))  # type: ignore[arg-type]


def carry_out(
    api: FakeNodeApi,
    plan: NodePlan,
    *,
    used: object = POLICY,
    notes: list[str] | None = None,
    time: FakeTime | None = None,
    **options: object,
) -> Progress:
    progress = Progress()
    apply_plan(
        api,
        used,  # type: ignore[arg-type]
        plan,
        ApplyOptions(**options),  # type: ignore[arg-type]
        progress=progress,
        ready_before=frozenset(api.nodes),
        read_pods=usage_of,  # type: ignore[arg-type]
        listener=Listener(on_note=(notes if notes is not None else []).append),
        clock=(time or FakeTime()).clock(),
    )
    return progress


def outcomes(progress: Progress) -> dict[str, str]:
    return {result.node: str(result.outcome) for result in progress.results}


def groups(api: FakeNodeApi) -> dict[str, str | None]:
    return {name: api.labels(name).get(GROUP) for name in api.nodes}


def test_every_node_gets_its_labels_and_foreign_ones_stay() -> None:
    api = FakeNodeApi(*fleet(2, rack="r1"))

    progress = carry_out(api, planned(api))

    assert outcomes(progress) == {"n1": "done", "n2": "done"}
    assert groups(api) == {"n1": "SMALL", "n2": "LARGE"}
    assert api.labels("n1")["rack"] == "r1"
    assert progress.stopped is None


def test_labels_are_applied_under_our_field_manager() -> None:
    api = FakeNodeApi(*fleet(1))

    carry_out(api, planned(api))

    (owner,) = label_owners(api.nodes["n1"], GROUP)
    assert (owner.manager, owner.operation) == ("gpupolicy", "Apply")


def test_after_an_apply_nothing_is_left_to_plan() -> None:
    api = FakeNodeApi(*fleet(4))

    carry_out(api, planned(api))

    assert planned(api).is_empty


def test_a_dry_run_asks_for_every_change_and_keeps_none() -> None:
    api = FakeNodeApi(*fleet(2))

    progress = carry_out(api, planned(api), dry_run=True)

    assert outcomes(progress) == {"n1": "done", "n2": "done"}
    assert groups(api) == {"n1": None, "n2": None}


def test_a_heartbeat_between_reading_and_writing_does_not_matter() -> None:
    api = FakeNodeApi(*fleet(1))
    beats = iter(["n1"])
    plan = planned(api)
    api.before = lambda method, path: [api.touch(name) for name in beats] and None if method == "PATCH" else None

    assert outcomes(carry_out(api, plan)) == {"n1": "done"}


def test_a_node_that_changed_since_the_plan_is_left_and_the_change_is_told_with_its_author() -> None:
    api = FakeNodeApi(*fleet(2))
    plan = planned(api)
    api.label("n1", TYPE, "A100", manager="somebody")

    progress = carry_out(api, plan)

    assert outcomes(progress) == {"n1": "left", "n2": "done"}
    assert progress.results[0].told == (
        f"it has changed since the plan was made: label {TYPE} was absent and is A100 "
        "(by somebody at 2026-01-01T00:00:00Z)"
    )


def test_a_node_that_is_gone_is_left() -> None:
    api = FakeNodeApi(*fleet(2))
    plan = planned(api)
    del api.nodes["n1"]

    progress = carry_out(api, plan)

    assert (progress.results[0].node, progress.results[0].told) == ("n1", "it is gone")


def test_a_node_as_planned_is_not_written_again() -> None:
    api = FakeNodeApi(*fleet(2))
    plan = planned(api)
    carry_out(api, plan)
    api.calls.clear()

    progress = carry_out(api, plan)

    assert outcomes(progress) == {"n1": "already", "n2": "already"}
    assert not [call for call in api.calls if call[0] == "PATCH"]


def test_another_managers_label_is_left_with_its_name() -> None:
    api = FakeNodeApi(live_node("n1", {**PRODUCT, GROUP: "OLD"}))

    progress = carry_out(api, planned(api))

    assert progress.results[0].told == (
        f'conflict with "kubectl-label" using v1: metadata.labels.{GROUP}: --force-conflicts takes it over'
    )
    assert groups(api) == {"n1": "OLD"}


def test_force_takes_it_over() -> None:
    api = FakeNodeApi(live_node("n1", {**PRODUCT, GROUP: "OLD"}))

    carry_out(api, planned(api), force=True)

    assert groups(api) == {"n1": "SMALL"}
    assert planned(api).is_empty


def without_claims() -> object:
    return policy(group("SMALL", 1, types=()), types=(V100,))


def test_a_label_of_ours_that_no_group_wants_any_more_is_removed() -> None:
    api = FakeNodeApi(*fleet(1))
    carry_out(api, planned(api))

    progress = carry_out(api, planned(api, without_claims()), used=without_claims())

    assert (outcomes(progress), groups(api)) == ({"n1": "done"}, {"n1": None})


def test_such_a_label_stays_where_somebody_else_owns_it() -> None:
    api = FakeNodeApi(live_node("n1", {**PRODUCT, GROUP: "SMALL"}))

    progress = carry_out(api, planned(api, without_claims()), used=without_claims())

    assert progress.results[0].told == (f"label {GROUP} belongs to another field manager: --force-conflicts removes it")


def test_force_removes_it() -> None:
    api = FakeNodeApi(live_node("n1", {**PRODUCT, GROUP: "SMALL"}))

    carry_out(api, planned(api, without_claims()), used=without_claims(), force=True)

    assert groups(api) == {"n1": None}


def tainted() -> object:
    return policy(replace(SMALL, taint=TaintEffect.NO_SCHEDULE), types=(V100,))


def test_a_taint_of_ours_is_set_beside_those_of_others() -> None:
    foreign = {"key": "example.com/maintenance", "effect": "NoSchedule"}
    api = FakeNodeApi({**live_node("n1", PRODUCT), "spec": {"taints": [foreign]}})

    carry_out(api, planned(api, tainted()), used=tainted())

    assert api.nodes["n1"]["spec"]["taints"] == [
        foreign,
        {"effect": "NoSchedule", "key": GROUP, "value": "SMALL"},
    ]


def test_a_taint_that_is_wanted_no_more_is_removed_and_those_of_others_stay() -> None:
    foreign = {"key": "example.com/maintenance", "effect": "NoSchedule"}
    api = FakeNodeApi({**live_node("n1", PRODUCT), "spec": {"taints": [foreign]}})
    carry_out(api, planned(api, tainted()), used=tainted())

    carry_out(api, planned(api, policy(SMALL, types=(V100,))), used=policy(SMALL, types=(V100,)))

    assert api.nodes["n1"]["spec"]["taints"] == [foreign]


class TestHealth:
    """Between batches."""

    def test_a_node_that_is_no_longer_ready_stops_the_apply_before_the_next_batch(self) -> None:
        api = FakeNodeApi(*fleet(4))
        plan = planned(api)
        api.nodes["n4"]["status"]["conditions"][0]["status"] = "False"

        progress = carry_out(api, plan, batch_size=2)

        assert progress.stopped == "node n4 is no longer Ready: Kubelet: told"
        assert outcomes(progress) == {"n1": "done", "n2": "done"}
        assert progress.not_reached(plan) == ("n3", "n4")

    def test_a_node_that_comes_back_in_time_does_not(self) -> None:
        api = FakeNodeApi(*fleet(2))
        plan = planned(api)
        condition = api.nodes["n2"]["status"]["conditions"][0]
        condition["status"] = "False"

        progress = carry_out(api, plan, time=FakeTime(lambda: condition.update(status="True")))

        assert progress.stopped is None

    def test_labels_that_somebody_takes_away_again_stop_it(self) -> None:
        api = FakeNodeApi(*fleet(1))
        plan = planned(api)
        api.before = lambda method, path: api.label("n1", GROUP, None) if method == "LIST" else None

        progress = carry_out(api, plan)

        assert progress.stopped == "node n1 has lost what it was given: somebody else writes it, too"

    def test_batches_have_a_pause_between_them(self) -> None:
        api, time = FakeNodeApi(*fleet(3)), FakeTime()

        carry_out(api, planned(api), batch_size=1, batch_pause_seconds=7.0, time=time)

        assert time.now == 14.0


class TestCutOff:
    """What is known when the API server refuses, or the connection breaks."""

    def test_a_refusal_tells_what_was_done_and_what_was_not(self) -> None:
        api = FakeNodeApi(*fleet(3))
        plan = planned(api)

        def forbid(method: str, path: str) -> None:
            if (method, path) == ("PATCH", "/api/v1/nodes/n2"):
                raise ForbiddenError("nodes is forbidden", status=403)

        api.before = forbid
        progress = carry_out(api, plan)

        assert (progress.stopped, outcomes(progress)) == ("nodes is forbidden", {"n1": "done", "n2": "left"})
        assert progress.not_reached(plan) == ("n3",)

    def test_an_answer_that_was_lost_is_looked_up(self) -> None:
        api = FakeNodeApi(*fleet(2))
        plan = planned(api)
        lost = iter([True])
        patch = api.patch

        def patched(*arguments: object) -> object:
            patch(*arguments)  # type: ignore[arg-type]
            if next(lost, False):
                raise ConnectionFailedError("connection lost", was_sent=True)
            return api.nodes["n1"]

        api.patch = patched  # type: ignore[assignment,method-assign]
        progress = carry_out(api, plan)

        assert [(r.node, r.told) for r in progress.results] == [("n1", "the answer was lost, but it is as planned")]
        assert (progress.stopped, progress.not_reached(plan)) == ("connection lost", ("n2",))

    def test_a_node_that_cannot_be_looked_at_is_unknown(self) -> None:
        api = FakeNodeApi(*fleet(2))
        plan = planned(api)
        broken: list[str] = []

        def break_off(method: str, path: str) -> None:
            if method == "PATCH" or broken:
                broken.append(path)
                raise ConnectionFailedError("connection lost", was_sent=True)

        api.before = break_off
        progress = carry_out(api, plan)

        assert outcomes(progress) == {"n1": str(Outcome.UNKNOWN)}


def with_pods() -> FakeNodeApi:
    """Two nodes of LARGE, the second of which is to become SMALL, with a pod of 8 GPUs."""
    api = FakeNodeApi(*fleet(2), pods=(on("n1", "big", 8), on("n2", "bigger", 8)))
    for name in api.nodes:
        api.label(name, GROUP, "LARGE")
        api.label(name, TYPE, "V100")
    return api


class TestDrain:
    """Pods that would be misplaced."""

    def test_pods_stay_unless_a_drain_is_asked_for(self) -> None:
        api = with_pods()

        carry_out(api, planned(api), force=True)

        assert len(api.pods) == 2
        assert not [call for call in api.calls if call[0] == "POST"]

    def test_a_drain_evicts_the_misplaced_pods_alone_and_uncordons(self) -> None:
        api = with_pods()
        plan = planned(api)
        (moved,) = (change.node for change in plan.changes if change.before != change.after)

        progress = carry_out(api, plan, force=True, drain=True)

        assert [str(evicted) for evicted in progress.evicted] == ["team-a/bigger"]
        assert (moved, list(api.pods)) == ("n2", [("team-a", "big")])
        assert api.nodes["n2"]["spec"].get("unschedulable") is None
        assert CORDONED_BY not in api.nodes["n2"]["metadata"]["annotations"]
        assert not progress.cordoned

    def test_a_budget_is_waited_for(self) -> None:
        api, time, notes = with_pods(), FakeTime(), []
        api.refusals["bigger"] = [budget_refusal("keep-one", retry_after=10.0)]

        progress = carry_out(api, planned(api), force=True, drain=True, time=time, notes=notes)

        assert len(progress.evicted) == 1
        assert time.now == pytest.approx(10.0)
        assert notes == [
            "n2: pod team-a/bigger waits: The disruption budget keep-one needs 1 healthy pods and has 1 currently"
        ]

    def test_a_budget_that_never_gives_way_leaves_the_node_as_it_was_and_is_named(self) -> None:
        api = with_pods()
        api.refusals["bigger"] = [budget_refusal("keep-one") for _ in range(50)]

        progress = carry_out(api, planned(api), force=True, drain=True, drain_timeout_seconds=20.0)

        told = {result.node: result.told for result in progress.results}
        assert told["n2"] == (
            "not drained: pod team-a/bigger: not within 20 s: "
            "The disruption budget keep-one needs 1 healthy pods and has 1 currently"
        )
        assert groups(api)["n2"] == "LARGE"
        assert api.nodes["n2"]["spec"].get("unschedulable") is None

    def test_a_pod_that_does_not_end_leaves_the_node_as_it_was(self) -> None:
        api = with_pods()
        api.stays.add("bigger")

        progress = carry_out(api, planned(api), force=True, drain=True, drain_timeout_seconds=5.0)

        told = {result.node: result.told for result in progress.results}
        assert "it was evicted and has not ended within 5 s" in told["n2"]

    def test_a_node_that_somebody_else_cordoned_stays_cordoned(self) -> None:
        api = with_pods()
        api.nodes["n2"]["spec"]["unschedulable"] = True

        carry_out(api, planned(api), force=True, drain=True)

        assert api.nodes["n2"]["spec"]["unschedulable"] is True

    def test_a_pod_that_came_after_the_plan_keeps_its_node(self) -> None:
        api = with_pods()
        plan = planned(api)
        late = on("n2", "late", 8)
        api.pods["team-a", "late"] = {**late, "metadata": {**late["metadata"], "uid": "uid-late"}}

        progress = carry_out(api, plan, force=True, drain=True)

        told = {result.node: result.told for result in progress.results}
        assert told["n2"] == "pods came after the plan was made: team-a/late"
        assert len(api.pods) == 3
        assert api.nodes["n2"]["spec"].get("unschedulable") is None

    def test_a_dry_run_asks_whether_pods_could_be_evicted(self) -> None:
        api = with_pods()
        api.refusals["bigger"] = [budget_refusal("keep-one")]

        progress = carry_out(api, planned(api), force=True, drain=True, dry_run=True)

        told = {result.node: result.told for result in progress.results}
        assert told["n2"].startswith("not drained: pod team-a/bigger: The disruption budget keep-one")
        assert len(api.pods) == 2


class TestResume:
    """An apply that was killed, and the one after it."""

    def test_a_node_that_was_left_cordoned_is_finished(self) -> None:
        api = FakeNodeApi(*fleet(1))
        carry_out(api, planned(api))
        api.nodes["n1"]["spec"]["unschedulable"] = True
        api.nodes["n1"]["metadata"]["annotations"][CORDONED_BY] = POLICY.name

        progress = carry_out(api, planned(api))

        assert outcomes(progress) == {"n1": "finished"}
        assert api.nodes["n1"]["spec"].get("unschedulable") is None

    def test_a_node_that_was_left_in_the_middle_of_its_drain_is_done(self) -> None:
        api = with_pods()
        api.nodes["n2"]["spec"]["unschedulable"] = True
        api.nodes["n2"]["metadata"]["annotations"][CORDONED_BY] = POLICY.name
        del api.pods["team-a", "bigger"]

        carry_out(api, planned(api), force=True, drain=True)

        assert groups(api)["n2"] == "SMALL"
        assert api.nodes["n2"]["spec"].get("unschedulable") is None

    @pytest.mark.parametrize("requests", range(12))
    def test_a_kill_after_any_request_is_made_good_by_the_next_apply(self, requests: int) -> None:
        api = with_pods()
        left = iter(range(requests))

        def kill(method: str, path: str) -> None:
            if next(left, None) is None:
                raise KeyboardInterrupt

        api.before = kill
        with pytest.raises(KeyboardInterrupt):
            carry_out(api, planned(api), force=True, drain=True)
        api.before = lambda method, path: None
        carry_out(api, planned(api), force=True, drain=True)

        assert planned(api).is_empty
        assert sorted(value or "" for value in groups(api).values()) == ["LARGE", "SMALL"]
        assert not any(each["spec"].get("unschedulable") for each in api.nodes.values())


def test_a_node_without_a_version_can_be_planned() -> None:
    plan = plan_nodes(POLICY, [node("n1", labels=PRODUCT)], usage_of(()))  # type: ignore[arg-type]

    assert plan.changes[0].seen.resource_version == ""

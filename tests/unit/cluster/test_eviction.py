"""Evicting pods: what the API server refuses, and when a pod counts as gone."""

from __future__ import annotations

import pytest
from builders import pod
from fake_node_api import FakeNodeApi, budget_refusal

from gpupolicy.cluster.errors import ApiError, ConflictError, ForbiddenError
from gpupolicy.cluster.eviction import Clock, Evicted, PodName, ask_once, evict

NAME = PodName(namespace="team-a", name="job-a", uid="uid-job-a")


class FakeTime:
    def __init__(self) -> None:
        self.now = 0.0

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def evicted(api: FakeNodeApi, time: FakeTime | None = None, seconds: float = 30.0) -> Evicted:
    time = time or FakeTime()
    clock = Clock(now=lambda: time.now, sleep=time.sleep)
    return evict(api, [NAME], timeout_seconds=seconds, clock=clock)  # type: ignore[arg-type]


@pytest.fixture
def api() -> FakeNodeApi:
    return FakeNodeApi(pods=(pod(1, nodeName="n1"),))


def test_a_pod_that_is_gone_already_is_no_trouble() -> None:
    assert evicted(FakeNodeApi()).gone == (NAME,)


def test_a_pod_of_the_same_name_that_came_since_stays(api: FakeNodeApi) -> None:
    api.pods["team-a", "job-a"]["metadata"]["uid"] = "another"
    api.refusals["job-a"] = [ConflictError("the UID in the precondition does not match", status=409)]  # type: ignore[list-item]

    assert evicted(api).gone == (NAME,)
    assert list(api.pods) == [("team-a", "job-a")]


def test_another_refusal_is_tried_again_after_five_seconds(api: FakeNodeApi) -> None:
    time = FakeTime()
    api.refusals["job-a"] = [ApiError("two budgets select the pod", status=500)]  # type: ignore[list-item]

    assert evicted(api, time).gone == (NAME,)
    assert time.now == 5.0


def test_a_missing_right_ends_it(api: FakeNodeApi) -> None:
    api.refusals["job-a"] = [ForbiddenError("missing is the RBAC rule", status=403)]  # type: ignore[list-item]

    with pytest.raises(ForbiddenError, match="missing is the RBAC rule"):
        evicted(api)


def test_a_question_is_answered_without_an_eviction(api: FakeNodeApi) -> None:
    api.refusals["job-a"] = [budget_refusal("keep"), ApiError("busy", status=500)]  # type: ignore[list-item]

    assert ask_once(api, NAME) == "The disruption budget keep needs 1 healthy pods and has 1 currently"  # type: ignore[arg-type]
    assert ask_once(api, NAME) == "busy"  # type: ignore[arg-type]
    assert ask_once(api, NAME) == ""  # type: ignore[arg-type]
    assert list(api.pods) == [("team-a", "job-a")]
    assert ask_once(FakeNodeApi(), NAME) == ""  # type: ignore[arg-type]


def test_a_question_without_the_right_to_ask_is_an_error(api: FakeNodeApi) -> None:
    api.refusals["job-a"] = [ForbiddenError("no", status=403)]  # type: ignore[list-item]

    with pytest.raises(ForbiddenError):
        ask_once(api, NAME)  # type: ignore[arg-type]

"""The effective request of cpu and memory."""

from __future__ import annotations

import pytest

from gpupolicy.inventory.requests import Requests, milli, read_requests, whole
from gpupolicy.pod import PodView
from gpupolicy.quantity import QuantityError

GI = 2**30


def asks(cpu: str | None = None, memory: str | None = None, **fields: object) -> dict[str, object]:
    amounts = {key: value for key, value in (("cpu", cpu), ("memory", memory)) if value is not None}
    return {"name": "c", "resources": {"requests": amounts}, **fields}


def read(*containers: dict[str, object], **spec: object) -> Requests:
    return read_requests(PodView({"spec": {"containers": list(containers), **spec}}))


def test_containers_add_up() -> None:
    assert read(asks("4", "16Gi"), asks("250m", "1Gi")) == Requests(4250, 17 * GI)


def test_a_limit_counts_where_there_is_no_request() -> None:
    assert read({"name": "c", "resources": {"limits": {"cpu": "2", "memory": "1Gi"}}}) == Requests(2000, GI)


def test_an_init_container_counts_where_it_needs_more_than_what_runs_later() -> None:
    assert read(asks("1", "4Gi"), initContainers=[asks("8", "1Gi")]) == Requests(8000, 4 * GI)


def test_a_sidecar_counts_beside_both() -> None:
    sidecar = asks("1", "1Gi", restartPolicy="Always")

    assert read(asks("1"), initContainers=[sidecar, asks("2", "1Gi")]) == Requests(3000, 2 * GI)


def test_the_pods_own_resources_take_the_place_of_its_containers() -> None:
    assert read(asks("1", "4Gi"), resources={"requests": {"cpu": "6"}}) == Requests(6000, 4 * GI)


def test_the_overhead_comes_on_top() -> None:
    assert read(asks("1"), overhead={"cpu": "250m", "memory": "120Mi"}) == Requests(1250, 120 * 2**20)


def resized(spec: str, allocated: str, actual: str, condition: str, reason: str = "") -> Requests:
    """The request of a pod whose container asks for cpu by its spec, was allocated some, and has some."""
    told = {"name": "c", "allocatedResources": {"cpu": allocated}, "resources": {"requests": {"cpu": actual}}}
    status = {"conditions": [{"type": condition, "status": "True", "reason": reason}], "containerStatuses": [told]}
    return read_requests(PodView({"spec": {"containers": [asks(spec)]}, "status": status}))


@pytest.mark.parametrize(
    ("amounts", "condition", "reason", "cpu"),
    [
        pytest.param(("1", "4", "4"), "PodResizeInProgress", "", 4, id="not-yet-given-back"),
        pytest.param(("1", "1", "4"), "PodResizeInProgress", "", 4, id="still-in-use"),
        pytest.param(("8", "4", "4"), "PodResizePending", "Deferred", 8, id="waits-for-room"),
        pytest.param(("8", "4", "4"), "PodResizePending", "Infeasible", 4, id="never-given"),
        pytest.param(("1", "4", "4"), "Ready", "", 1, id="no-resize"),
    ],
)
def test_a_pod_that_is_resized_holds_what_the_scheduler_counts(
    amounts: tuple[str, str, str], condition: str, reason: str, cpu: int
) -> None:
    assert resized(*amounts, condition, reason).cpu_milli == cpu * 1000


def test_a_sidecar_is_resized_as_any_container() -> None:
    told = {"name": "c", "resources": {"requests": {"cpu": "4"}}}
    status = {"conditions": [{"type": "PodResizeInProgress"}], "initContainerStatuses": [told]}
    spec = {"containers": [asks("1")], "initContainers": [asks("1", restartPolicy="Always")]}

    assert read_requests(PodView({"spec": spec, "status": status})).cpu_milli == 5000


@pytest.mark.parametrize("status", ["none", {"conditions": "x"}, {"conditions": [{"type": "PodResizePending"}]}])
def test_a_status_of_another_shape_counts_as_none(status: object) -> None:
    assert read_requests(PodView({"spec": {"containers": [asks("1")]}, "status": status})).cpu_milli == 1000


@pytest.mark.parametrize(
    ("value", "amount"), [("100m", 100), ("0.1", 100), (2, 2000), (0.5, 500), (None, 0), ("1n", 1), ("-4", 0)]
)
def test_thousandths_are_rounded_up(value: object, amount: int) -> None:
    assert milli(value) == amount


@pytest.mark.parametrize("value", ["much", True, [], {}])
def test_what_is_no_quantity_is_refused(value: object) -> None:
    with pytest.raises(QuantityError):
        whole(value)

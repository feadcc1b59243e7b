"""What pods hold, node by node."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from builders import GPU, container, exemption, owned, pod, policy
from fleet_builders import running

from gpupolicy.inventory.usage import NodeUsage, Owner, read_usage
from gpupolicy.model import Admission

POLICY = policy()


def test_pods_of_a_node_add_up() -> None:
    pods = [
        running("a", 4, "gpu-1", requests={"cpu": "8", "memory": "64Gi"}),
        running("b", 2, "gpu-1", requests={"cpu": "500m", "memory": "1Gi"}),
        running("c", None, "gpu-1", requests={"cpu": "1"}),
        running("d", 8, "gpu-2"),
    ]

    usage = read_usage(POLICY, iter(pods))

    assert usage.nodes == {
        "gpu-1": NodeUsage(gpus={GPU: 6}, cpu_milli=9500, memory_bytes=65 * 2**30, pods=3),
        "gpu-2": NodeUsage(gpus={GPU: 8}, pods=1),
    }
    assert usage.gpus_by_node == {"gpu-1": 6, "gpu-2": 8}
    assert [each.name for each in usage.pods] == ["a", "b", "d"]
    assert usage.pods_read == 4


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_ended_holds_nothing(phase: str) -> None:
    usage = read_usage(POLICY, [running("a", 4, "gpu-1", phase=phase)])

    assert (usage.nodes, usage.pods) == ({}, ())


def test_a_pod_that_is_being_deleted_holds_what_it_has_until_it_is_gone() -> None:
    usage = read_usage(POLICY, [running("a", 4, "gpu-1", metadata={"deletionTimestamp": "2026-11-29T12:00:00Z"})])

    assert usage.gpus_of("gpu-1") == 4


def test_a_pod_without_a_node_waits_and_holds_nothing() -> None:
    usage = read_usage(POLICY, [running("a", 4, None)])

    assert (usage.nodes, usage.pods, [each.size for each in usage.pending]) == ({}, (), [4])


def test_init_containers_and_sidecars_count_as_the_scheduler_counts_them() -> None:
    sidecar = container(1, name="side", restartPolicy="Always")
    one = pod(2, init=(sidecar, container(8, name="warm")), nodeName="gpu-1")

    assert read_usage(POLICY, [one]).gpus_of("gpu-1") == 9


def test_owner_and_end_are_read() -> None:
    one = running("a", 4, "gpu-1", activeDeadlineSeconds=3600)

    (found,) = read_usage(POLICY, [owned(one, "Job")]).pods

    assert found.owner == Owner(kind="Job", name="x")
    assert found.ends_at == datetime(2026, 11, 29, 13, tzinfo=UTC)


def test_the_order_of_pods_does_not_matter() -> None:
    pods = [running(name, 1, "gpu-1") for name in "abc"]

    assert read_usage(POLICY, pods) == read_usage(POLICY, reversed(pods))


def test_exemptions_look_at_labels_of_namespaces_and_pods() -> None:
    free = policy(admission=Admission(exemptions=(exemption("kube-system"),)))
    pods = [running("a", 3, "gpu-1", namespace="kube-system"), running("b", 3, "gpu-1")]

    homes = [each.home.problem for each in read_usage(free, pods).pods]

    assert homes == [None, "requests for 3 GPUs are not admitted"]


class TestWhatCannotBeCounted:
    """Each is told, none ends the run."""

    @pytest.mark.parametrize(
        ("bad", "told"),
        [
            pytest.param(
                {"metadata": {"name": "a"}, "spec": []},
                "pod default/a cannot be read, so it is not counted: spec is a list, a mapping is expected",
                id="no-spec",
            ),
            pytest.param(
                {"spec": {"containers": []}},
                "pod default/without a name cannot be read, so it is not counted: "
                "metadata.name is missing, a string is expected",
                id="no-name",
            ),
        ],
    )
    def test_a_pod_of_the_wrong_shape(self, bad: object, told: str) -> None:
        (finding,) = read_usage(POLICY, [bad]).findings  # type: ignore[list-item]

        assert (finding.rule, finding.message) == ("pod-not-readable", told)

    def test_a_pod_that_is_listed_twice_counts_once(self) -> None:
        usage = read_usage(POLICY, [running("a", 4, "gpu-1"), running("a", 4, "gpu-1")])

        assert usage.gpus_of("gpu-1") == 4
        assert [f.message for f in usage.findings] == ["pod team-a/a is listed twice; the first one counts"]

    def test_cpu_that_is_no_quantity_counts_as_none(self) -> None:
        usage = read_usage(POLICY, [running("a", 4, "gpu-1", requests={"cpu": "much"})])

        assert usage.nodes["gpu-1"].cpu_milli == 0
        assert [f.rule for f in usage.findings] == ["pod-amount-refused"]

    @pytest.mark.parametrize(
        ("gpus", "told"),
        [("1.5", "1.5 GPUs are no whole number"), ("-1", "-1 GPUs are less"), ("abc", '"abc" is not a quantity')],
    )
    def test_gpus_in_an_amount_that_no_api_server_takes_count_as_none(self, gpus: str, told: str) -> None:
        usage = read_usage(POLICY, [running("a", gpus, "gpu-1")])

        assert (usage.gpus_of("gpu-1"), usage.pods) == (0, ())
        assert [f.rule for f in usage.findings] == ["pod-amount-refused"]
        assert f"in an amount that no API server takes and that counts as 0: {told}" in usage.findings[0].message

    def test_an_amount_that_breaks_the_schedulers_arithmetic_is_not_counted(self) -> None:
        usage = read_usage(POLICY, [running("a", "1e30", "gpu-1")])

        assert (usage.gpus_of("gpu-1"), usage.pods) == (0, ())
        assert [f.rule for f in usage.findings] == ["gpu-amount-too-large"]

    def test_many_of_a_kind_are_told_as_a_number(self) -> None:
        usage = read_usage(POLICY, [{}] * 25)

        assert len(usage.findings) == 21
        assert usage.findings[-1].message == "and 5 more pods"

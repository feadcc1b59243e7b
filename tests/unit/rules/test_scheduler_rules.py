from __future__ import annotations

import pytest
from policy_texts import found, group, hints, policy_text, profile, rules

from gpupolicy.linting import lint_text

CPU_AND_MEMORY = "{name: cpu, weight: 1}, {name: memory, weight: 1}"


def weighed(gpu: int) -> str:
    """A profile of cpu 1, memory 1 and a weight for GPUs."""
    return profile(f"{CPU_AND_MEMORY}, {{name: nvidia.com/gpu, weight: {gpu}}}")


class TestWeights:
    """The bounds are those of the dominance table: 17 on 8 GPUs, 34 on 16, none from 49 on."""

    @pytest.mark.parametrize(
        ("gpus", "smallest"), [(1, 3), (2, 5), (4, 9), (8, 17), (16, 34), (32, 67)], ids=lambda value: str(value)
    )
    def test_the_smallest_weight_that_dominates_is_enough_and_one_less_is_not(self, gpus: int, smallest: int) -> None:
        types = f"{{name: V100, gpusPerNode: {gpus}}}"
        sizes = {"sizes": "[1]", "groups": group("ALL", "1"), "types": types}

        assert rules(scheduler=weighed(smallest), **sizes) == []
        assert rules(scheduler=weighed(smallest - 1), **sizes) == ["weights-cannot-dominate"]

    def test_the_finding_says_what_outvotes_the_gpus_and_what_would_do(self) -> None:
        assert found(scheduler=weighed(3)) == [
            (
                "weights-cannot-dominate",
                "weight 3 of nvidia.com/gpu can be outvoted on V100 nodes: one GPU of 8 is worth 12 x 3 = 36 there, "
                "the other resources up to 100 x 2 = 200",
            )
        ]
        assert hints(scheduler=weighed(3)) == [
            "the smallest weight that dominates is 17 (19 wins after rounding to whole points, too)"
        ]

    def test_where_no_weight_is_enough_it_says_so(self) -> None:
        types = "{name: MIG, gpusPerNode: 56, requestSizes: [1]}"

        assert hints(types=types, groups=group("ALL", "1", "MIG"), scheduler=weighed(100)) == [
            "no weight up to 100 is enough; leave the other resources out of a profile for this type"
        ]

    def test_gpus_alone_always_dominate(self) -> None:
        types = "{name: MIG, gpusPerNode: 56, requestSizes: [1]}"
        scheduler = profile("{name: nvidia.com/gpu, weight: 1}")

        assert rules(types=types, groups=group("ALL", "1", "MIG"), scheduler=scheduler) == []

    def test_a_profile_is_held_against_the_types_of_its_groups_only(self) -> None:
        types = "{name: V100, gpusPerNode: 8}, {name: MIG, gpusPerNode: 56, resourceName: x.com/mig, requestSizes: [1]}"
        groups = f"{group('ALL', '1, 2, 4, 8')}, {group('MIG', '1', 'MIG', rest=', schedulerName: mig')}"
        scheduler = (
            f"{{profiles: [{{schedulerName: gpu, scoringStrategy: {{resources: [{CPU_AND_MEMORY}, "
            "{name: nvidia.com/gpu, weight: 100}]}}, "
            "{schedulerName: mig, scoringStrategy: {resources: [{name: x.com/mig, weight: 100}]}}]}"
        )

        assert rules(types=types, groups=groups, scheduler=scheduler) == []

    def test_a_misspelt_resource_does_not_count_against_the_gpus(self) -> None:
        """No pod asks for it, so kube-scheduler leaves it out of the sum."""
        scheduler = profile("{name: nvidia.com/gpu, weight: 100}, {name: nvidia.com/gpus, weight: 100}")

        assert rules(scheduler=scheduler) == ["resource-not-counted"]

    @pytest.mark.parametrize(
        ("shape", "expected"),
        [
            ("[{utilization: 0, score: 0}, {utilization: 100, score: 10}]", []),
            ("[{utilization: 0, score: 10}, {utilization: 100, score: 0}]", ["strategy-spreads"]),
            ("[{utilization: 50, score: 5}]", ["strategy-spreads"]),
        ],
        ids=["rising", "falling", "one-point"],
    )
    def test_a_shape_that_does_not_rise_does_not_pack(self, shape: str, expected: list[str]) -> None:
        scheduler = profile("{name: nvidia.com/gpu, weight: 100}", type="RequestedToCapacityRatio", shape=shape)

        assert rules(scheduler=scheduler) == expected


class TestResources:
    def test_a_profile_that_weighs_no_gpu_is_an_error(self) -> None:
        assert found(scheduler=profile(CPU_AND_MEMORY)) == [
            (
                "gpu-resource-not-weighed",
                "profile gpu-packing does not weigh nvidia.com/gpu, so it does not pack them",
            )
        ]

    def test_a_resource_that_may_exist_is_only_remarked(self) -> None:

        scheduler = profile("{name: nvidia.com/gpu, weight: 100}, {name: rdma/hca, weight: 1}")
        severities = {finding.rule: finding.severity for finding in lint_text(policy_text(scheduler=scheduler))}

        assert severities["resource-not-counted"] == "info"

    def test_a_name_without_a_domain_is_no_resource(self) -> None:
        scheduler = profile("{name: nvidia.com/gpu, weight: 100}, {name: gpu, weight: 1}")

        assert rules(scheduler=scheduler) == ["resource-not-counted"]

    def test_a_profile_without_resources_weighs_what_is_counted(self) -> None:
        assert rules(scheduler="{profiles: [{schedulerName: gpu-packing}]}") == []


class TestLeaderElection:
    @pytest.mark.parametrize(
        ("durations", "messages"),
        [
            ("leaseDurationSeconds: 15, renewDeadlineSeconds: 10, retryPeriodSeconds: 2", []),
            (
                "leaseDurationSeconds: 10, renewDeadlineSeconds: 10",
                ["leaseDurationSeconds is 10; expected is more than renewDeadlineSeconds, which is 10"],
            ),
            (
                "renewDeadlineSeconds: 6, retryPeriodSeconds: 5",
                ["renewDeadlineSeconds is 6; expected is more than 1.2 x retryPeriodSeconds, which is 5"],
            ),
            ("renewDeadlineSeconds: 7, retryPeriodSeconds: 5", []),
        ],
        ids=["defaults", "lease-as-renew", "renew-as-retry", "just-enough"],
    )
    def test_durations_have_an_order(self, durations: str, messages: list[str]) -> None:
        scheduler = f"{{profiles: [{{schedulerName: x}}], leaderElection: {{{durations}}}}}"

        assert [message for _, message in found(scheduler=scheduler)] == messages

    def test_the_control_planes_own_scheduler_may_keep_its_lease(self) -> None:
        election = "{resourceName: kube-scheduler, resourceNamespace: kube-system}"

        assert rules(scheduler=f"{{profiles: [{{schedulerName: x}}], leaderElection: {election}}}") == []

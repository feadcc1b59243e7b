"""GPUs that pods hold through resource claims: on nodes, in slots, and where the claims are not known."""

from __future__ import annotations

import pytest
from builders import GPU, policy
from claim_builders import CLASS_NAME, claim, claimable, claiming, template
from fleet_builders import running, seated

import gpupolicy
from gpupolicy.admission.claims import index_claims
from gpupolicy.inventory.usage import Usage, read_usage

POLICY = claimable()
BY_TEMPLATE = {"by": "resourceClaimTemplateName"}


def usage(*pods: dict[str, object], known: tuple[dict[str, object], ...] = (), by: gpupolicy.Policy = POLICY) -> Usage:
    return read_usage(by, pods, claims=index_claims(known))


def test_a_pod_holds_the_devices_of_its_claims_beside_what_its_containers_ask_for() -> None:
    pods = [claiming("a", "n1"), running("b", 2, "n1")]

    held = usage(*pods, known=(claim(4),))

    assert held.nodes["n1"].gpus == {CLASS_NAME: 4, GPU: 2}
    assert [(pod.name, pod.size) for pod in held.pods] == [("a", 4), ("b", 2)]
    assert held.findings == ()


def test_a_claim_that_pods_share_is_held_once_and_asked_for_by_each() -> None:
    pods = [claiming("a", "n1"), claiming("b", "n1"), claiming("c", "n2", "other")]

    held = usage(*pods, known=(claim(4), claim(2, "other")))

    assert held.gpus_by_node == {"n1": 4, "n2": 2}
    assert [pod.size for pod in held.pods] == [4, 4, 2]
    assert held == usage(*reversed(pods), known=(claim(4), claim(2, "other")))


def test_a_pod_that_shares_one_claim_adds_its_other_ones() -> None:
    both = [{"name": "x", "resourceClaimName": "gpus"}, {"name": "y", "resourceClaimName": "more"}]
    pods = [claiming("a", "n1"), running("b", 1, "n1", resourceClaims=both)]

    assert usage(*pods, known=(claim(4), claim(2, "more"))).nodes["n1"].gpus == {CLASS_NAME: 6, GPU: 1}


def test_a_template_makes_a_claim_for_each_pod() -> None:
    pods = [claiming("a", "n1", **BY_TEMPLATE), claiming("b", "n1", **BY_TEMPLATE)]

    assert usage(*pods, known=(template(2),)).gpus_of("n1") == 4


def test_the_end_of_a_pod_is_no_end_of_a_claim_that_others_may_hold() -> None:
    known = (claim(4), template(2))
    pods = [
        claiming("a", "n1", activeDeadlineSeconds=60),
        claiming("b", "n1", activeDeadlineSeconds=60, **BY_TEMPLATE),
    ]

    assert [pod.ends_at is None for pod in usage(*pods, known=known).pods] == [True, False]


class TestUnknownClaims:
    def test_claims_that_are_not_known_are_told_once(self) -> None:
        (finding,) = usage(claiming("b", "n1"), claiming("a", "n1")).findings

        assert finding.rule == "pod-claim-not-counted"
        assert finding.message == (
            "2 pods, team-a/a first, name resource claims that are not known or cannot be read; "
            "their devices are not counted"
        )

    def test_one_pod_is_told_by_its_name(self) -> None:
        (finding,) = usage(claiming("a", "n1")).findings

        assert finding.message.startswith("pod team-a/a names resource claims")

    def test_they_are_no_matter_where_no_type_has_a_device_class(self) -> None:
        assert usage(claiming("a", "n1"), by=policy()).findings == ()


class TestCapacity:
    def test_claims_take_slots_of_nodes_that_list_their_gpus(self) -> None:
        counted = gpupolicy.capacity(
            POLICY, [seated("n1", "SLOT-4")], [claiming("a", "n1")], claims=index_claims([claim(4)])
        )

        (four,) = (room for room in counted.groups if room.slot_group == "SLOT-4")
        assert (four.gpus.used, four.slots[0].free) == (4, 1)

    def test_a_request_by_the_implicit_name_of_a_class_takes_slots_too(self) -> None:
        pod = running("a", 4, "n1")
        pod["spec"]["containers"][0]["resources"] = {"limits": {CLASS_NAME: 4}}

        counted = gpupolicy.capacity(POLICY, [seated("n1", "SLOT-4")], [pod])

        assert next(room.gpus.used for room in counted.groups if room.slot_group == "SLOT-4") == 4

    def test_a_node_that_is_not_counted_tells_what_its_pods_hold(self) -> None:
        bare = seated("n1", "SLOT-4")
        del bare["status"]["allocatable"][GPU]

        counted = gpupolicy.capacity(POLICY, [bare], [claiming("a", "n1")], claims=index_claims([claim(4)]))

        assert [(each.node, each.used) for each in counted.uncounted] == [("n1", 4)]

    @pytest.mark.parametrize(("size", "reasons"), [(4, []), (1, ["other-group"])])
    def test_pods_with_claims_are_misplaced_like_others(self, size: int, reasons: list[str]) -> None:
        counted = gpupolicy.capacity(
            POLICY, [seated("n1", "SLOT-4")], [claiming("a", "n1")], claims=index_claims([claim(size)])
        )

        assert [str(each.reason) for each in counted.misplaced] == reasons

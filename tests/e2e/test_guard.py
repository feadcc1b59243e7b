"""The labels that say which nodes are in which slot group: a kubelet cannot forge them, everybody else works on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import pytest
from e2e.controlplane import ControlPlane
from e2e.governed import compile_folder, kubectl, left_as_found
from e2e.objects import node
from e2e.processes import wait_for
from e2e.product import shipped
from e2e.rest import Answer

from gpupolicy import load

GROUP = "my.gpu.cluster/node-group"
TYPE = "my.gpu.cluster/gpu-type"
SUPPORT = "my.gpu.cluster/nvidia-gpu-support"
KUBELET = "system:node:gpu-1"
NODE = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "gpu-1"}}

REFUSAL = (
    "nodes \"gpu-1\" is forbidden: ValidatingAdmissionPolicy 'gpupolicy-classic-node-labels' with binding "
    "'gpupolicy-classic-node-labels' denied request: a kubelet may not set, change or remove {}: GPU policy classic "
    "owns the label, and an administrator sets it"
)

Labels = Mapping[str, str | None]


def change(labels: Labels) -> dict[str, object]:
    return {"metadata": {"labels": labels}}


def labels_now(control_plane: ControlPlane) -> Mapping[str, str]:
    labels: Mapping[str, str] = control_plane.api().get(NODE).body["metadata"]["labels"]
    return labels


@pytest.fixture(scope="class")
def guard(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The compiled guard in force."""
    with left_as_found(control_plane):
        folder = compile_folder(shipped("classic"), tmp_path_factory.mktemp("guard") / "out", "--target", "nodes")
        kubectl(control_plane, "apply", "-k", folder)
        control_plane.add_node("marker")
        kubelet = control_plane.api("system:node:marker")
        wait_for(
            lambda: not kubelet.patch(node("marker"), change({GROUP: "SLOT-1"}), dry_run=True).accepted,
            message="the guard in force",
        )
        yield


@pytest.fixture
def gpu_1(control_plane: ControlPlane) -> None:
    """A node that an administrator put into SLOT-8."""
    control_plane.add_node("gpu-1", labels={GROUP: "SLOT-8", "other": "label"})


def by_patch(control_plane: ControlPlane, labels: Labels, subresource: str = "") -> Answer:
    return control_plane.api(KUBELET).patch(NODE, change(labels), subresource=subresource)


def by_strategic_patch(control_plane: ControlPlane, value: str) -> Answer:
    return control_plane.api(KUBELET).patch(NODE, change({GROUP: value}), "strategic")


def by_json_patch(control_plane: ControlPlane, value: str) -> Answer:
    path = "/metadata/labels/" + GROUP.replace("/", "~1")
    return control_plane.api(KUBELET).patch(NODE, [{"op": "replace", "path": path, "value": value}], "json")


def by_apply(control_plane: ControlPlane, value: str) -> Answer:
    api, query = control_plane.api(KUBELET), {"fieldManager": "kubelet", "force": "true"}
    body = {**NODE, "metadata": {"name": "gpu-1", "labels": {GROUP: value}}}
    return api.request("PATCH", api.path(NODE), body, query, "application/apply-patch+yaml")


def by_update(control_plane: ControlPlane, value: str, subresource: str = "") -> Answer:
    body = control_plane.api().get(NODE).body
    labels = {**body["metadata"]["labels"], GROUP: value}
    changed = {**body, "metadata": {**body["metadata"], "labels": labels}}
    return control_plane.api(KUBELET).request("PUT", f"/api/v1/nodes/gpu-1{subresource}", changed)


def by_status_update(control_plane: ControlPlane, value: str) -> Answer:
    return by_update(control_plane, value, "/status")


def test_without_a_guard_a_kubelet_moves_its_node_to_another_slot_group(
    gpu_1: None, control_plane: ControlPlane
) -> None:
    """What the guard is for: NodeRestriction protects its own domain and no other."""
    by_patch(control_plane, {GROUP: "SLOT-1"}, "status")

    assert labels_now(control_plane)[GROUP] == "SLOT-1"


@pytest.mark.parametrize("subresource", ["", "status"], ids=["node", "status"])
def test_labels_in_the_restricted_domain_are_refused_by_kubernetes_itself(
    subresource: str, gpu_1: None, control_plane: ControlPlane
) -> None:
    """The prefix of the multi-tenant policy, for which no guard is compiled."""
    key = load(shipped("multi-tenant")).labels.node_group

    answer = by_patch(control_plane, {key: "SLOT-8"}, subresource)

    assert (answer.status, answer.message) == (
        403,
        f'nodes "gpu-1" is forbidden: is not allowed to modify labels: {key}',
    )


@pytest.mark.usefixtures("guard", "gpu_1")
class TestInForce:
    """The guard that the classic policy compiles to, applied with ``kubectl apply -k``."""

    @pytest.mark.parametrize("subresource", ["", "status"], ids=["node", "status"])
    @pytest.mark.parametrize(
        ("labels", "told"),
        [
            pytest.param({GROUP: "SLOT-1"}, GROUP, id="change"),
            pytest.param({GROUP: None}, GROUP, id="remove"),
            pytest.param({TYPE: "H100"}, TYPE, id="set"),
            pytest.param({GROUP: ""}, GROUP, id="empty"),
            pytest.param({SUPPORT: "true", GROUP: "SLOT-1"}, f"{GROUP}, {SUPPORT}", id="two"),
        ],
    )
    def test_a_kubelet_cannot_set_change_or_remove_our_labels(
        self, labels: Labels, told: str, subresource: str, control_plane: ControlPlane
    ) -> None:
        answer = by_patch(control_plane, labels, subresource)

        assert (answer.status, answer.message) == (403, REFUSAL.format(told))
        assert labels_now(control_plane)[GROUP] == "SLOT-8"

    @pytest.mark.parametrize(
        "write",
        [by_strategic_patch, by_json_patch, by_apply, by_update, by_status_update],
        ids=lambda function: function.__name__,
    )
    def test_no_way_of_writing_goes_round_the_guard(
        self, write: Callable[[ControlPlane, str], Answer], control_plane: ControlPlane
    ) -> None:
        answer = write(control_plane, "SLOT-1")

        assert (answer.status, answer.message) == (403, REFUSAL.format(GROUP))

    def test_who_relabels_with_a_kubelets_kubeconfig_reads_why_not(self, control_plane: ControlPlane) -> None:
        done = control_plane.kubectl("label", "node", "gpu-1", f"{GROUP}=SLOT-1", "--overwrite", user=KUBELET)

        assert (done.returncode, done.stderr) == (
            1,
            "Error from server (Forbidden): " + REFUSAL.format(GROUP) + "\n",
        )

    def test_a_kubelet_cannot_register_its_node_with_our_labels_but_without_them(
        self, control_plane: ControlPlane
    ) -> None:
        kubelet = control_plane.api("system:node:gpu-2")

        refused = kubelet.post(node("gpu-2", labels={GROUP: "SLOT-8"}))
        made = kubelet.post(node("gpu-2", labels={"nvidia.com/gpu.count": "8"}))

        assert (refused.status, refused.message) == (403, REFUSAL.replace("gpu-1", "gpu-2").format(GROUP))
        assert made.status == 201

    @pytest.mark.parametrize(
        "labels",
        [
            pytest.param({"nvidia.com/gpu.count": "8", "other": None}, id="other-labels"),
            pytest.param({GROUP: "SLOT-8"}, id="the-same-value"),
            pytest.param({"my.gpu.cluster/rack": "r1"}, id="another-label-of-the-domain"),
        ],
    )
    def test_a_kubelet_goes_on_with_other_labels(self, labels: Labels, control_plane: ControlPlane) -> None:
        assert by_patch(control_plane, labels).accepted

    def test_heartbeats_and_new_capacity_pass_and_leave_our_labels(self, control_plane: ControlPlane) -> None:
        beat = {"type": "Ready", "status": "True", "lastHeartbeatTime": "2030-01-01T00:00:00Z", "reason": "Beat"}
        status = {"conditions": [beat], "capacity": {"nvidia.com/gpu": "7"}, "allocatable": {"nvidia.com/gpu": "7"}}

        answer = control_plane.api(KUBELET).patch(NODE, {"status": status}, "strategic", subresource="status")

        (condition,) = answer.body["status"]["conditions"]
        assert (condition["reason"], answer.body["status"]["allocatable"]["nvidia.com/gpu"]) == ("Beat", "7")
        assert labels_now(control_plane)[GROUP] == "SLOT-8"

    @pytest.mark.parametrize(
        ("argument", "value"),
        [
            pytest.param(f"{GROUP}=SLOT-1", "SLOT-1", id="change"),
            pytest.param(f"{GROUP}-", None, id="remove"),
        ],
    )
    def test_an_administrator_still_sets_our_labels(
        self, argument: str, value: str | None, control_plane: ControlPlane
    ) -> None:
        kubectl(control_plane, "label", "node", "gpu-1", argument, "--overwrite")

        assert labels_now(control_plane).get(GROUP) == value

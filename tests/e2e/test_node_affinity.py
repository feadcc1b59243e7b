"""What Kubernetes does with wishes that it takes and that nothing meets: admission tells them by what is shown here."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from e2e.controlplane import ControlPlane, wait_for
from e2e.objects import pod, pod_spec, scheduler_config
from e2e.placement import left_pending

MEMORY = "nvidia.com/gpu.memory"
TYPE = "my.gpu.cluster/gpu-type"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
NO_NODE = "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector."
COMPARED = {"matchExpressions": [{"key": MEMORY, "operator": "Gt", "values": ["16Gi"]}]}


def required(*terms: Mapping[str, object]) -> dict[str, object]:
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        pytest.param({"affinity": required(COMPARED)}, NO_NODE, id="required-comparison-without-a-number"),
        pytest.param(
            {"affinity": {"nodeAffinity": {PREFERRED: [{"weight": 1, "preference": COMPARED}]}}},
            'running PreScore plugin "NodeAffinity": [0].matchExpressions[0].values[0]: Invalid value: "16Gi"',
            id="preferred-comparison-without-a-number",
        ),
        pytest.param(
            {
                "nodeSelector": {"zone": "a"},
                "affinity": required({"matchExpressions": [{"key": "zone", "operator": "In", "values": ["b"]}]}),
            },
            NO_NODE,
            id="node-selector-and-term-exclude-each-other",
        ),
    ],
)
def test_the_api_server_takes_the_pod_and_the_scheduler_never_binds_it(
    wish: Mapping[str, object], message: str, control_plane: ControlPlane, namespace: str
) -> None:
    control_plane.add_nodes(2, labels={MEMORY: "81920", "zone": "a"})
    with control_plane.scheduler(scheduler_config({"schedulerName": "mine"})):
        control_plane.create(pod("p", scheduler="mine", **wish), namespace)

        assert left_pending(control_plane, namespace, "p").startswith(message)


@pytest.mark.parametrize("terms", [{}, {"nodeSelectorTerms": []}, {"nodeSelectorTerms": None}], ids=str)
def test_the_api_server_refuses_a_required_node_affinity_without_a_term(
    terms: Mapping[str, object], control_plane: ControlPlane, namespace: str
) -> None:
    answer = control_plane.api().post(pod("p", affinity={"nodeAffinity": {REQUIRED: terms}}), namespace=namespace)

    assert (answer.status, "must have at least one node selector term" in answer.message) == (422, True)


def test_the_daemonset_controller_looks_for_the_words_of_the_template(
    control_plane: ControlPlane, namespace: str
) -> None:
    """So an alias, which only the pods' admission could resolve, leaves the DaemonSet without pods."""
    control_plane.add_node("gpu-001", labels={TYPE: "V100"})
    for name, gpu_type in (("by-name", "V100"), ("by-alias", "v100")):
        template = {"metadata": {"labels": {"app": name}}, "spec": pod_spec(nodeSelector={TYPE: gpu_type})}
        spec = {"selector": {"matchLabels": {"app": name}}, "template": template}
        control_plane.create(
            {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": name}, "spec": spec}, namespace
        )

    assert [wanted(control_plane, namespace, name) for name in ("by-name", "by-alias")] == [1, 0]


def wanted(control_plane: ControlPlane, namespace: str, name: str) -> int:
    """How many pods the controller wants for a DaemonSet, once it has looked at it."""
    asked = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": name}}

    def status() -> Mapping[str, int]:
        return control_plane.api().get(asked, namespace=namespace).body.get("status", {})

    wait_for(lambda: status().get("observedGeneration"), message=f"the controller to look at DaemonSet {name}")
    return status()["desiredNumberScheduled"]

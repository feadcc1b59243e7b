"""A plan for nodes as people read it."""

from __future__ import annotations

from gpupolicy.assignment import Skipped
from gpupolicy.model import Taint
from gpupolicy.reporting.nodes_json import plan_to_json
from gpupolicy.reporting.nodes_text import format_plan, summarize_plan
from gpupolicy.rollout.ownership import Owner
from gpupolicy.rollout.plan import Conflict, GroupSlots, NodeChange, NodePlan, Resident, Shortage, SizeSlots, Unserved

GROUP = "my.gpu.cluster/node-group"
CHANGE = NodeChange(
    node="gpu-1",
    gpu_type="V100",
    before="LARGE",
    after=None,
    wanted={},
    reason="no slot group claims it",
    remove=(GROUP,),
    set_taints=(Taint(key=GROUP, value="X", effect="NoExecute"),),
    remove_taints=(Taint(key=GROUP, value="LARGE", effect="NoSchedule"),),
    residents=(
        Resident(namespace="a", name="x-1", gpus=8, owner=("Job", "x")),
        Resident(namespace="a", name="lone", gpus=1),
    ),
    conflicts=(Conflict(what=GROUP, value="LARGE", owner=Owner(manager="kubectl", time="2026-01-01T00:00:00Z")),),
)
STAYING = NodeChange(
    node="gpu-10", gpu_type="V100", before="A", after="A", wanted={}, reason="type", set={"k": "v", "b": "c"}
)
PLAN = NodePlan(
    policy="p",
    digest="d",
    changes=(CHANGE, STAYING),
    skipped=(Skipped(node="gpu-9", reason="offers no GPU"),),
    slots=(
        GroupSlots(
            gpu_type="V100",
            slot_group="LARGE",
            nodes_before=2,
            nodes_after=1,
            slots=(SizeSlots(size=4, before=4, after=2), SizeSlots(size=16, before=0, after=0)),
        ),
        GroupSlots(gpu_type="V100", slot_group="SAME", nodes_before=1, nodes_after=1),
        GroupSlots(gpu_type="V100", slot_group=None, nodes_before=0, nodes_after=1),
    ),
    unfinished=("gpu-7",),
    nodes=12,
)

TEXT = """\
no slot group claims it:
  gpu-1   LARGE -> no group  remove my.gpu.cluster/node-group; taint my.gpu.cluster/node-group=X:NoExecute; \
remove taint my.gpu.cluster/node-group=LARGE:NoSchedule; 2 pods would be misplaced
type:
  gpu-10  A  set b=c, k=v

Slots (on empty nodes; sizes of one group share its GPUs):
  GPU TYPE  SLOT GROUP  NODES   SIZE  SLOTS
  V100      LARGE       2 -> 1  4     4 -> 2 (-2)
                                16    0 -> 0
  V100      no group    0 -> 1

2 pods with 9 GPUs on 1 node would be misplaced; apply leaves them where they are, or evicts them with --drain:
  Job a/x: 1 pod, 8 GPUs
  Pod a/lone: 1 pod, 1 GPU

Taints my.gpu.cluster/node-group=X:NoExecute: GPU pods get the toleration at admission; DaemonSets of the GPU stack \
need it of their own (GPU operator: daemonsets.tolerations).
NoExecute evicts pods without the toleration at once, past PodDisruptionBudgets: apply wants --drain.

Other field managers own what changes; apply takes it over with --force-conflicts:
  gpu-1: my.gpu.cluster/node-group=LARGE belongs to kubectl at 2026-01-01T00:00:00Z

Skipped:
  gpu-9: offers no GPU
Cordoned by an apply that did not finish, which the next one does: gpu-7
"""


def test_a_plan_is_told_section_by_section() -> None:
    assert format_plan(PLAN) == TEXT


def test_its_summary_counts() -> None:
    assert summarize_plan(PLAN) == (
        "12 nodes: 2 to change, 1 skipped, 1 cordoned by an apply that did not finish; 2 pods would be misplaced"
    )


THREE = "requests for 3 GPUs are not admitted"
UNSERVED = NodePlan(
    policy="p",
    digest="d",
    unserved=(
        Unserved(pod=Resident(namespace="a", name="x-1", gpus=3, owner=("Job", "x")), problem=THREE),
        Unserved(pod=Resident(namespace="a", name="x-2", gpus=3, owner=("Job", "x")), problem=THREE),
        Unserved(pod=Resident(namespace="a", name="lone", gpus=8), problem="no node of LARGE has 8 GPUs"),
    ),
    nodes=3,
)


def test_pods_that_no_group_will_serve_are_told_by_why_and_owner() -> None:
    assert format_plan(UNSERVED) == (
        "No slot group will serve 3 pods with 14 GPUs, nor what is made in their place:\n"
        "  Job a/x: 2 pods, 6 GPUs: requests for 3 GPUs are not admitted\n"
        "  Pod a/lone: 1 pod, 8 GPUs: no node of LARGE has 8 GPUs\n"
    )
    assert summarize_plan(UNSERVED) == "3 nodes: 0 to change, 0 skipped; no slot group serves 3 pods"


def test_claims_that_the_fleet_does_not_meet_are_told() -> None:
    shortage = Shortage(gpu_type="V100", slot_group="LARGE", message="slot group LARGE gets no node of GPU type V100")
    short = NodePlan(policy="p", digest="d", shortages=(shortage,), nodes=1)

    assert format_plan(short) == (
        "The fleet does not have what the policy claims:\n  slot group LARGE gets no node of GPU type V100\n"
    )
    assert plan_to_json(short, "here")["shortages"] == [
        {"gpuType": "V100", "slotGroup": "LARGE", "message": "slot group LARGE gets no node of GPU type V100"}
    ]


def test_json_tells_pods_that_no_group_will_serve() -> None:
    assert plan_to_json(UNSERVED, "here")["unserved"][0] == {  # type: ignore[index]
        "namespace": "a",
        "name": "x-1",
        "gpus": 3,
        "owner": {"kind": "Job", "name": "x"},
        "problem": THREE,
    }


def test_a_plan_without_anything_to_do_is_empty() -> None:
    assert format_plan(NodePlan(policy="p", digest="d", nodes=3)) == ""


def test_json_tells_taints_conflicts_and_groups() -> None:
    report = plan_to_json(PLAN, "here")

    first, second = report["changes"]  # type: ignore[misc]
    assert first["setTaints"] == [{"effect": "NoExecute", "key": GROUP, "value": "X"}]
    assert first["removeTaints"] == [{"effect": "NoSchedule", "key": GROUP, "value": "LARGE"}]
    assert first["conflicts"] == [
        {
            "field": GROUP,
            "value": "LARGE",
            "manager": "kubectl",
            "operation": "Update",
            "subresource": None,
            "time": "2026-01-01T00:00:00Z",
        }
    ]
    assert "setTaints" not in second
    assert (report["unfinished"], report["skipped"]) == (["gpu-7"], [{"node": "gpu-9", "reason": "offers no GPU"}])

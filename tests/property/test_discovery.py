"""Laws of init: whatever the fleet, the proposal is sound, takes every GPU node and moves nothing that has a place."""

from __future__ import annotations

from typing import Any

from fleets import PRODUCT, node
from hypothesis import given, settings
from hypothesis import strategies as st

from gpupolicy import assign, load_text
from gpupolicy.discovery import discover
from gpupolicy.linting import lint_text

PRODUCTS = ("Tesla-V100-SXM2-32GB", "NVIDIA-A100-SXM4-80GB", "NVIDIA-A100-SXM4-40GB", "T4-SHARED", "AMD", None)
RESOURCES = ("nvidia.com/gpu", "amd.com/gpu", "nvidia.com/mig-1g.5gb", "nvidia.com/gpu.shared")
LABELS = {
    "nvidia.com/gpu.count": st.sampled_from(("1", "4", "8", "16")),
    "node.kubernetes.io/instance-type": st.sampled_from(("p4d.24xlarge", "g5.xlarge", "m5.large", "k3s", "odd.type")),
    "cloud.google.com/gke-accelerator": st.sampled_from(("nvidia-tesla-t4", "nvidia-l4")),
    "amd.com/gpu.product-name": st.sampled_from(("MI300X", "MI250")),
    "pool": st.sampled_from(("red", "green")),
}
GROUPS = st.none() | st.sampled_from(("SLOT-1", "SLOT-2", "SLOT-4", "SLOT-8", "SLOT-1-2", "SLOT-3", "red", "small"))
Node = dict[str, Any]
FEW = settings(max_examples=30)  # an example takes some 150 ms: a whole policy is written, read and judged


@st.composite
def fleets(draw: st.DrawFn, *, in_use: bool = True) -> list[Node]:
    """Nodes with hostnames, and any of the labels that might say something; ``in_use``: groups and types, too."""
    group_key = draw(st.sampled_from(("acme.io/node-group", "node-group"))) if in_use else ""
    nodes = []
    for index in range(draw(st.integers(min_value=1, max_value=14))):
        labels = {key: draw(values) for key, values in LABELS.items() if draw(st.booleans())}
        if product := draw(st.sampled_from(PRODUCTS)):
            labels[PRODUCT] = product
        if group_key and (group := draw(GROUPS)):
            labels[group_key] = group
        if in_use and draw(st.integers(min_value=0, max_value=3)) == 0:
            labels["acme.io/gpu-type"] = draw(st.sampled_from(("A100", "V100")))
        gpus = draw(st.sampled_from((1, 2, 3, 4, 6, 7, 8, 8, 8, 10, 16, 40, 56)))
        nodes.append(node(f"node-{index:02}", gpus, labels, resource=draw(st.sampled_from(RESOURCES))))
    return nodes


@FEW
@given(fleets())
def test_lint_finds_nothing(nodes: list[Node]) -> None:
    assert [(f.rule, f.message) for f in lint_text(discover(nodes).text)] == []


@FEW
@given(fleets())
def test_every_gpu_node_is_of_a_type(nodes: list[Node]) -> None:
    plan = assign(load_text(discover(nodes).text), nodes)

    assert (sorted(plan.groups), plan.skipped) == ([each["metadata"]["name"] for each in nodes], ())


@FEW
@given(fleets())
def test_the_order_of_the_nodes_does_not_matter(nodes: list[Node]) -> None:
    assert discover(nodes[::-1]) == discover(nodes)


@FEW
@given(fleets(in_use=False))
def test_a_proposal_that_was_applied_is_proposed_again(nodes: list[Node]) -> None:
    """Labelled nodes keep their groups, by init, too: nothing is left to change."""
    for change in assign(load_text(discover(nodes).text), nodes).changes:
        labels = next(each for each in nodes if each["metadata"]["name"] == change.node)["metadata"]["labels"]
        labels.update(change.set)
    again = assign(load_text(discover(nodes).text), nodes)

    assert {change.node: dict(change.set) for change in again.changes} == {}

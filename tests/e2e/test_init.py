"""``gpupolicy init`` on a real API server: from unlabelled nodes to nodes without drift, and again from there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from commands import Outcome, run
from e2e.controlplane import ControlPlane
from e2e.governed import left_as_found
from fleets import A100, COUNT, PRODUCT, V100

from gpupolicy import load

GROUP = "my.gpu.cluster/node-group"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """40 nodes of two types, and the policy that init wrote for them."""

    plane: ControlPlane
    policy: Path
    written: Outcome

    def nodes(self, action: str, *options: str) -> Outcome:
        """Runs an action of ours as the administrator."""
        return run("nodes", action, self.policy, "--kubeconfig", self.plane.kubeconfig(), *options)

    def groups(self) -> dict[str, str]:
        """The slot group of every node that has one."""
        found = {
            each["metadata"]["name"]: each["metadata"]["labels"] for each in self.plane.api().list("/api/v1/nodes")
        }
        return {name: labels[GROUP] for name, labels in found.items() if GROUP in labels}


def init(plane: ControlPlane, path: Path, *options: str | Path) -> Outcome:
    return run("init", "--kubeconfig", plane.kubeconfig(), "-o", path, *options)


@pytest.fixture(scope="class")
def fleet(control_plane: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """Nodes as feature discovery leaves them, before anybody thought of slot groups."""
    with left_as_found(control_plane):
        control_plane.add_nodes(20, prefix="v100", gpus=8, labels={PRODUCT: V100, COUNT: "8"})
        control_plane.add_nodes(20, prefix="a100", gpus=4, labels={PRODUCT: A100, COUNT: "4"})
        path = tmp_path_factory.mktemp("init") / "policy.yaml"
        written = init(control_plane, path)
        yield Fleet(plane=control_plane, policy=path, written=written)


class TestFortyNodesOfTwoTypes:
    """The tests go on from each other, in this order."""

    def test_init_writes_a_policy_without_remarks(self, fleet: Fleet) -> None:
        told = f"{fleet.policy}: written; next: gpupolicy lint {fleet.policy}\n"

        assert (fleet.written.status, fleet.written.err) == (0, told)

    def test_both_types_are_found(self, fleet: Fleet) -> None:
        assert {t.name: t.gpus_per_node for t in load(fleet.policy).gpu_types} == {A100: 4, V100: 8}

    def test_lint_finds_nothing(self, fleet: Fleet) -> None:
        judged = run("lint", "--strict", fleet.policy)

        assert (judged.status, judged.out) == (0, "")

    def test_applied_it_leaves_no_drift(self, fleet: Fleet) -> None:
        applied = fleet.nodes("apply", "--yes")

        assert (applied.status, len(fleet.groups()), fleet.nodes("status").status) == (0, 40, 0)

    def test_init_again_keeps_every_node_where_it_is(self, fleet: Fleet, tmp_path: Path) -> None:
        path = tmp_path / "again.yaml"
        again = init(fleet.plane, path)
        planned = run("nodes", "plan", path, "--kubeconfig", fleet.plane.kubeconfig(), "--format", "json")

        assert (again.status, planned.json["changes"]) == (0, [])

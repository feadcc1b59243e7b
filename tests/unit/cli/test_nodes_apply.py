"""``gpupolicy nodes apply``: what it refuses, what it asks, what it tells at the end."""

from __future__ import annotations

import io
import json
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from builders import GROUP, TYPE, gpu_type, group, owned, pod, policy
from commands import POLICY as POLICY_FILE
from commands import Outcome, run
from fake_node_api import FakeNodeApi, live_node

from gpupolicy.cli.interrupts import ended_like_ctrl_c
from gpupolicy.cli.nodes_apply import NodesApplyOptions, apply
from gpupolicy.cli.streams import Streams
from gpupolicy.cluster.applying import ApplyOptions
from gpupolicy.cluster.errors import ConnectionFailedError
from gpupolicy.cluster.live import LiveCluster
from gpupolicy.errors import InputError, UsageError
from gpupolicy.inventory.usage import read_usage
from gpupolicy.labels import LabelSelector
from gpupolicy.model import Policy, TaintEffect
from gpupolicy.reporting.json_format import to_text
from gpupolicy.reporting.nodes_json import plan_to_json
from gpupolicy.rollout.planning import plan_nodes

PRODUCT = {"product": "V100"}
V100 = gpu_type("V100", node_selector=LabelSelector(match_labels=PRODUCT))
SMALL = group("SMALL", 1, 2, 4, types=("V100",))
LARGE = group("LARGE", 8, types=("V100",))
POLICY = policy(SMALL, LARGE, types=(V100,))


class Terminal(io.StringIO):
    """Standard input with somebody in front of it."""

    def isatty(self) -> bool:
        return True


def fleet(count: int) -> FakeNodeApi:
    return FakeNodeApi(*(live_node(f"n{number}", PRODUCT) for number in range(1, count + 1)))


def resident(name: str, on: str) -> dict:
    made = owned(pod(8, nodeName=on), "Job")
    return {**made, "metadata": {**made["metadata"], "name": name, "uid": f"uid-{name}"}}  # type: ignore[dict-item]


def nodes_apply(
    api: FakeNodeApi,
    *,
    used: Policy = POLICY,
    stdin: io.StringIO | None = None,
    plan: Path | None = None,
    agreed: bool = True,
    format: str = "text",
    **how: object,
) -> Outcome:
    out, err = io.StringIO(), io.StringIO()
    options = NodesApplyOptions(
        plan=None if plan is None else str(plan),
        format=format,
        manager="gpupolicy",
        agreed=agreed,
        how=ApplyOptions(health_timeout_seconds=0.0, **how),  # type: ignore[arg-type]
    )
    streams = Streams(stdin=stdin or io.StringIO(), stdout=out, stderr=err)
    status = apply(used, LiveCluster(api), options, streams)  # type: ignore[arg-type]
    return Outcome(status=status, out=out.getvalue(), err=err.getvalue())


def save(api: FakeNodeApi, folder: Path) -> Path:
    """Saves the plan for what is there."""
    made = plan_nodes(POLICY, api.nodes.values(), read_usage(POLICY, api.pods.values()))
    (folder / "plan.json").write_text(to_text(plan_to_json(made, api.name)))
    return folder / "plan.json"


def test_each_node_is_told_when_it_is_done() -> None:
    outcome = nodes_apply(fleet(2))

    assert outcome.status == 0
    assert outcome.out == "n1: done: no group -> SMALL\nn2: done: no group -> LARGE\n"
    assert outcome.err == "2 nodes to change: 2 done, 0 not reached\n"


def test_a_second_apply_has_nothing_to_do() -> None:
    api = fleet(2)
    nodes_apply(api)

    outcome = nodes_apply(api, agreed=False)

    assert (outcome.status, outcome.out, outcome.err) == (0, "", "0 nodes to change: 0 not reached\n")


def test_json_tells_every_node() -> None:
    outcome = nodes_apply(fleet(1), format="json")

    assert json.loads(outcome.out) == {
        "kind": "NodeApply",
        "policy": "test",
        "dryRun": False,
        "results": [{"node": "n1", "outcome": "done", "message": "no group -> SMALL"}],
        "notReached": [],
        "evicted": [],
        "cordoned": [],
        "stopped": None,
    }


def test_without_a_terminal_somebody_has_to_say_yes() -> None:
    api = fleet(1)

    with pytest.raises(UsageError, match="standard input is no terminal, so nobody can be asked: say --yes"):
        nodes_apply(api, agreed=False)
    assert GROUP not in api.labels("n1")


@pytest.mark.parametrize(("answer", "done"), [("y\n", True), ("YES\n", True), ("n\n", False), ("\n", False)])
def test_on_a_terminal_it_asks(answer: str, done: bool) -> None:
    api = fleet(1)

    outcome = nodes_apply(api, agreed=False, stdin=Terminal(answer))

    assert (outcome.status, GROUP in api.labels("n1")) == (0 if done else 1, done)
    assert "1 node: 1 to change, 0 skipped\nChange 1 node? [y/N] " in outcome.err


def test_a_dry_run_asks_nobody_and_changes_nothing() -> None:
    api = fleet(1)

    outcome = nodes_apply(api, agreed=False, dry_run=True)

    assert (outcome.status, outcome.out) == (0, "n1: done: no group -> SMALL\n")
    assert outcome.err == "1 node to change: 1 done, 0 not reached (dry run: nothing was changed)\n"
    assert GROUP not in api.labels("n1")


def test_conflicts_are_refused_before_anything_is_done() -> None:
    api = FakeNodeApi(live_node("n1", PRODUCT), live_node("n2", {**PRODUCT, TYPE: "OLD"}))

    outcome = nodes_apply(api)

    assert (outcome.status, GROUP in api.labels("n1")) == (1, False)
    assert outcome.out == f"n2: {TYPE}=OLD belongs to kubectl-label at 2026-01-01T00:00:00Z\n"
    assert outcome.err == "error: other field managers own what changes, so nothing was done: see --force-conflicts\n"


def test_many_conflicts_are_cut() -> None:
    api = FakeNodeApi(*(live_node(f"n{number:02}", {**PRODUCT, TYPE: "OLD"}) for number in range(30)))

    assert nodes_apply(api).out.splitlines()[-1] == "and 10 more"


def test_conflicts_are_taken_over_by_force() -> None:
    api = FakeNodeApi(live_node("n1", {**PRODUCT, TYPE: "OLD"}))

    assert nodes_apply(api, force=True).status == 0
    assert api.labels("n1")[TYPE] == "V100"


def test_no_execute_wants_a_drain() -> None:
    evicting = policy(replace(SMALL, taint=TaintEffect.NO_EXECUTE), types=(V100,))

    with pytest.raises(UsageError, match="the plan sets NoExecute taints"):
        nodes_apply(fleet(1), used=evicting)


def test_a_saved_plan_is_carried_out(tmp_path: Path) -> None:
    api = fleet(2)
    plan = save(api, tmp_path)
    api.touch("n1")

    assert nodes_apply(api, plan=plan).status == 0
    assert (api.labels("n1")[GROUP], api.labels("n2")[GROUP]) == ("SMALL", "LARGE")


def relabel(api: FakeNodeApi) -> None:
    api.label("n1", "product", "A100", manager="gfd")


def remove(api: FakeNodeApi) -> None:
    del api.nodes["n1"]


def fill(api: FakeNodeApi) -> None:
    api.pods["team-a", "late"] = resident("late", "n1")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        pytest.param(
            relabel, "n1: label product was V100 and is A100 (by gfd at 2026-01-01T00:00:00Z)\n", id="another-label"
        ),
        pytest.param(remove, "n1: it is gone\n", id="gone"),
        pytest.param(fill, "n1: pods that would be misplaced came to it: team-a/late\n", id="a-pod-came"),
    ],
)
def test_a_stale_plan_is_refused_with_the_reason(
    change: Callable[[FakeNodeApi], None], told: str, tmp_path: Path
) -> None:
    api = fleet(2)
    plan = save(api, tmp_path)
    change(api)

    outcome = nodes_apply(api, plan=plan)

    assert (outcome.status, outcome.out) == (1, told)
    assert outcome.err == "error: the plan is stale, so nothing was done: run gpupolicy nodes plan again\n"
    assert GROUP not in api.labels("n2")


def test_a_saved_plan_that_was_carried_out_in_part_goes_on(tmp_path: Path) -> None:
    api = fleet(3)
    plan = save(api, tmp_path)
    left = iter(range(5))

    def kill(method: str, path: str) -> None:
        if method == "PATCH" and path.endswith("n2") and next(left, None) is not None:
            raise KeyboardInterrupt

    api.before = kill
    with pytest.raises(KeyboardInterrupt):
        nodes_apply(api, plan=plan)
    api.before = lambda method, path: None

    assert nodes_apply(api, plan=plan).out.splitlines()[0] == "n1: already: is as planned"
    assert [api.labels(name)[GROUP] for name in api.nodes] == ["SMALL", "SMALL", "LARGE"]


@pytest.mark.parametrize("text", ["", "{", '{"kind": "List"}', "[" * 100_000], ids=["empty", "cut", "list", "deep"])
def test_a_file_that_is_no_plan_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text(text)

    with pytest.raises(InputError):
        nodes_apply(fleet(1), plan=tmp_path / "plan.json")


def test_a_lost_connection_tells_what_was_done_and_what_was_not() -> None:
    api = fleet(3)

    def lose(method: str, path: str) -> None:
        if path.endswith("/n2"):
            raise ConnectionFailedError("context test: the connection was lost")

    api.before = lose
    outcome = nodes_apply(api, batch_size=1)

    assert outcome.status == 1
    assert outcome.out == "n1: done: no group -> SMALL\n"
    assert outcome.err == (
        "error: stopped: context test: the connection was lost\n"
        "3 nodes to change: 1 done, 2 not reached\n"
        "not reached: n2, n3\n"
    )


def test_an_interrupt_tells_which_node_was_being_changed() -> None:
    api, err = fleet(2), io.StringIO()

    def interrupt(method: str, path: str) -> None:
        if method == "PATCH" and path.endswith("/n2"):
            raise KeyboardInterrupt

    api.before = interrupt
    options = NodesApplyOptions(plan=None, format="text", manager="gpupolicy", agreed=True, how=ApplyOptions())
    with pytest.raises(KeyboardInterrupt):
        apply(POLICY, LiveCluster(api), options, Streams(stdin=io.StringIO(), stdout=io.StringIO(), stderr=err))  # type: ignore[arg-type]

    assert err.getvalue() == (
        "2 nodes to change: 1 done, 1 not reached\nbeing changed when it ended, perhaps done: n2\nnot reached: n2\n"
    )


def test_sigterm_ends_a_run_as_ctrl_c_does() -> None:
    before = signal.getsignal(signal.SIGTERM)

    with pytest.raises(KeyboardInterrupt), ended_like_ctrl_c():
        signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is before


def test_evicted_pods_and_nodes_that_are_left_cordoned_are_told() -> None:
    api = FakeNodeApi(*(live_node(f"n{number}", {**PRODUCT, GROUP: "LARGE"}) for number in (1, 2)))
    api.pods["team-a", "a"] = resident("a", "n1")
    api.pods["team-a", "b"] = resident("b", "n2")
    evicted: list[str] = []

    def lose(method: str, path: str) -> None:
        if evicted and method == "PATCH":
            raise ConnectionFailedError("lost")
        evicted.extend([path] if method == "POST" else [])

    api.before = lose
    outcome = nodes_apply(api, drain=True, force=True)

    assert outcome.err.splitlines()[2:] == [
        "evicted: team-a/b",
        "not reached: n2",
        "still cordoned by us: n2; the next apply goes on with them",
    ]


def test_without_a_cluster_it_names_what_works_without_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)

    outcome = run("nodes", "apply", POLICY_FILE)

    assert outcome.status == 2
    assert outcome.err.endswith("; nodes plan --from FILE shows what would change\n")

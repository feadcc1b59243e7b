"""``gpupolicy capacity``: figures from dumps."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any

import pytest
from claim_builders import claim, claiming
from commands import POLICY, run
from e2e.processes import wait_for
from fleet_builders import running, seated
from starting import start

NODES = [seated("a", "SLOT-4"), seated("b", "SLOT-8")]
PODS = [running("p", 4, "a"), running("q", 1, "a")]


def written(file: Path, *objects: dict[str, Any]) -> Path:
    file.write_text(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", **o} for o in objects]})
    )
    return file


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """Two nodes and two pods, as kubectl prints them."""
    return written(tmp_path / "dump.json", *NODES, *PODS)


def four(report: dict[str, Any]) -> dict[str, Any]:
    """The figures of SLOT-4."""
    (found,) = (group for group in report["groups"] if (group["slotGroup"], group["gpuType"]) == ("SLOT-4", "V100"))
    return found


def test_the_figures_of_a_dump_as_text(dump: Path) -> None:
    outcome = run("capacity", POLICY, "--from", dump)

    assert outcome.status == 0
    assert "SLOT-4          1     8     5     3     4      2     2     0        0  [##]\n" in outcome.out
    assert "  team-a/q: a is in SLOT-4; requests for 1 GPU go to SLOT-1\n" in outcome.out
    assert outcome.err == "2 nodes and 2 pods read\n"


def test_where_no_node_is_in_a_group_it_says_how_to_go_on(tmp_path: Path) -> None:
    nodes = written(tmp_path / "nodes.json", seated("a", None), running("p", 4, "a"))

    outcome, planned = (run("capacity", POLICY, "--from", nodes, *more) for more in ((), ("--as-planned",)))

    assert outcome.status == 0
    assert "1 GPU node in no slot group (4 GPUs free): a; reason: no label my.gpu.cluster/node-group\n" in outcome.out
    assert "hint: no node is labelled for a slot group yet: --as-planned counts with the groups" in outcome.err
    assert "hint: " not in planned.err


def test_the_figures_of_a_dump_as_json(dump: Path) -> None:
    report = run("capacity", POLICY, "--from", dump, "--format", "json").json

    assert (report["kind"], four(report)["gpus"]["used"], four(report)["stranded"]) == ("CapacityReport", 5, 3)


def test_the_figures_of_a_dump_as_metrics(dump: Path) -> None:
    outcome = run("capacity", POLICY, "--from", dump, "--format", "prometheus")

    assert 'gpupolicy_gpus_used{gpu_type="V100",slot_group="SLOT-4"} 5.0\n' in outcome.out


def test_nodes_and_pods_may_come_in_several_files_and_on_standard_input(tmp_path: Path) -> None:
    nodes = written(tmp_path / "nodes.json", *NODES)
    pods = json.dumps({"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", **pod} for pod in PODS]})

    outcome = run("capacity", POLICY, "--from", nodes, "--from", "-", "--format", "json", stdin=pods)

    assert four(outcome.json)["gpus"]["used"] == 5


def test_nodes_without_any_pod_look_like_an_empty_cluster_which_is_told(tmp_path: Path) -> None:
    nodes = written(tmp_path / "nodes.json", *NODES)

    outcome = run("capacity", POLICY, "--from", nodes)

    assert outcome.err == f"note: there is no Pod in {nodes}, so nodes count as empty\n2 nodes and 0 pods read\n"


def test_options_reach_the_count(dump: Path) -> None:
    options = ("--per-gpu", "cpu=20,memory=1Gi", "--tolerates", "dedicated", "--as-planned", "--what-if", "SLOT-8: +1")

    report = run("capacity", POLICY, "--from", dump, "--format", "json", *options).json

    assert report["perGPU"] == {"cpuMilli": 20000, "memoryBytes": 2**30}
    assert report["whatIf"]["changes"] == ["SLOT-8: +1"]


def test_labels_of_namespaces_in_the_dump_count(tmp_path: Path) -> None:
    text = Path(POLICY).read_text()
    selecting = tmp_path / "policy.yaml"
    exempt = '{namespaceSelector: {matchLabels: {exempt: "yes"}}, reason: said so}'
    selecting.write_text(re.sub(r"exemptions:.*(\n +- .*)*", f"exemptions: [{exempt}]", text))
    namespace = {"kind": "Namespace", "metadata": {"name": "team-a", "labels": {"exempt": "yes"}}}
    dump = written(tmp_path / "dump.json", namespace, *NODES, *PODS)

    assert run("capacity", selecting, "--from", dump, "--format", "json").json["misplaced"] == []


@pytest.mark.parametrize("nodes", [[], [seated("a", None, gpu_type=None)]], ids=["no-node", "no-node-of-ours"])
def test_nothing_counted_is_an_error(nodes: list[dict[str, Any]], tmp_path: Path) -> None:
    outcome = run("capacity", POLICY, "--from", written(tmp_path / "dump.json", *nodes, PODS[0]))

    assert outcome.status == 2
    assert outcome.err.endswith("error: nothing counted: no node is of a GPU type of policy training\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(("--what-if", "SLOT-9: +1"), "there is no slot group SLOT-9", id="what-if"),
        pytest.param(("--per-gpu", "gpu=1"), "cpu=AMOUNT,memory=AMOUNT is expected", id="per-gpu"),
        pytest.param(("--per-gpu", "cpu=-1"), "-1 is less than nothing", id="per-gpu-negative"),
        pytest.param(("--per-gpu", "cpu=1,cpu=2"), "cpu=AMOUNT,memory=AMOUNT is expected", id="per-gpu-twice"),
        pytest.param(("--per-gpu", "cpu=much"), '"much" is not a quantity', id="per-gpu-amount"),
        pytest.param(("--watch", "0"), "0 is no time: whole seconds from 1 to 86400 are expected", id="watch"),
        pytest.param(("--serve", "here"), "here is no address: HOST:PORT is expected", id="serve"),
        pytest.param(("--watch", "--serve", ":0"), "not allowed with argument --watch", id="both"),
        pytest.param(("--watch", "1", "--from", "-"), "which standard input does not allow", id="watch-stdin"),
        pytest.param(("--from", "-", "--from", "-"), "- (standard input) can be read once only", id="stdin-twice"),
    ],
)
def test_arguments_that_do_not_fit_are_wrong_usage(arguments: tuple[str, ...], message: str, dump: Path) -> None:
    outcome = run("capacity", POLICY, "--from", dump, *arguments)

    assert (outcome.status, outcome.out) == (2, "")
    assert message in outcome.err


def test_a_dump_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    outcome = run("capacity", POLICY, "--from", tmp_path / "none.json")

    assert outcome.status == 2
    assert "none.json" in outcome.err


def started(*arguments: object, out: int | IO[Any] | None = subprocess.PIPE) -> subprocess.Popen[str]:
    """The command as a process of its own, which hears Ctrl-C even where these tests run in the background."""
    command = [sys.executable, "-m", "gpupolicy", "capacity", *map(str, arguments)]
    environment = {**os.environ, "COLUMNS": "120", "LINES": "60", "NO_COLOR": ""}
    heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    return start(command, stdout=out, stderr=subprocess.PIPE, text=True, env=environment, preexec_fn=heard)


@pytest.fixture
def terminal() -> Iterator[tuple[int, Callable[[str], str]]]:
    """A terminal to write to, and what waits until a text is on it."""
    ours, theirs = pty.openpty()
    seen = ""

    def wait_for(text: str) -> str:
        nonlocal seen
        while text not in seen:
            seen += os.read(ours, 65536).decode()
        before, seen = seen.split(text, 1)
        return before + text

    yield theirs, wait_for
    os.close(ours)
    os.close(theirs)


def test_a_watch_draws_in_place_survives_a_broken_file_and_ends_well(
    dump: Path, terminal: tuple[int, Callable[[str], str]]
) -> None:
    screen, wait_for = terminal

    with started(POLICY, "--from", dump, "--watch", "1", out=screen) as process:
        first = wait_for("[##]")
        whole = dump.read_text()
        dump.write_text(whole[: len(whole) // 2])
        wait_for("reading failed at ")
        written(dump, *NODES)
        wait_for("\x1b[32m..\x1b[0m]")
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 0

    assert first.startswith("\x1b[H\x1b[Jread at 20")


def test_a_watch_of_json_writes_figures_alone(dump: Path) -> None:
    with started(POLICY, "--from", dump, "--watch", "1", "--format", "json") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == "{\n"
        dump.write_text("{")
        assert "reading failed at " in process.stderr.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 0


def test_served_metrics_follow_the_cluster_and_count_failures(dump: Path) -> None:
    with started(POLICY, "--from", dump, "--serve", "127.0.0.1:0", "--refresh", "1") as process:
        assert process.stderr is not None
        told = process.stderr.readline()
        address = told.rpartition(" ")[2].strip()
        before = fetched(address)
        dump.write_text("{")
        assert "reading failed at " in process.stderr.readline()
        after = fetched(address)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=20) == 0

    used = 'gpupolicy_gpus_used{gpu_type="V100",slot_group="SLOT-4"} 5.0\n'
    assert told.startswith("2 nodes and 2 pods read; metrics on http://127.0.0.1:")
    assert used in before
    assert used in after
    assert "gpupolicy_capacity_read_failures_total 0.0\n" in before
    assert "gpupolicy_capacity_read_failures_total 0.0\n" not in after


def test_served_metrics_follow_the_policy_and_one_with_errors_leaves_the_last_figures(
    dump: Path, tmp_path: Path
) -> None:
    policy = tmp_path / "policy.yaml"
    text = Path(POLICY).read_text()
    policy.write_text(text)
    with started(policy, "--from", dump, "--serve", "127.0.0.1:0", "--refresh", "1") as process:
        assert process.stderr is not None
        address = process.stderr.readline().rpartition(" ")[2].strip()
        before = fetched(address)
        policy.write_text(text.replace("name: SLOT-4", "name: SLOT-FOUR"))
        wait_for(lambda: 'slot_group="SLOT-FOUR"' in fetched(address))
        policy.write_text("spec: [")
        told = process.stderr.readline()
        after = fetched(address)

    assert 'slot_group="SLOT-4"' in before
    assert "reading failed at " in told
    assert 'slot_group="SLOT-FOUR"' in after


def fetched(address: str) -> str:
    with urllib.request.urlopen(address, timeout=20) as answer:
        return str(answer.read().decode())


def test_an_address_that_is_taken_is_an_error(dump: Path) -> None:
    with started(POLICY, "--from", dump, "--serve", "127.0.0.1:0") as process:
        assert process.stderr is not None
        taken = process.stderr.readline().rpartition(" ")[2].removeprefix("http://").partition("/")[0]
        outcome = run("capacity", POLICY, "--from", dump, "--serve", taken)
        process.terminate()

    assert outcome.status == 2
    assert outcome.err == f"error: cannot listen on http://{taken}/metrics: address already in use\n"


def test_claims_in_the_dump_are_counted(tmp_path: Path) -> None:
    text = Path(POLICY).read_text().replace("gpusPerNode: 8", "gpusPerNode: 8\n      deviceClasses: [gpu.example.com]")
    (tmp_path / "policy.yaml").write_text(text)
    file = written(tmp_path / "dump.json", *NODES, claiming("p", "a"), claim(4))

    outcome = run("capacity", tmp_path / "policy.yaml", "--from", file, "--format", "json")

    assert (four(outcome.json)["gpus"]["used"], outcome.err) == (4, "2 nodes and 1 pod read\n")

"""The openb cluster (Alibaba, cluster-trace-gpu-v2023) as Kubernetes objects: its nodes, and pods that run on them.

    python benchmarks/openb.py DATA > openb.json            the busiest moment of the trace
    python benchmarks/openb.py DATA --fill 50 > openb.json  pods in the order of the trace that ask for 50% of the GPUs
    gpupolicy capacity benchmarks/openb.yaml --from openb.json

DATA holds openb_node_list_all_node.csv and openb_pod_list_default.csv. The trace does not say where a pod ran, so we
place it, with its own cpu, memory and GPUs. A part of a GPU counts as a whole one, as with NVIDIA's device plugin.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from bisect import insort
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gpupolicy import Policy, admit, assign, load

NODES, PODS = "openb_node_list_all_node.csv", "openb_pod_list_default.csv"
POLICY = Path(__file__).with_name("openb.yaml")
MODEL = "openb/model"
GPU = "nvidia.com/gpu"

Row = Mapping[str, str]
Object = dict[str, Any]


def read_rows(file: Path) -> list[Row]:
    """The rows of a CSV file."""
    with file.open(newline="") as lines:
        return list(csv.DictReader(lines))


def to_node(row: Row) -> Object:
    """A row of the node list as a Node that is ready and has room for 110 pods."""
    amounts = {"cpu": f"{row['cpu_milli']}m", "memory": f"{row['memory_mib']}Mi", "pods": "110"}
    amounts |= {GPU: row["gpu"]} if row["gpu"] != "0" else {}
    ready = {"type": "Ready", "status": "True"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": row["sn"], "labels": {MODEL: row["model"]} if row["model"] else {}},
        "status": {"capacity": amounts, "allocatable": dict(amounts), "conditions": [ready]},
    }


def to_pod(row: Row) -> Object:
    """A row of the pod list as a Pod that waits."""
    requests = {"cpu": f"{row['cpu_milli']}m", "memory": f"{row['memory_mib']}Mi"}
    limits = {GPU: row["num_gpu"]} if row["num_gpu"] != "0" else {}
    container = {"name": "main", "image": "openb", "resources": {"requests": {**requests, **limits}, "limits": limits}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": row["name"], "namespace": "openb"},
        "spec": {"containers": [container]},
        "status": {"phase": "Pending"},
    }


def running_at(rows: Iterable[Row], moment: float) -> list[Row]:
    """The pods that had been scheduled and not deleted."""
    return [row for row in rows if row["scheduled_time"] and _time(row, "scheduled") <= moment < _time(row, "deletion")]


def busiest_moment(rows: Iterable[Row]) -> float:
    """The first second at which pods held the most GPUs."""
    ran = [row for row in rows if row["scheduled_time"]]
    steps = [(_time(row, "scheduled"), int(row["num_gpu"])) for row in ran]
    steps += [(_time(row, "deletion"), -int(row["num_gpu"])) for row in ran]
    held = most = 0
    busiest = 0.0
    for moment, gpus in sorted(steps):
        held += gpus
        if held > most:
            most, busiest = held, moment
    return busiest


def until_full(rows: Iterable[Row], gpus: float) -> list[Row]:
    """The GPU pods in the order of the trace, as many as ask for that many GPUs together."""
    taken: list[Row] = []
    for row in rows:
        if 0 < int(row["num_gpu"]) <= gpus:
            taken.append(row)
            gpus -= int(row["num_gpu"])
    return taken


def place(
    nodes: Sequence[Row],
    pods: Sequence[Row],
    *,
    spread: bool = False,
    levels: Callable[[Row], Sequence[Callable[[str], bool]]] = lambda pod: (lambda node: True,),
) -> dict[str, str]:
    """Puts pods on nodes one after the other; returns the node of every pod that found one.

    Args:
        nodes: rows of the node list.
        pods: rows of the pod list, in order of arrival.
        spread: take the node with the most free GPUs, instead of the least that will do.
        levels: by pod, which nodes (by name) it may use, first choice first.
    """
    free = {row["sn"]: _amounts(row, "gpu") for row in nodes}
    by_free_gpus: dict[int, list[str]] = {}
    for name in sorted(free):
        by_free_gpus.setdefault(free[name][0], []).append(name)
    placed: dict[str, str] = {}
    for pod in pods:
        wants = _amounts(pod, "num_gpu")
        order = sorted((gpus for gpus in by_free_gpus if gpus >= wants[0]), reverse=spread and wants[0] > 0)
        names = [name for gpus in order for name in by_free_gpus[gpus]]
        fits = (name for may_use in levels(pod) for name in names if may_use(name) and _fits(wants, free[name]))
        if (best := next(fits, None)) is not None:
            by_free_gpus[free[best][0]].remove(best)
            free[best] = [left - want for left, want in zip(free[best], wants, strict=True)]
            insort(by_free_gpus.setdefault(free[best][0], []), best)
            placed[pod["name"]] = best
    return placed


def _amounts(row: Row, gpus: str) -> list[int]:
    return [int(row[gpus]), int(row["cpu_milli"]), int(row["memory_mib"])]


def _fits(wants: list[int], left: list[int]) -> bool:
    return all(map(int.__le__, wants, left))


def groups_as_levels(policy: Policy, groups: Mapping[str, str]) -> Callable[[Row], Sequence[Callable[[str], bool]]]:
    """Where the policy sends a pod: slot groups in their order, by the decision that the webhook makes."""
    known: dict[str, Sequence[str]] = {}

    def levels(pod: Row) -> Sequence[Callable[[str], bool]]:
        if pod["num_gpu"] not in known:
            placement = admit(policy, to_pod(pod)).placement
            known[pod["num_gpu"]] = placement.slot_groups if placement else ()
        wanted = known[pod["num_gpu"]]
        return [lambda name, group=group: groups.get(name) == group for group in wanted] or [lambda name: True]

    return levels


def cluster(data: Path, *, fill: float | None = None, by: str = "groups") -> Object:
    """The cluster as ``kubectl get nodes,pods -A -o json`` prints it.

    Args:
        data: the folder of the CSV files.
        fill: percent of the GPUs that pods ask for; None: the pods of the busiest moment.
        by: how pods are placed: spread, pack, or groups (packed inside the slot groups of the policy).
    """
    node_rows, pod_rows = read_rows(data / NODES), read_rows(data / PODS)
    policy = load(str(POLICY))
    nodes = [to_node(row) for row in node_rows]
    plan = assign(policy, nodes)
    wanted = {change.node: change.set for change in plan.changes}
    for node in nodes:
        node["metadata"]["labels"] |= wanted.get(node["metadata"]["name"], {})
    total = sum(int(row["gpu"]) for row in node_rows)
    chosen = (
        running_at(pod_rows, busiest_moment(pod_rows)) if fill is None else until_full(pod_rows, total * fill / 100)
    )
    groups = {name: group for name, (_, group) in plan.groups.items() if group}
    if by == "groups":
        placed = place(node_rows, chosen, levels=groups_as_levels(policy, groups))
    else:
        placed = place(node_rows, chosen, spread=by == "spread")
    return {"apiVersion": "v1", "kind": "List", "items": [*nodes, *(_on_node(row, placed) for row in chosen)]}


def _on_node(row: Row, placed: Mapping[str, str]) -> Object:
    pod = to_pod(row)
    if node := placed.get(row["name"]):
        pod["spec"]["nodeName"] = node
        pod["status"]["phase"] = "Running"
    return pod


def _time(row: Row, which: str) -> float:
    return float(row[f"{which}_time"])


def main() -> None:
    """Writes the cluster to standard output."""
    parser = argparse.ArgumentParser(description="The openb cluster as Kubernetes objects.")
    parser.add_argument("data", type=Path, help="the folder of the CSV files")
    parser.add_argument("--fill", type=float, metavar="PERCENT", help="of the GPUs (default: the busiest moment)")
    parser.add_argument("--by", choices=("groups", "pack", "spread"), default="groups", help="how pods are placed")
    args = parser.parse_args()
    json.dump(cluster(args.data, fill=args.fill, by=args.by), sys.stdout)


if __name__ == "__main__":
    main()

"""``admit`` alone: microseconds a pod and pods a second, on the pods of the captured reviews."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

import gpupolicy

ROOT = Path(__file__).resolve().parents[1]


def read_pods() -> list[dict[str, object]]:
    """Returns the pods of all captured reviews that create one."""
    reviews = [
        json.loads(path.read_bytes())["request"] for path in sorted((ROOT / "tests/data/reviews").glob("*.json"))
    ]
    return [r["object"] for r in reviews if r["kind"]["kind"] == "Pod" and r["operation"] == "CREATE"]


def measure(decide: Callable[[dict[str, object]], object], pods: list[dict[str, object]], *, times: int) -> float:
    """Returns CPU microseconds a pod: the median of rounds over all pods."""
    rounds = []
    for _ in range(times):
        begin = time.process_time()
        for _ in range(20):
            for pod in pods:
                decide(pod)
        rounds.append((time.process_time() - begin) / len(pods) / 20 * 1e6)
    return median(rounds)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--policy", type=Path, default=ROOT / "policies/classic.yaml")
    parser.add_argument("--rounds", type=int, default=50)
    args = parser.parse_args()
    policy = gpupolicy.load(args.policy)
    now = datetime.now(UTC)
    pods = read_pods()
    no_gpu = {"metadata": {"name": "web"}, "spec": {"containers": [{"name": "c", "image": "x"}]}}
    print(f"{'what':<42} {'us a pod':>10} {'pods/s':>10}       goal")
    for name, group, goal in (
        (f"admit, {len(pods)} captured pods", pods, ">= 10,000 pods/s"),
        ("admit, a pod without a GPU", [no_gpu], ""),
    ):
        cost = measure(lambda pod: gpupolicy.admit(policy, pod, namespace="default", now=now), group, times=args.rounds)
        print(f"{name:<42} {cost:>10.1f} {1e6 / cost:>10,.0f}       {goal}")


if __name__ == "__main__":
    main()

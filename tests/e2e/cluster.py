"""A cluster to play with: ``python tests/e2e/cluster.py``, until Ctrl-C.

Five nodes with 8 GPUs under the classic policy, with its scheduler, our webhook and the controllers. There are no
containers: pods are bound and called running.
"""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path
from types import FrameType

if __name__ == "__main__":  # as a script Python offers this folder instead of the one above it
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from controlplane import build
from e2e.controlplane import ControlPlane
from e2e.governed import governed
from e2e.processes import ServerError
from e2e.product import shipped

NODES = 5
GPUS_PER_NODE = 8
PRODUCT = {"nvidia.com/gpu.product": "Tesla-V100-SXM2-32GB"}  # what the policy tells the GPU type by


def run() -> None:
    """Start everything, say how to use it, and stay until the process is told to end."""
    policy_file = shipped("classic")
    with ControlPlane() as plane:
        plane.add_nodes(NODES, gpus=GPUS_PER_NODE, labels=PRODUCT)
        plane.controller_manager()
        with governed(plane, policy_file, plane.folder) as cluster:
            _say(f"{NODES} nodes with {GPUS_PER_NODE} GPUs each, under {policy_file}:")
            for node, group in cluster.slot_groups.items():
                _say(f"  {node}  {group}")
            _say(f"logs in {plane.log_folder}; Ctrl-C stops it all")
            _say(f"kubectl of the same version: {plane.binaries['kubectl']}")
            print(f"export KUBECONFIG={plane.kubeconfig()}", flush=True)
            while True:
                time.sleep(1)
                plane.check_running()
                cluster.scheduler.check_running()
                cluster.product.server.process.check_running()
                plane.act_as_kubelets()


def _end(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def main() -> int:
    """Run until Ctrl-C, SIGTERM or the end of the terminal; each of them is a good end."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    try:
        run()
    except KeyboardInterrupt:
        _say("stopped")
        return 0
    except (build.UnavailableError, build.BuildError, ServerError) as error:
        _say(f"error: {error}")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Runs all benchmarks, one after the other, and prints one table."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

BENCHMARKS = ("cold_start.py", "admit.py", "review.py", "check.py", "inventory.py")


def main() -> int:
    """Returns the status of the first benchmark that fails, else 0."""
    load = os.getloadavg()[0]
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, load {load:.1f}", flush=True)
    if load > (os.cpu_count() or 1) / 2:
        print("the machine is busy: ratios hold roughly, absolute figures do not", flush=True)
    for name in BENCHMARKS:
        print(flush=True)
        status = subprocess.run([sys.executable, str(Path(__file__).with_name(name))], check=False).returncode
        if status:
            return status
    return 0


if __name__ == "__main__":
    sys.exit(main())

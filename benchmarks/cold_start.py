"""Cold start of ``gpupolicy lint`` against ``python -c pass``, as a pre-commit hook feels it."""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from installed import environment
from rounds import HEADER, compare

ROOT = Path(__file__).resolve().parents[1]
LINT = "from gpupolicy.cli import run_main; run_main()"


def wall(variables: Mapping[str, str], *arguments: str) -> float:
    """Returns the milliseconds that a run of this Python takes."""
    command = [sys.executable, *arguments]
    begin = time.perf_counter()
    subprocess.run(command, env=variables, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return (time.perf_counter() - begin) * 1e3


def cpu(variables: Mapping[str, str], *arguments: str) -> float:
    """Returns the milliseconds of CPU that a run of this Python takes: neighbours on the machine disturb it less."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    wall(variables, *arguments)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e3


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--policy", type=Path, default=ROOT / "policies/classic.yaml")
    parser.add_argument("--rounds", type=int, default=10)
    args = parser.parse_args()
    lint = ("-c", LINT, "lint", str(args.policy))
    print(HEADER)
    with TemporaryDirectory(prefix="gpupolicy-benchmark-") as folder:
        variables = environment(folder)
        for name, measure in (("wall", wall), ("CPU", cpu)):
            nothing = partial(measure, variables, "-c", "pass")
            pair = compare(partial(measure, variables, *lint), nothing, rounds=args.rounds)
            print(pair.row(f"{name} of lint / python -c pass", "ms", "<= 8"))


if __name__ == "__main__":
    main()

"""Cold start of ``gpupolicy lint`` against ``python -c pass``, as a pre-commit hook feels it."""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from pathlib import Path

from rounds import HEADER, compare

ROOT = Path(__file__).resolve().parents[1]
LINT = "import sys; from gpupolicy.cli import main; sys.exit(main(sys.argv[1:]))"


def wall(*arguments: str) -> float:
    """Returns the milliseconds that a run of this Python takes."""
    begin = time.perf_counter()
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return (time.perf_counter() - begin) * 1e3


def cpu(*arguments: str) -> float:
    """Returns the milliseconds of CPU that a run of this Python takes: neighbours on the machine disturb it less."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    wall(*arguments)
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
    for name, measure in (("wall", wall), ("CPU", cpu)):
        pair = compare(lambda m=measure: m(*lint), lambda m=measure: m("-c", "pass"), rounds=args.rounds)
        print(pair.row(f"{name} of lint / python -c pass", "ms", "<= 8"))


if __name__ == "__main__":
    main()

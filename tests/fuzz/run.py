"""Looks for inputs that break us: ``python tests/fuzz/run.py [TARGET...] [--seconds N]``.

With atheris installed it is guided by coverage (``pip install atheris``; Linux, Python 3.11 to 3.13), without it it
changes the corpus at random. An input that breaks something is kept; put it into the corpus when the defect is mended.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random

ROOT = Path(__file__).resolve().parents[2]
FOUND = ROOT / "build" / "fuzz"


def main() -> int:
    """Runs the targets one after the other; exit status 1 where one broke."""
    sys.path[:0] = [str(ROOT / "tests"), str(Path(__file__).parent)]
    names = ("policy", "manifest", "function", "policy-test", "review", "json-object")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(names)}; default: all")
    parser.add_argument("--seconds", type=int, default=60, help="for each target (default: 60)")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the random changes")
    parser.add_argument("--guided", metavar="TARGET", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.guided:
        return run_guided(args.guided, args.seconds)
    broken = [name for name in args.targets or names if not run_target(name, args.seconds, args.seed)]
    print(f"broken: {', '.join(broken)}" if broken else "nothing broke")
    return 1 if broken else 0


def run_target(name: str, seconds: int, seed: int) -> bool:
    """Runs one target, guided by coverage where that is possible; returns whether it held."""
    print(f"{name}: {seconds} s", flush=True)
    if has_atheris():
        command = [sys.executable, __file__, "--guided", name, "--seconds", str(seconds)]
        return subprocess.run(command).returncode == 0
    return run_random(name, seconds, seed)


def has_atheris() -> bool:
    try:
        import atheris  # noqa: F401
    except ImportError:
        return False
    return True


def run_random(name: str, seconds: int, seed: int) -> bool:
    """Changes the corpus at random until the time is up or something breaks."""
    from mutations import mutate, seeds
    from targets import TARGETS

    random, corpus, target = Random(seed), seeds(), TARGETS[name]
    end = time.monotonic() + seconds
    count = 0
    while time.monotonic() < end:
        data = mutate(random, corpus)
        try:
            target(data)
        except Exception as error:
            print(f"{name} broke with seed {seed} after {count} inputs: {type(error).__name__}: {error}")
            print(f"the input is kept in {keep(data)}")
            return False
        count += 1
    print(f"{name}: {count} inputs held")
    return True


def run_guided(name: str, seconds: int) -> int:
    """Hands a target to atheris, which ends the process itself."""
    import atheris

    with atheris.instrument_imports(include=["gpupolicy"]):
        from mutations import CORPUS, MOST_BYTES
        from targets import TARGETS
    FOUND.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="gpupolicy-fuzz-") as grown:
        options = [f"-max_total_time={seconds}", f"-max_len={MOST_BYTES}", f"-artifact_prefix={FOUND}/", "-verbosity=0"]
        atheris.Setup([sys.argv[0], *options, "-print_final_stats=1", grown, str(CORPUS)], TARGETS[name])
        atheris.Fuzz()
    return 0


def keep(data: bytes) -> Path:
    """Writes an input that broke something, under the name of its content."""
    FOUND.mkdir(parents=True, exist_ok=True)
    path = FOUND / hashlib.sha256(data).hexdigest()[:12]
    path.write_bytes(data)
    return path


if __name__ == "__main__":
    sys.exit(main())

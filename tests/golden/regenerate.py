"""Writes the golden files anew: ``python tests/golden/regenerate.py``; then read the difference in review."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from golden.contents import DISCOVERED, DISCOVERED_FLEETS, EXPECTED, compiled, discovered, policy_files


def main() -> None:
    """Replaces the expected files of every policy, and the policies that init writes for fleets."""
    shutil.rmtree(EXPECTED, ignore_errors=True)
    for name in policy_files():
        for path, text in compiled(name).items():
            target = EXPECTED / name / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8", newline="")
        print(f"{name}: written")
    for name in DISCOVERED_FLEETS:
        (DISCOVERED / f"{name}.yaml").write_text(discovered(name), encoding="utf-8", newline="")
        print(f"init of {name}: written")


if __name__ == "__main__":
    main()

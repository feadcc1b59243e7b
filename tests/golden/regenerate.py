"""Writes the golden files anew: ``python tests/golden/regenerate.py``; then read the difference in review."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from golden.contents import EXPECTED, compiled, policy_files


def main() -> None:
    """Replaces the expected files of every policy."""
    shutil.rmtree(EXPECTED, ignore_errors=True)
    for name in policy_files():
        for path, text in compiled(name).items():
            target = EXPECTED / name / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8", newline="")
        print(f"{name}: written")


if __name__ == "__main__":
    main()

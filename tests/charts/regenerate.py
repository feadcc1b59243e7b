"""Writes the chart's generated files anew: ``python tests/charts/regenerate.py``; read the difference in review."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from charts.contents import CHART, generated


def main() -> None:
    """Replaces the files."""
    for path, text in generated().items():
        (CHART / path).write_text(text, encoding="utf-8", newline="")
        print(f"{path}: written")


if __name__ == "__main__":
    main()

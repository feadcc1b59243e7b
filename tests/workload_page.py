"""The table of kinds in docs/workloads.md, made of the data: ``python tests/workload_page.py`` writes it anew."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gpupolicy.workloads.kinds import Blind, KindRow, Shape, Steps
from gpupolicy.workloads.paths import EVERY
from gpupolicy.workloads.table import KINDS

PAGE = Path(__file__).parents[1] / "docs" / "workloads.md"
START = "<!-- kinds: made by python tests/workload_page.py -->\n"
END = "<!-- end of kinds -->\n"

SHAPES = {
    Shape.TEMPLATE: "",
    Shape.SPEC: "",
    Shape.MODEL_SERVER: " (model)",
    Shape.MAIN_BESIDE: " (main)",
    Shape.ARGO: " (step)",
    Shape.STEPS: " (steps)",
    Shape.RESOURCES: " (resources)",
    Shape.SPARK: " (role)",
    Shape.OBJECT: " (object)",
}


def render() -> str:
    """The table, in the order of the data."""
    return "\n".join(_lines()) + "\n"


def written() -> str:
    """The table as the page has it."""
    return PAGE.read_text().partition(START)[2].partition(END)[0]


def _lines() -> Iterator[str]:
    yield "| kind | group | pods stand at | tells of GPUs that are not seen |\n| --- | --- | --- | --- |"
    for row in KINDS:
        pods = _listed(f"{_shown(pods.path)}{SHAPES[pods.shape]}" for pods in row.pods)
        blind = _listed(_told(blind) for blind in row.blind)
        yield f"| {row.kind}{_scope(row)} | {row.group or 'core'} | {pods} | {blind} |"


def _scope(row: KindRow) -> str:
    return "" if row.namespaced else " (in no namespace)"


def _shown(path: Steps) -> str:
    """The path as a policy would write it; the object itself for an empty one."""
    text = ""
    for step in path:
        text += "[*]" if step == EVERY else f".{step}" if text else step
    return f"`{text}`" if text else "the object itself"


def _told(blind: Blind) -> str:
    return _shown(blind.path) + ("°" if blind.within is not None else "†" if blind.named else "")


def _listed(parts: Iterator[str]) -> str:
    return "; ".join(dict.fromkeys(parts))


if __name__ == "__main__":
    before, _, rest = PAGE.read_text().partition(START)
    PAGE.write_text(before + START + "\n" + render() + END + rest.partition(END)[2])

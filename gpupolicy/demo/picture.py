"""Draws nodes and the pods on them as text: one cell a GPU, the digit is the size of the pod that holds it."""

from __future__ import annotations

from collections.abc import Mapping

from gpupolicy.simulation import Layout

_FREE = "·"


def draw(layout: Layout, nodes: Mapping[str, int], notes: Mapping[str, str] | None = None) -> str:
    """Returns one line a node (``gpu-1  [11······]  SLOT-1``) and one that sums up."""
    width = max(map(len, nodes))
    lines = []
    for name, gpus in nodes.items():
        held = "".join(str(request) * request for request in layout.placed[name])
        note = f"  {notes[name]}" if notes and name in notes else ""
        lines.append(f"    {name:<{width}}  [{held:{_FREE}<{gpus}}]{note}")
    waiting = ", ".join(f"{request} GPUs" for request in layout.pending) or "nothing"
    lines.append(
        f"    {layout.free_gpus} GPUs free, the largest request that fits now: {layout.largest_fit}; waiting: {waiting}"
    )
    return "\n".join(lines)

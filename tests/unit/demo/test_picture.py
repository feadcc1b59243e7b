"""The picture of nodes and pods."""

from __future__ import annotations

from gpupolicy.demo.picture import draw
from gpupolicy.simulation import Strategy, place_pods


def test_each_gpu_is_a_cell_with_the_size_of_its_pod() -> None:
    nodes = {"gpu-1": 8, "gpu-10": 4}
    layout = place_pods((4, 2, 8), nodes, Strategy.PACK)

    assert draw(layout, nodes, {"gpu-1": "SLOT-2"}) == (
        "    gpu-1   [22······]  SLOT-2\n"
        "    gpu-10  [4444]\n"
        "    6 GPUs free, the largest request that fits now: 6; waiting: 8 GPUs"
    )

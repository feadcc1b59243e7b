"""The small placement model."""

from __future__ import annotations

import pytest

from gpupolicy.simulation import Layout, Strategy, place_pods

NODES = {"a": 8, "b": 8, "c": 8}


def test_spread_takes_the_emptiest_node() -> None:
    layout = place_pods((1, 1, 1), NODES, Strategy.SPREAD)

    assert layout == Layout(placed={"a": (1,), "b": (1,), "c": (1,)}, free={"a": 7, "b": 7, "c": 7}, pending=())


def test_pack_takes_the_fullest_node_that_still_fits() -> None:
    layout = place_pods((4, 2, 4, 2), NODES, Strategy.PACK)

    assert layout.placed == {"a": (4, 2, 2), "b": (4,), "c": ()}


@pytest.mark.parametrize(
    ("strategy", "pending"),
    [pytest.param(Strategy.SPREAD, (8,), id="spread"), pytest.param(Strategy.PACK, (), id="pack")],
)
def test_the_fragmentation_story(strategy: Strategy, pending: tuple[int, ...]) -> None:
    layout = place_pods((1, 1, 1, 8), NODES, strategy)

    assert layout.pending == pending


def test_a_request_stays_off_nodes_it_may_not_use() -> None:
    layout = place_pods((1, 8), NODES, Strategy.PACK, lambda request, node: (request == 8) == (node == "c"))

    assert layout.placed == {"a": (1,), "b": (), "c": (8,)}


def test_free_gpus_and_the_largest_request_that_fits() -> None:
    layout = place_pods((8, 5), NODES, Strategy.PACK)

    assert (layout.free_gpus, layout.largest_fit) == (11, 8)

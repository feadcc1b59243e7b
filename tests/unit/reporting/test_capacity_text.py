"""Capacity as a table for people."""

from __future__ import annotations

from datetime import UTC, datetime
from textwrap import dedent
from typing import Any

import pytest
from builders import gpu_type, group, policy
from fleet_builders import running, seated

from gpupolicy import capacity
from gpupolicy.reporting.capacity_text import Page, format_capacity, summarize_capacity

NOON = datetime(2026, 11, 29, 12, tzinfo=UTC)
RESERVE = policy(
    group("SMALL", 1, 4, types=("V100",)),
    group("LARGE", 8, types=("V100",), overflow=("SMALL",)),
    types=(gpu_type("V100"), gpu_type("A100")),
)
NODES = [seated("a", "SMALL"), seated("b", "SMALL", unschedulable=True), seated("c", "LARGE")]
PODS = [
    running("p", 4, "a", activeDeadlineSeconds=5400),
    running("q", 1, "a"),
    running("r", 1, "c"),
    running("s", 8, None),
]


def text(
    nodes: list[dict[str, Any]] = NODES, pods: list[dict[str, Any]] = PODS, width: int = 80, **options: Any
) -> str:
    return format_capacity(capacity(RESERVE, nodes, pods, now=NOON, **options), Page(width=width))


def test_the_whole_page() -> None:
    assert text() == dedent(
        """\
        V100: 3 nodes, 24 GPUs: 6 used, 18 free (15 of them stranded)
        largest request that fits now: 1
        SLOT GROUP  NODES  GPUS  USED  FREE  SIZE  SLOTS  USED  FREE  BLOCKED
        SMALL           2    16     5    11     1     16     5     3        8
                                                4      4     2     0        2
                                               +8      2     1     0        1
        LARGE           1     8     1     7     8      1     1     0        0

        A100: no node in a slot group

        free GPUs that nobody can take now:
          SMALL of V100: 8 GPUs cordoned: b
          LARGE of V100: 7 GPUs left over, fewer than a request: c

        what becomes free when, if nothing new comes:
          SMALL of V100: 2026-11-29 13:30 UTC (in 1 h 30 min): free slots 7 of size 1, 1 of size 4, 0 of size 8
          SMALL of V100: 1 moment known; 1 GPU held by pods that do not say when they end

        waiting pods: 1 of 8 GPUs
        misplaced: 1 pod where the policy would not put them
          team-a/r: c is in LARGE; requests for 1 GPU go to SMALL
        """
    )


def test_nodes_of_a_group_to_which_nobody_is_sent_have_a_row() -> None:
    """No T4 node has room for 8 GPUs; the label was set by hand, and the GPUs are in the sum of the type."""
    large = policy(group("LARGE", 8, types=("V100",)), types=(gpu_type("V100"), gpu_type("T4", 4)))
    node = seated("a", "LARGE", gpu_type="T4", gpus=4)

    told = format_capacity(capacity(large, [node], [running("p", 4, "a")]), Page(width=80))

    assert "SLOT GROUP  NODES  GPUS  USED  FREE  SIZE  SLOTS  USED  FREE  BLOCKED\n" in told
    assert "LARGE           1     4     4     0\n" in told


def test_bars_show_used_blocked_and_free_where_the_terminal_is_wide_enough() -> None:
    bars = [line.rpartition("  ")[2] for line in text(width=100).splitlines()[3:7]]

    assert bars == ["[#####xxxxxxxx...]", "[##xx]", "[#x]", "[#]"]


def test_bars_are_to_scale_where_there_are_more_slots_than_characters() -> None:
    bar = text([seated(f"n{i}", "SMALL") for i in range(40)], [], width=200).splitlines()[3].rpartition("  ")[2]

    assert bar == f"[{'.' * 32}]"


def test_a_little_is_seen_beside_a_lot() -> None:
    bar = text([seated(f"n{i}", "SMALL") for i in range(40)], PODS[1:2], width=200).splitlines()[3].rpartition("  ")[2]

    assert bar == f"[{'.' * 32}]"


def test_colours_are_for_terminals() -> None:
    counted = capacity(RESERVE, NODES, PODS)

    assert "\x1b[32m...\x1b[0m]" in format_capacity(counted, Page(width=100, colour=True))
    assert "\x1b" not in format_capacity(counted)


@pytest.mark.parametrize(
    ("minutes", "told"), [(59, "in 59 min"), (61, "in 1 h 1 min"), (3000, "in 2 d 2 h"), (-1, "overdue")]
)
def test_moments_are_told_from_now(minutes: int, told: str) -> None:
    started = datetime.fromtimestamp(NOON.timestamp() + minutes * 60 - 60, UTC).isoformat()

    assert f"UTC ({told}): free slots" in text(pods=[running("p", 4, "a", started=started, activeDeadlineSeconds=60)])


def test_without_a_clock_moments_are_told_alone() -> None:
    counted = capacity(RESERVE, NODES, PODS)

    assert "2026-11-29 13:30 UTC: free slots" in format_capacity(counted)


def test_what_would_be_is_told_as_differences() -> None:
    assert text(what_if=["LARGE: +1 from SMALL", "LARGE: -2"]).split("\n\n")[-1] == dedent(
        """\
        what if LARGE: +1 from SMALL; LARGE: -2:
          b (V100): SMALL -> LARGE
          b (V100): LARGE -> taken away
          c (V100): LARGE -> taken away
          SMALL of V100: nodes 2 -> 1, GPUs free 11 -> 3, stranded 8 -> 0, slots of 1: 16 -> 8 (free 3 -> 3), slots of 4: 4 -> 2 (free 0 -> 0), slots of 8: 2 -> 1 (free 0 -> 0)
          LARGE of V100: nodes 1 -> 0, GPUs free 7 -> 0, stranded 7 -> 0, slots of 8: 1 -> 0 (free 0 -> 0)
          misplaced pods: 1 -> 0
          GPU pods on nodes taken away: team-a/r
        """  # noqa: E501
    )


def test_a_larger_request_that_would_fit_is_told() -> None:
    told = text(what_if=["LARGE: +7"])

    assert "  V100: largest request that fits: 1 -> 8\n" in told
    assert "  and 2 more nodes\n" in told


def test_long_lists_are_cut() -> None:
    nodes = [seated(f"n{i}", None) for i in range(7)]
    pods = [running(f"p{i}", 1, f"n{i}") for i in range(7)]

    told = text(nodes, pods)

    label = "my.gpu.cluster/node-group"
    nodes_told = "7 GPU nodes in no slot group (49 GPUs free): n0, n1, n2, n3, n4 and 2 more"
    assert f"{nodes_told}; reason: no label {label}\n" in told
    assert "  and 2 more (no-group 2)\n" in told


def test_nodes_that_are_not_counted_and_findings_are_told() -> None:
    broken = seated("a", "SMALL")
    broken["status"] = None

    told = text([broken])

    assert "1 node not counted (5 GPUs used), status.allocatable lists no nvidia.com/gpu: a\n" in told
    assert "warning: node a has no status, so nobody knows what it offers [node-status-missing]\n" in told


def test_an_overcommitted_node_is_told_in_the_first_line() -> None:
    told = text([seated("a", "LARGE", gpus=7)], [running("p", 8, "a")])

    assert told.startswith("V100: 1 node, 7 GPUs: 8 used, 0 free (0 of them stranded), 1 overcommitted\n")


def test_names_cannot_play_with_the_terminal() -> None:
    told = text([seated("a\x1b[2J", "SMALL", gpus=0)], [running("p", 4, "a\x1b[2J")])

    assert "\x1b" not in told


def test_the_summary_says_what_was_read() -> None:
    assert summarize_capacity(capacity(RESERVE, NODES, PODS)) == "3 nodes and 4 pods read"

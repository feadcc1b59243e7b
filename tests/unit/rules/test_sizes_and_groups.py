from __future__ import annotations

import pytest
from policy_texts import found, group, hints, rules

V100_AND_T4 = "{name: V100, gpusPerNode: 8}, {name: T4, gpusPerNode: 4}"


def test_the_policy_that_the_other_tests_change_is_clean() -> None:
    assert found() == []


class TestSizes:
    def test_a_size_that_some_type_of_the_group_admits_is_fine(self) -> None:
        types = "{name: V100, gpusPerNode: 8}, {name: A100, gpusPerNode: 8, requestSizes: [1, 2, 3, 4, 8]}"
        groups = group("ALL", "1, 2, 3, 4, 8", "V100", "A100")

        assert rules(types=types, groups=groups) == []

    def test_a_size_of_the_list_that_no_group_serves_is_told_at_the_list(self) -> None:
        assert found(sizes="[1, 2, 4, 6, 8]") == [
            ("request-size-without-group", "6 GPUs are admitted on V100, but no slot group serves them")
        ]

    def test_a_size_larger_than_every_node_is_one_finding(self) -> None:
        assert found(groups=group("ALL", "1, 2, 4, 8, 16")) == [
            (
                "slot-size-larger-than-node",
                "slot group ALL has slots of 16 GPUs, but its largest node has 8",
            )
        ]

    def test_the_sizes_of_a_type_are_held_against_its_own_nodes(self) -> None:
        types = "{name: V100, gpusPerNode: 8}, {name: T4, gpusPerNode: 4, requestSizes: [1, 8]}"
        groups = group("ALL", "1, 2, 4, 8", "V100", "T4")

        assert ("request-size-larger-than-node", "8 GPUs are admitted, but the largest node has 4") in (
            found(types=types, groups=groups)
        )

    def test_several_sizes_fill_a_node_together(self) -> None:
        """3 + 3 + 1 + 1 are 8."""
        assert rules(groups=group("ALL", "1, 3"), sizes="[1, 3]") == []

    def test_guests_by_overflow_fill_what_is_left(self) -> None:
        groups = f"{group('THREE', '3')}, {group('ONE', '1', rest=', overflow: [THREE]')}"

        assert rules(groups=groups, sizes="[1, 3]") == []

    def test_a_rest_is_told_for_each_type(self) -> None:
        groups = group("SIX", "6", "V100", "X")
        types = "{name: V100, gpusPerNode: 8}, {name: X, gpusPerNode: 16}"

        assert [message for _, message in found(types=types, groups=groups, sizes="[6]")] == [
            "slots of 6 fill at most 12 of the 16 GPUs of a X node; 4 can never be used",
            "slots of 6 fill at most 6 of the 8 GPUs of a V100 node; 2 can never be used",
        ]

    def test_groups_of_one_size_on_different_types_do_not_overlap(self) -> None:
        groups = f"{group('A', '1, 2, 4, 8', 'V100')}, {group('B', '1, 2, 4', 'T4')}"

        assert rules(types=V100_AND_T4, groups=groups) == []

    def test_groups_that_access_parts_do_not_overlap(self) -> None:
        groups = f"{group('A', '1, 2, 4, 8')}, {group('B', '1, 2, 4, 8')}"
        access = "{namespaces: [a], slotGroups: [A]}, {namespaces: [b], slotGroups: [B]}"

        assert rules(groups=groups, access=access) == []

    def test_groups_that_one_entry_of_access_grants_overlap(self) -> None:
        groups = f"{group('A', '1, 2, 4, 8')}, {group('B', '8')}"
        access = "{namespaces: [a], slotGroups: [A, B]}"

        assert found(groups=groups, access=access) == [
            (
                "slot-sizes-overlap",
                "B and A both serve 8 GPUs on V100; neither wins: pods go to either, the fuller node first",
            )
        ]

    def test_a_claim_on_nodes_that_are_too_small_is_told(self) -> None:
        groups = f"{group('SMALL', '1, 2, 4', 'V100', 'T4')}, {group('LARGE', '8', 'V100', 'T4')}"

        assert found(types=V100_AND_T4, groups=groups) == [
            ("claim-without-size", "LARGE serves 8, but T4 admits 1, 2 and 4")
        ]


class TestOverflow:
    @pytest.mark.parametrize(
        ("overflow", "circle"),
        [
            ({"A": "B", "B": "A"}, "A -> B -> A"),
            ({"A": "B", "B": "C", "C": "A"}, "A -> B -> C -> A"),
            ({"B": "C", "C": "B"}, "B -> C -> B"),
        ],
        ids=["two", "three", "not-the-first"],
    )
    def test_a_circle_is_told_once_with_its_way(self, overflow: dict[str, str], circle: str) -> None:
        sizes = {"A": "1, 2", "B": "4", "C": "8"}
        groups = ", ".join(group(n, s, rest=f", overflow: [{overflow.get(n, '')}]") for n, s in sizes.items())

        assert found(groups=groups) == [("overflow-circle", f"overflow goes in a circle: {circle}")]

    def test_two_ways_to_one_group_are_no_circle(self) -> None:
        groups = (
            f"{group('A', '1, 2')}, {group('B', '4', rest=', overflow: [A]')}, "
            f"{group('C', '8', rest=', overflow: [A, B]')}"
        )

        assert rules(groups=groups) == []

    def test_overflow_into_itself_is_no_circle_as_well(self) -> None:
        assert rules(groups=group("A", "1, 2, 4, 8", rest=", overflow: [A]")) == ["overflow-to-itself"]


class TestNames:
    def test_a_repeated_group_does_not_overlap_with_itself(self) -> None:
        groups = f"{group('A', '1, 2, 4, 8')}, {group('A', '8')}"

        assert rules(groups=groups) == ["slot-group-name-repeated"]

    @pytest.mark.parametrize("name", ["a" * 64, "-a", "a b", "a,b"], ids=["long", "dash", "blank", "comma"])
    def test_a_name_that_is_no_label_value_is_refused(self, name: str) -> None:
        assert rules(groups=group(f'"{name}"', "1, 2, 4, 8")) == ["slot-group-name-not-label"]

    def test_63_characters_are_a_label_value(self) -> None:
        assert rules(groups=group("a" * 63, "1, 2, 4, 8")) == []

    def test_an_alias_may_not_be_the_name_of_another_type(self) -> None:
        types = "{name: V100, gpusPerNode: 8}, {name: A100, gpusPerNode: 8, aliases: [V100]}"

        assert found(types=types, groups=group("A", "1, 2, 4, 8", "V100", "A100")) == [
            ("gpu-type-name-repeated", "V100 already names a GPU type, as in line 6")
        ]

    def test_a_scheduler_of_others_may_serve_a_group(self) -> None:
        groups = group("A", "1, 2, 4, 8", rest=", schedulerName: volcano")

        assert rules(groups=groups, scheduler="{otherSchedulers: [volcano]}") == []


class TestClaims:
    def test_a_claim_by_an_alias_is_told_the_name(self) -> None:
        types = "{name: V100, gpusPerNode: 8, aliases: [volta]}"

        assert hints(types=types, groups=group("A", "1, 2, 4, 8", "V100", "volta")) == [
            "write V100, of which it is an alias"
        ]

    def test_a_weight_of_nothing_is_fine_beside_another(self) -> None:
        groups = f"{group('A', '1, 2, 4')}, {{name: B, sizes: [8], nodes: [{{gpuType: V100, weight: 0}}]}}"

        assert rules(groups=groups) == []

    @pytest.mark.parametrize(
        ("names", "message"),
        [
            ("gpu-1", "gpu-1 is already claimed by slot group A in line 7"),
            ('"gpu-*"', "gpu-* is already claimed by slot group A by gpu-1 in line 7"),
            ('"gpu-[0-4]"', "gpu-[0-4] is already claimed by slot group A by gpu-1 in line 7"),
        ],
        ids=["name", "star", "range"],
    )
    def test_a_node_that_two_claims_name_is_told_with_both(self, names: str, message: str) -> None:
        groups = (
            "{name: A, sizes: [1, 2, 4], nodes: [{gpuType: V100, names: [gpu-1]}]}, "
            f"{{name: B, sizes: [8], nodes: [{{gpuType: V100, names: [{names}]}}]}}"
        )

        assert found(groups=groups) == [("node-claimed-twice", message)]

    def test_patterns_that_differ_are_not_compared(self) -> None:
        groups = (
            '{name: A, sizes: [1, 2, 4], nodes: [{gpuType: V100, names: ["gpu-0*"]}]}, '
            '{name: B, sizes: [8], nodes: [{gpuType: V100, names: ["gpu-1*"]}]}'
        )

        assert rules(groups=groups) == []

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ('gpuType: V100, names: ["gpu-*"], count: 2', 'gpuType: V100, names: ["gpu-*"], count: 3'),
            ("gpuType: V100, names: [gpu-1]", 'gpuType: V100, names: ["gpu-*"], count: 3'),
            ('gpuType: V100, names: ["*"]', 'gpuType: T4, names: ["*"]'),
            (
                'gpuType: V100, names: ["*"], nodeSelector: {matchLabels: {rack: a}}',
                'gpuType: V100, names: ["*"], nodeSelector: {matchLabels: {rack: b}}',
            ),
            (
                "gpuType: V100, nodeSelector: {matchLabels: {rack: a}}, count: 1",
                "gpuType: V100, nodeSelector: {matchLabels: {rack: a}}, count: 2",
            ),
            (
                "gpuType: V100, nodeSelector: {matchLabels: {rack: a, row: b}}",
                "gpuType: V100, nodeSelector: {matchLabels: {rack: a}}",
            ),
        ],
        ids=[
            "counts-share-names",
            "count-takes-the-rest",
            "types-share-names",
            "selectors-part-names",
            "counts-share-a-selector",
            "the-rest",
        ],
    )
    def test_claims_that_leave_each_other_nodes_are_fine(self, one: str, other: str) -> None:
        types = "{name: V100, gpusPerNode: 8}, {name: T4, gpusPerNode: 8}"
        groups = (
            f"{{name: A, sizes: [1, 2, 4, 8], nodes: [{{{one}}}, {{gpuType: T4, weight: 1}}]}}, "
            f"{{name: B, sizes: [8], nodes: [{{{other}}}]}}"
        )

        assert "node-claimed-twice" not in rules(types=types, groups=groups)

    @pytest.mark.parametrize(
        "other",
        [
            "matchLabels: {rack: a}",
            "matchLabels: {rack: a, row: b}",
            "matchExpressions: [{key: rack, operator: In, values: [a]}]",
        ],
        ids=["equal", "narrower", "otherwise-written"],
    )
    def test_a_selector_whose_nodes_another_claim_takes_is_told(self, other: str) -> None:
        groups = (
            "{name: A, sizes: [1, 2, 4], nodes: [{gpuType: V100, nodeSelector: {matchLabels: {rack: a}}}]}, "
            f"{{name: B, sizes: [8], nodes: [{{gpuType: V100, nodeSelector: {{{other}}}}}]}}"
        )

        assert found(groups=groups) == [
            ("node-claimed-twice", "every node that this selects is already claimed by slot group A in line 7")
        ]

    @pytest.mark.parametrize("name", ["gpu-.*", "gpu-[1-4", "GPU-*", "gpu-a*,gpu-b*", "gpu-{1..4}*"])
    def test_a_pattern_that_no_name_fits_is_told(self, name: str) -> None:
        groups = f'{{name: A, sizes: [1, 2, 4, 8], nodes: [{{gpuType: V100, names: ["{name}"]}}]}}'

        ((rule, message),) = found(groups=groups)

        assert (rule, message.partition(":")[0]) == ("node-name-not-dns", f'no node name fits the pattern "{name}"')

    def test_a_count_of_nodes_that_another_claim_takes_is_told(self) -> None:
        groups = (
            '{name: A, sizes: [1, 2, 4], nodes: [{gpuType: V100, names: ["gpu-1*"], count: 2}]}, '
            '{name: B, sizes: [8], nodes: [{gpuType: V100, names: ["gpu-*"]}]}'
        )

        assert found(groups=groups) == [
            ("node-claimed-twice", "gpu-* is already claimed by slot group A by gpu-1* in line 7")
        ]

    def test_one_claim_may_not_name_a_node_twice_either(self) -> None:
        groups = '{name: A, sizes: [1, 2, 4, 8], nodes: [{gpuType: V100, names: [gpu-1, "gpu-*"]}]}'

        assert found(groups=groups) == [
            ("node-claimed-twice", "gpu-* is already claimed by the same group by gpu-1 in line 7")
        ]

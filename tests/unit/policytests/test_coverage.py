"""Which parts of a policy the cases of its tests have to do with."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from builders import access, enforcing, exemption, group, override, pod, policy

from gpupolicy.admission import admit
from gpupolicy.model import AccessRule, Admission, Policy, Routing
from gpupolicy.policytests.coverage import CoverageCounter
from gpupolicy.policytests.report import Case, Coverage, Expectation

POLICY = policy(
    group("SMALL", 1, 2, 4, overflow=("LARGE",)),
    group("LARGE", 8),
    admission=enforcing(
        "deny",
        override("warn", "request-size-not-admitted", namespaces=("lab",)),
        override("audit", namespaces=("lab", "old")),
        exemptions=(exemption("kube-system"), exemption("ci", expires=datetime(2026, 1, 1, tzinfo=UTC).date())),
        access=(access("*"), access("closed-*")),
    ),
)


def covered(*cases: tuple[str, dict[str, Any]], by: Policy = POLICY) -> Coverage:
    """The coverage by pods in namespaces."""
    counter = CoverageCounter(by)
    for namespace, document in cases:
        decision = admit(by, document, namespace=namespace, now=datetime(2026, 6, 1, tzinfo=UTC))
        case = Case(name="c", line=1, column=1, object=document, expect=Expectation(), namespace=namespace)
        counter.add(case, (decision,), namespace)
    return counter.report("policy.yaml")


def touched(coverage: Coverage) -> set[tuple[str, str]]:
    return {(part.about, part.name) for part in coverage.parts if part.cases}


def test_nothing_is_covered_before_the_first_case() -> None:
    coverage = covered()

    assert (coverage.cases, coverage.percent, touched(coverage)) == (0, 0, set())


def test_every_part_of_the_policy_is_listed_with_its_place() -> None:
    assert [(part.about, part.name, part.place) for part in covered().parts] == [
        ("GPU type", "V100", "policy"),
        ("GPU type", "A100", "policy"),
        ("slot group", "SMALL", "policy"),
        ("slot group", "LARGE", "policy"),
        ("overflow", "LARGE", "policy"),
        ("exemption", "0", "policy"),
        ("exemption", "1", "policy"),
        ("access", "0", "policy"),
        ("access", "1", "policy"),
        ("override", "0", "policy"),
        ("override", "1", "policy"),
    ]


@pytest.mark.parametrize(
    ("entries", "groups"),
    [
        pytest.param((), [], id="nobody-is-sent-to-a-group"),
        pytest.param((access("team-*", groups=("SMALL",)),), ["SMALL", "LARGE"], id="some-may-use-one-only"),
    ],
)
def test_without_routing_groups_count_where_pods_are_sent_to_them_all_the_same(
    entries: tuple[AccessRule, ...], groups: list[str]
) -> None:
    """Else no test could ever cover such a policy."""
    free = policy(group("SMALL", 1, 2, 4), group("LARGE", 8), admission=Admission(routing=Routing.OFF, access=entries))

    assert [part.name for part in covered(by=free).parts if part.about == "slot group"] == groups


def test_a_routed_pod_covers_its_group_where_it_may_overflow_to_its_types_and_its_access() -> None:
    assert touched(covered(("team-a", pod(2)))) == {
        ("GPU type", "V100"),
        ("GPU type", "A100"),
        ("slot group", "SMALL"),
        ("overflow", "LARGE"),
        ("access", "0"),
    }


def test_a_group_is_covered_by_pods_of_its_own_size_only() -> None:
    assert ("slot group", "LARGE") in touched(covered(("team-a", pod(8))))


def test_an_exempt_pod_covers_the_exemption() -> None:
    assert touched(covered(("kube-system", pod(3)))) >= {("exemption", "0")}


def test_an_exemption_that_has_ended_is_not_covered() -> None:
    assert ("exemption", "1") not in touched(covered(("ci", pod(3))))


def test_the_first_override_that_fits_is_the_one_covered() -> None:
    assert {part for part in touched(covered(("lab", pod(3)))) if part[0] == "override"} == {("override", "0")}


def test_rules_that_fired_are_counted_apart() -> None:
    coverage = covered(("team-a", pod(3)), ("team-a", pod(5)), ("team-a", pod(4)))

    assert [(rule.name, rule.cases) for rule in coverage.rules if rule.cases] == [("request-size-not-admitted", 2)]


def test_the_percentage_is_rounded_down() -> None:
    assert covered(("team-a", pod(2))).percent == 45

"""The coverage of a policy by its tests, as people see it."""

from __future__ import annotations

from gpupolicy.policytests.report import Coverage, Covered
from gpupolicy.reporting.coverage_format import format_coverage


def part(about: str, name: str, cases: int, line: int = 1) -> Covered:
    return Covered(about=about, name=name, cases=cases, place=f"p.yaml:{line}")


def test_what_no_case_touches_is_named_with_its_place() -> None:
    coverage = Coverage(
        policy="p.yaml",
        cases=1,
        parts=(
            part("slot group", "SLOT-1", 1),
            part("slot group", "SLOT-8", 0, line=9),
            part("exemption", "0", 0, line=20),
            part("access", "0", 3),
        ),
        rules=(Covered(about="rule", name="node-name-set", cases=1), Covered(about="rule", name="other", cases=0)),
    )

    assert format_coverage([coverage]) == (
        "p.yaml: 50 % covered by 1 case\n"
        "  slot groups     1 of 2   without SLOT-8 (p.yaml:9)\n"
        "  exemptions      0 of 1   without p.yaml:20\n"
        "  access entries  1 of 1\n"
        "  rules           1 of 2   fired: node-name-set\n"
    )

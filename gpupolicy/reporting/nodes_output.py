"""The formats of ``nodes status`` by name; the code of one is loaded when it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gpupolicy.errors import Severity
from gpupolicy.reporting.style import Style

if TYPE_CHECKING:
    from gpupolicy.rollout.drift import NodeFinding
    from gpupolicy.rollout.plan import NodePlan


def write_status(
    plan: NodePlan, findings: Sequence[NodeFinding], style: Style, *, source: str, names: Sequence[str]
) -> str:
    """Returns the drift as text; ``source`` is where the nodes come from, ``names`` are theirs."""
    if style.format == "json":
        from gpupolicy.reporting.json_format import to_text
        from gpupolicy.reporting.nodes_json import plan_to_json

        return to_text(plan_to_json(plan, source, findings))
    if style.format == "sarif":
        from gpupolicy.reporting.json_format import to_text
        from gpupolicy.reporting.rule_texts import drift_rules
        from gpupolicy.reporting.sarif_format import findings_to_sarif

        return to_text(findings_to_sarif(findings, drift_rules(), root=style.root))
    if style.format == "junit":
        from gpupolicy.reporting.junit_format import nodes_to_junit

        weighed = [each if each.is_drift else replace(each, severity=Severity.INFO) for each in findings]
        return nodes_to_junit(weighed, nodes=[each.node for each in findings], names=names, suite=source)
    if style.format == "github":
        from gpupolicy.reporting.github_format import format_annotations

        return format_annotations(findings, root=style.root)
    from gpupolicy.reporting.text_format import format_findings

    return format_findings(findings)

"""Findings as SARIF 2.1.0, which code scanning and editors read: each with its region, its rule and its help."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import PurePath

import gpupolicy
from gpupolicy.errors import LocatedFinding, Severity, format_field
from gpupolicy.reporting.places import relative_path, to_uri
from gpupolicy.reporting.rule_texts import RuleText

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_PLACEHOLDER = re.compile(r"\{([0-9]+)\}")
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}

JSONMap = dict[str, object]


def findings_to_sarif(
    findings: Iterable[LocatedFinding], rules: Sequence[RuleText], *, root: PurePath, is_whole: bool = True
) -> JSONMap:
    """Returns a SARIF log of one run.

    Args:
        findings: in the order in which they are to stand.
        rules: what the tool can find, found or not.
        root: the folder that relative URIs count from.
        is_whole: everything that was asked for could be read.

    Returns:
        The log. ``results`` is there, and empty, where nothing was found: a missing one means that nothing was run.

    Source: OASIS SARIF 2.1.0, sections 3.14, 3.27 and 3.30.
    """
    places = {text.rule: index for index, text in enumerate(rules)}
    driver = {
        "name": "gpupolicy",
        "version": gpupolicy.__version__,
        "rules": [_rule_to_sarif(text) for text in rules],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [{"executionSuccessful": is_whole}],
        "results": [_result_to_sarif(finding, places, root) for finding in findings],
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule_to_sarif(text: RuleText) -> JSONMap:
    return {
        "id": text.rule,
        "shortDescription": {"text": _literal(text.summary)},
        "fullDescription": {"text": _literal(f"{text.summary}.")},
        "help": {"text": _literal(text.help)},
    }


def _result_to_sarif(finding: LocatedFinding, places: Mapping[str, int], root: PurePath) -> JSONMap:
    hint = f"; {finding.hint}" if finding.hint else ""
    result: JSONMap = {
        "ruleId": finding.rule,
        "level": _LEVELS[finding.severity],
        "message": {"text": _literal(f"{finding.message}{hint}")},
    }
    if finding.rule in places:
        result["ruleIndex"] = places[finding.rule]
    if finding.file is not None:
        result["locations"] = [_location(finding, finding.file, root)]
        result["partialFingerprints"] = {"placeInObject/v1": _fingerprint(finding, to_uri(finding.file, root))}
    return result


def _location(finding: LocatedFinding, file: str, root: PurePath) -> JSONMap:
    artifact = {"uri": to_uri(file, root)}
    if relative_path(file, root) is not None:
        artifact["uriBaseId"] = "%SRCROOT%"
    physical: JSONMap = {"artifactLocation": artifact}
    if finding.line is not None:
        column = {"startColumn": finding.column} if finding.column is not None else {}
        physical["region"] = {"startLine": finding.line, **column}
    field = format_field(finding.field)
    logical = {"logicalLocations": [{"fullyQualifiedName": field}]} if field else {}
    return {"physicalLocation": physical, **logical}


def _fingerprint(finding: LocatedFinding, uri: str) -> str:
    """Returns what stays the same while lines move: the file, the field and what is said about it."""
    text = "\n".join((finding.rule, uri, format_field(finding.field), finding.message))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _literal(text: str) -> str:
    """Doubles the braces of what would be a placeholder; others show as they are in readers that know no doubling."""
    return _PLACEHOLDER.sub(r"{{\1}}", text)

"""Reports as JSON; whole reports are compared in the tests of the verbs."""

from __future__ import annotations

from gpupolicy.errors import LocatedFinding, Severity
from gpupolicy.reporting.json_format import finding_to_json, gpus_to_json, placement_to_json, to_text


def test_what_is_not_known_of_a_finding_is_null() -> None:
    finding = LocatedFinding(rule="r", severity=Severity.INFO, field=(), message="m")

    assert finding_to_json(finding) == {
        "rule": "r",
        "severity": "info",
        "message": "m",
        "hint": None,
        "field": None,
        "file": None,
        "line": None,
        "column": None,
    }


def test_the_text_is_ascii_whatever_a_file_is_called() -> None:
    assert to_text({"file": "größe\udcff"}) == '{\n  "file": "gr\\u00f6\\u00dfe\\udcff"\n}\n'


def test_resources_are_sorted_by_name() -> None:
    assert list(gpus_to_json({"nvidia.com/gpu": 1, "amd.com/gpu": 2})) == ["amd.com/gpu", "nvidia.com/gpu"]


def test_no_placement_is_null() -> None:
    assert placement_to_json(None) is None

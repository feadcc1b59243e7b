"""Findings tell fields as kubectl does, and foreign text cannot break a message."""

import pytest

from gpupolicy.errors import (
    Finding,
    InputError,
    LocatedFinding,
    PodShapeError,
    PolicyError,
    Severity,
    format_field,
    in_order,
    shown,
)


@pytest.mark.parametrize(
    ("field", "text"),
    [
        pytest.param((), "", id="root"),
        pytest.param(("spec", "slotGroups", 0, "sizes"), "spec.slotGroups[0].sizes", id="index"),
        pytest.param(("resources", "limits", "nvidia.com/gpu"), "resources.limits[nvidia.com/gpu]", id="key-with-dots"),
        pytest.param(("a", ""), "a[]", id="empty-key"),
    ],
)
def test_a_field_is_written_as_kubectl_writes_it(field, text):
    assert format_field(field) == text


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("gpu-binpack", "gpu-binpack", id="plain"),
        pytest.param("zürich b", "zürich b", id="letters-of-all-kinds"),
        pytest.param("a\nb", "a\\nb", id="line-break"),
        pytest.param("\x1b[31mred", "\\x1b[31mred", id="terminal-sequence"),
        pytest.param("\ud800", "\\ud800", id="lone-surrogate"),
        pytest.param("x" * 200, "x" * 100 + "... (200 characters)", id="long"),
    ],
)
def test_foreign_text_is_shown_on_one_line_and_cut(text, told):
    assert shown(text) == told


def test_findings_are_sorted_by_file_line_column_and_rule():
    def found(rule, **place):
        return LocatedFinding(rule=rule, severity=Severity.ERROR, field=(), message="m", **place)

    late, early, other = found("b", file="a", line=2), found("a", file="a", line=1), found("a", file="a", line=2)

    assert in_order([late, early, other]) == (early, other, late)


def test_a_policy_error_tells_its_errors_and_keeps_its_warnings():
    error = LocatedFinding(
        rule="r", severity=Severity.ERROR, field=(), message="two GPUs", file="p.yaml", line=3, column=5
    )
    warning = LocatedFinding(rule="w", severity=Severity.WARNING, field=(), message="hm")

    raised = PolicyError([error, warning])

    assert (str(raised), raised.findings) == ("p.yaml:3:5: two GPUs [r]", (error, warning))


@pytest.mark.parametrize(
    ("field", "text"),
    [
        pytest.param(("spec", "containers"), "spec.containers is a string, a list is expected", id="field"),
        pytest.param((), "the pod is a string, a list is expected", id="root"),
    ],
)
def test_a_wrong_shape_reads_as_a_sentence(field, text):
    assert str(PodShapeError(field, "is a string, a list is expected")) == text


def test_a_finding_cannot_be_changed():
    finding = Finding(rule="r", severity=Severity.INFO, field=(), message="m")

    with pytest.raises(AttributeError):
        finding.rule = "other"


@pytest.mark.parametrize(
    ("error", "told"),
    [
        pytest.param(InputError("is no YAML", file="a.yaml", line=3, column=5), "a.yaml:3:5: is no YAML", id="place"),
        pytest.param(InputError("a.yaml is empty", file="a.yaml"), "a.yaml is empty", id="file-in-the-message"),
        pytest.param(InputError("is no YAML"), "is no YAML", id="no-file"),
    ],
)
def test_an_input_error_names_its_file_once(error, told):
    assert str(error) == told

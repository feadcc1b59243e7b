"""Values as text that every YAML reader reads alike."""

from __future__ import annotations

from textwrap import dedent

import pytest

from gpupolicy.loading.documents import read_documents
from gpupolicy.manifests.yaml_writer import write_block, write_flow, write_scalar

VALUE = {
    "nodeSelectorTerms": [{"matchExpressions": [{"key": "a.b/c", "operator": "In", "values": ["SLOT-4"]}]}],
    "weight": 100,
    "empty": {},
}


@pytest.mark.parametrize("text", ["SLOT-4", "my.gpu.cluster/node-group", "gpu-binpack", "In"])
def test_a_plain_text_is_not_quoted(text: str) -> None:
    assert write_scalar(text) == text


@pytest.mark.parametrize(
    "text", ["no", "On", "y", "null", "010", "1e3", "", "a: b", "#x", "*x", "a\nb", "~", "-", "1:30", "NaN.0 "]
)
def test_a_text_that_a_reader_might_guess_at_is_quoted(text: str) -> None:
    (document,) = read_documents(f"[{write_scalar(text)}]", "x")

    assert (document.value, document.findings, write_scalar(text)[0]) == ([text], (), '"')


def test_a_block_is_indented_as_kubectl_does() -> None:
    assert write_block(VALUE, 0) + "\n" == dedent(
        """\
        nodeSelectorTerms:
        - matchExpressions:
          - key: a.b/c
            operator: In
            values:
            - SLOT-4
        weight: 100
        empty: {}
        """
    )


def test_a_flow_stands_on_one_line() -> None:
    assert write_flow(VALUE) == (
        "{nodeSelectorTerms: [{matchExpressions: [{key: a.b/c, operator: In, values: [SLOT-4]}]}], "
        "weight: 100, empty: {}}"
    )


def test_a_flow_inside_of_json_is_json() -> None:
    assert write_flow({"a": ["b"]}, as_json=True) == '{"a": ["b"]}'

"""YAML as we write it, byte for byte; that it reads back is a law in tests/property."""

from __future__ import annotations

import pytest

from gpupolicy.compiler.yaml_text import to_yaml


def test_keys_stand_as_kubernetes_prints_them_with_the_header_first() -> None:
    document = {
        "spec": {"b": 1, "a": {"c": True}},
        "data": {},
        "metadata": {"name": "x"},
        "kind": "K",
        "apiVersion": "v1",
    }

    assert (
        to_yaml(document)
        == """\
apiVersion: v1
kind: K
metadata:
  name: x
data: {}
spec:
  a:
    c: true
  b: 1
"""
    )


def test_lists_stand_at_the_depth_of_their_key() -> None:
    assert (
        to_yaml({"a": [{"c": ["v", "w"], "b": 2}, ["p", ["q"]], [], {}]})
        == """\
a:
- b: 2
  c:
  - v
  - w
- - p
  - - q
- []
- {}
"""
    )


@pytest.mark.parametrize(
    ("text", "written"),
    [
        pytest.param("my.gpu.cluster/node-group", "my.gpu.cluster/node-group", id="label"),
        pytest.param("registry.example/a:v1.37.0", "registry.example/a:v1.37.0", id="image"),
        pytest.param("--port", "--port", id="flag"),
        pytest.param("64Mi", "64Mi", id="amount"),
        pytest.param("8443", '"8443"', id="number"),
        pytest.param("1.37", '"1.37"', id="version"),
        pytest.param("on", '"on"', id="yaml-1.1-boolean"),
        pytest.param("y", '"y"', id="short-boolean"),
        pytest.param("12:30", '"12:30"', id="sexagesimal"),
        pytest.param("1e3", '"1e3"', id="exponent"),
        pytest.param("", '""', id="empty"),
        pytest.param("a: b", '"a: b"', id="looks-like-an-entry"),
        pytest.param("a #b", '"a #b"', id="looks-like-a-comment"),
        pytest.param("a ", '"a "', id="trailing-space"),
        pytest.param("::", '"::"', id="colons"),
        pytest.param("tab\there", '"tab\\there"', id="tab"),
        pytest.param("é", '"é"', id="beyond-ascii"),
        pytest.param("\x85", '"\\u0085"', id="control-character"),
    ],
)
def test_text_is_quoted_where_a_reader_might_guess(text: str, written: str) -> None:
    assert to_yaml({"a": text}) == f"a: {written}\n"


@pytest.mark.parametrize(
    ("text", "written"),
    [
        pytest.param("x\ny\n", "a: |\n  x\n  y\n", id="one-line-break-at-the-end"),
        pytest.param("x\ny", "a: |-\n  x\n  y\n", id="none"),
        pytest.param("x\n\n\n", "a: |+\n  x\n\n\n", id="several"),
        pytest.param("x \n\n  y: 1\t\n", "a: |\n  x \n\n    y: 1\t\n", id="space-inside-is-kept"),
        pytest.param(" x\ny\n", 'a: " x\\ny\\n"\n', id="leading-space-would-set-the-depth"),
        pytest.param("x\r\ny\n", 'a: "x\\r\\ny\\n"\n', id="carriage-return"),
    ],
)
def test_text_of_several_lines_is_a_block_where_a_block_can_hold_it(text: str, written: str) -> None:
    assert to_yaml({"a": text}) == written


@pytest.mark.parametrize("value", [None, 1.5, b"x"], ids=["none", "float", "bytes"])
def test_values_that_no_manifest_has_are_refused(value: object) -> None:
    with pytest.raises(TypeError, match=f"^{type(value).__name__} has no place in a manifest$"):
        to_yaml({"a": value})

"""Reading line by line; that it reads as libyaml does is the law of tests/property/test_block_text.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpupolicy.loading.block_text import MAX_LEVELS, MAX_LINE, MAX_LINES, read_blocks
from gpupolicy.loading.unreadable import MAX_DOCUMENTS

ROOT = Path(__file__).parents[3]

MANIFEST = """\
# kept by team-a
apiVersion: v1
kind: Pod
metadata:
  name: train   # a comment
  labels: {app: train, tier: "1"}
spec:
  containers:
  - name: main
    command: ["python", -m, work.main]
    ports:
      - containerPort: 9000
    resources:
      limits:
        nvidia.com/gpu: "4"
        memory: 64Gi
    env:
  tolerations: []
"""

VALUE = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "train", "labels": {"app": "train", "tier": "1"}},
    "spec": {
        "containers": [
            {
                "name": "main",
                "command": ["python", "-m", "work.main"],
                "ports": [{"containerPort": 9000}],
                "resources": {"limits": {"nvidia.com/gpu": "4", "memory": "64Gi"}},
                "env": None,
            }
        ],
        "tolerations": [],
    },
}


def test_a_manifest_is_read():
    assert read_blocks(MANIFEST) == [(VALUE, 0, 2, 2, MANIFEST.removeprefix("# kept by team-a\n"))]


def test_documents_are_counted_with_the_empty_ones():
    text = "# nothing\n---\na: 1\n---\n# nothing\n---\n\nb: 2"

    assert read_blocks(text) == [({"a": 1}, 0, 3, 2, "---\na: 1\n"), ({"b": 2}, 2, 8, 6, "---\n\nb: 2")]


@pytest.mark.parametrize("text", ["", "# nothing", "---\n\n---\n"])
def test_a_text_without_values_has_no_documents(text):
    assert read_blocks(text) == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a: &x 1", id="anchor"),
        pytest.param("a: *x", id="alias"),
        pytest.param("<<: {a: 1}", id="merge"),
        pytest.param("a: !!str 1", id="tag"),
        pytest.param("a: |\n  b", id="block-text"),
        pytest.param("a: b\n  c", id="text-in-two-lines"),
        pytest.param('a: "b\n  c"', id="quoted-text-in-two-lines"),
        pytest.param('a: "\\n"', id="escape"),
        pytest.param("a: 'it''s'", id="quote-in-quotes"),
        pytest.param("a: [1,\n 2]", id="list-in-two-lines"),
        pytest.param("a: 1\na: 2", id="repeated-key"),
        pytest.param("a: {b: 1, b: 2}", id="repeated-key-in-one-line"),
        pytest.param("a: yes", id="boolean-word"),
        pytest.param("a: [yes]", id="boolean-word-in-a-list"),
        pytest.param("yes: a", id="boolean-word-as-a-key"),
        pytest.param("a: 010", id="octal"),
        pytest.param("1: a", id="number-as-a-key"),
        pytest.param("? a\n: b", id="complex-key"),
        pytest.param("a: b: c", id="two-colons"),
        pytest.param("a:\tb", id="tab"),
        pytest.param("a: b\r\n", id="carriage-return"),
        pytest.param("a: \u2028", id="line-separator"),
        pytest.param("a: 1\n...", id="document-end"),
        pytest.param("%YAML 1.1\n---\na: 1", id="directive"),
        pytest.param("--- a", id="value-behind-the-separator"),
        pytest.param("a", id="text-alone"),
        pytest.param("- a", id="list-alone"),
        pytest.param("  a: 1\nb: 2", id="less-indented"),
        pytest.param("a: 1\n  b: 2", id="more-indented"),
        pytest.param("a:\n  - 1\n - 2", id="dash-between"),
        pytest.param("a:\n  b: 1\n  - 2", id="dash-among-keys"),
        pytest.param("a:\n  - 1\n  b: 2", id="key-among-dashes"),
        pytest.param("a:\n  - - 1", id="two-dashes"),
        pytest.param("a:\n  -", id="dash-alone"),
        pytest.param("a:\n  - \n", id="dash-and-space"),
        pytest.param("a: [1", id="open-list"),
        pytest.param("a: [1}", id="wrong-bracket"),
        pytest.param("a: [1] 2", id="text-behind-a-list"),
        pytest.param("a: [1,]", id="comma-at-the-end"),
        pytest.param("a: {b}", id="key-without-a-value"),
        pytest.param(f"a: {'b' * MAX_LINE}", id="long-line"),
        pytest.param(f"a: {'[' * 10}{']' * 10}", id="deep-list-in-one-line"),
        pytest.param("\n".join(f"{'  ' * level}a:" for level in range(MAX_LEVELS + 2)), id="deep"),
        pytest.param("---\n" * MAX_DOCUMENTS, id="many-documents"),
        pytest.param("\n" * MAX_LINES, id="many-lines"),
    ],
)
def test_what_one_line_does_not_tell_is_left_to_libyaml(text):
    assert read_blocks(text) is None


def test_file_modes_are_octal_on_purpose():
    assert read_blocks("defaultMode: 0644") == [({"defaultMode": 0o644}, 0, 1, 1, "defaultMode: 0644")]


def test_documents_that_say_the_same_share_no_list():
    (first, *_), (second, *_) = read_blocks("a: [1, {b: []}]\n---\na: [1, {b: []}]")

    assert first["a"] is not second["a"]
    assert first["a"][1]["b"] is not second["a"][1]["b"]


@pytest.mark.parametrize("policy", sorted(path.name for path in (ROOT / "policies").glob("*.yaml")))
def test_the_policies_that_ship_need_no_libyaml(policy):
    """Loading its binding would cost a tenth of the start of ``lint`` and ``check``."""
    assert read_blocks((ROOT / "policies" / policy).read_text()) is not None

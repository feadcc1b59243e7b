from __future__ import annotations

from pathlib import Path

import pytest

from gpupolicy.errors import InputError, PolicyError
from gpupolicy.loading import load, load_text

POLICIES = Path(__file__).parents[2] / "data" / "policies"
LEAST = (POLICIES / "least.yaml").read_text()


def findings(text: str) -> list[tuple[int | None, int | None, str, str]]:
    """What keeps a text from being loaded."""
    with pytest.raises(PolicyError) as caught:
        load_text(text, "p.yaml")
    return [(f.line, f.column, f.rule, f.message) for f in caught.value.findings]


def test_a_policy_knows_where_it_stood() -> None:
    policy = load(POLICIES / "least.yaml")

    assert policy.cite("spec", "gpuTypes", 0, "gpusPerNode") == f"{POLICIES / 'least.yaml'}:5"
    assert policy.find_place(("spec", "gpuTypes", 0, "gpusPerNode")) == (5, 40)


def test_a_policy_keeps_its_text_and_its_document() -> None:
    policy = load_text(LEAST, "p.yaml")

    assert (policy.origin.file, policy.origin.text) == ("p.yaml", LEAST)
    assert policy.origin.document["metadata"] == {"name": "least"}


def test_the_text_begins_with_the_comments_above_the_document_so_that_lines_stay_true() -> None:
    policy = load_text("# who owns this\n---\n" + LEAST, "p.yaml")

    assert policy.origin.text == "# who owns this\n---\n" + LEAST
    assert policy.cite("spec", "gpuTypes", 0, "gpusPerNode") == "p.yaml:7"


def test_a_policy_in_json_is_the_same_policy() -> None:
    text = (
        '{"apiVersion": "gpupolicy.dev/v1alpha1", "kind": "GPUPolicy", "metadata": {"name": "least"}, "spec": {'
        '"gpuTypes": [{"name": "V100", "gpusPerNode": 8}], "slotGroups": [{"name": "ALL", "sizes": [1, 2, 4, 8]}]}}'
    )

    assert load_text(text) == load_text(LEAST)


def test_warnings_do_not_keep_a_policy_from_being_loaded() -> None:
    """The least policy claims no nodes, which is only worth a warning."""
    assert load_text(LEAST).name == "least"


def test_an_error_of_a_rule_keeps_a_policy_from_being_loaded() -> None:
    assert (6, 42, "slot-size-not-admitted", "slot group ALL has slots of 3 GPUs, but no request may ask for 3") in (
        findings(LEAST.replace("[1, 2, 4, 8]", "[1, 2, 3, 4, 8]"))
    )


def test_a_repeated_key_keeps_a_policy_from_being_loaded() -> None:
    assert (7, 3, "duplicate-key", "key slotGroups stands twice; first in line 6") in (
        findings(f"{LEAST}  slotGroups: [{{name: OTHER, sizes: [1, 2, 4, 8]}}]\n")
    )


def test_the_error_lists_every_finding_with_its_place() -> None:
    with pytest.raises(PolicyError) as caught:
        load_text(LEAST.replace("gpusPerNode", "gpuPerNode"), "p.yaml")

    assert str(caught.value) == (
        "p.yaml:5:14: spec.gpuTypes[0] lacks the field gpusPerNode [missing-field]\n"
        "p.yaml:5:27: spec.gpuTypes[0] has no field gpuPerNode [unknown-field]"
    )


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        (
            "- a\n",
            (1, 1, "wrong-kind", "the document is no mapping; expected is one with apiVersion and kind GPUPolicy"),
        ),
        ("a: 1\n", (1, 1, "wrong-kind", "the document has no kind; expected is GPUPolicy")),
        ("kind: Pod\n", (1, 7, "wrong-kind", "kind is Pod; expected is GPUPolicy")),
        (
            "kind: GPUPolicy\n",
            (1, 1, "wrong-kind", "apiVersion is missing; expected is gpupolicy.dev/v1alpha1"),
        ),
        (
            "apiVersion: gpupolicy.dev/v2\nkind: GPUPolicy\n",
            (1, 13, "wrong-kind", "apiVersion is gpupolicy.dev/v2; expected is gpupolicy.dev/v1alpha1"),
        ),
        ("a: [\n", (2, 1, "yaml-unreadable", "the text is no YAML: did not find expected node content")),
    ],
    ids=["list", "no-kind", "other-kind", "no-version", "other-version", "no-yaml"],
)
def test_what_is_no_policy_is_refused_with_one_finding(text: str, finding: tuple[int, int, str, str]) -> None:
    assert findings(text) == [finding]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("Kind: GPUPolicy\n", "write kind for Kind"),
        ("apiversion: gpupolicy.dev/v1alpha1\nkind: GPUPolicy\n", "write apiVersion for apiversion"),
        ("apiVersion: gpupolicy.dev/v2\nkind: GPUPolicy\n", None),
    ],
    ids=["kind", "apiVersion", "other-version"],
)
def test_a_misspelt_key_of_the_document_itself_is_named(text: str, hint: str | None) -> None:
    with pytest.raises(PolicyError) as caught:
        load_text(text)

    assert [finding.hint for finding in caught.value.findings] == [hint]


def test_a_policy_stands_alone_in_its_file() -> None:
    found = findings(f"{LEAST}---\napiVersion: v1\nkind: ConfigMap\n")

    assert (8, 1, "mixed-documents", "the file holds 2 documents; a policy stands alone in its file") in found


def test_an_empty_file_is_no_policy() -> None:
    with pytest.raises(InputError, match="the file holds no document; expected is a GPUPolicy"):
        load_text("# nothing yet\n")


def test_a_file_that_is_not_there_is_an_input_error() -> None:
    with pytest.raises(InputError):
        load(POLICIES / "nothing.yaml")

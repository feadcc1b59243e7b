"""Sources of templates are told apart from broken YAML."""

from __future__ import annotations

import pytest

from gpupolicy.errors import LocatedFinding
from gpupolicy.loading.documents import read_documents
from gpupolicy.manifests.unrendered import is_template, tell_templates


def tell(*texts: str) -> list[LocatedFinding]:
    documents = [doc for index, text in enumerate(texts) for doc in read_documents(text, f"{index}.yaml")]
    return list(tell_templates(document for document in documents if not document.readable))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        pytest.param("replicas: {{ .Values.replicas }}\n", (1, 11), id="a-value"),
        pytest.param("kind: Pod\n{{- if .Values.gpu }}\na: b\n{{- end }}\n", (2, 1), id="a-condition"),
        pytest.param("kind: Pod\n{% if gpu %}\na: b\n{% endif %}\n", (2, 1), id="jinja"),
        pytest.param("kind: A\n---\n\nkind: B\n{{ x }}\n", (5, 1), id="in-the-second-document"),
    ],
)
def test_a_source_of_a_template_is_named_by_its_first_expression(text: str, place: tuple[int, int]) -> None:
    (finding,) = tell(text)

    assert (finding.rule, finding.line, finding.column) == ("template-not-rendered", *place)


def test_the_message_says_what_to_do() -> None:
    (finding,) = tell("{{ x }}: {{ y }}\n{{ z }}\n")

    assert (finding.message, finding.hint) == (
        "this is the source of a template, not YAML: it was not checked",
        "render it first, as in: helm template CHART | gpupolicy check POLICY -",
    )


def test_a_file_is_named_once() -> None:
    assert [
        finding.file for finding in tell("{{ a }}: b\n{{ c }}\n---\n{{ d }}: e\n{{ f }}\n", "{{ g }}:\n{{ h }}")
    ] == [
        "0.yaml",
        "1.yaml",
    ]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a: [\n", id="no-expression"),
        pytest.param('a: "{{ x }}"\nb: [\n', id="in-quotes"),
        pytest.param("a: 1 # {{ x }}\nb: [\n", id="in-a-comment"),
        pytest.param("a: [\n---\nkind: B\n---\nc: {{ x }}\n", id="in-another-document"),
    ],
)
def test_broken_yaml_stays_broken_yaml(text: str) -> None:
    assert tell(text)[0].rule == "yaml-unreadable"


def test_yaml_with_expressions_in_quotes_is_no_template() -> None:
    (document,) = read_documents('kind: Workflow\nargs: "{{ inputs.x }}"\n', "a.yaml")

    assert not is_template(document)

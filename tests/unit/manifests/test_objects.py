"""From documents to objects."""

from __future__ import annotations

from textwrap import dedent

import pytest

from gpupolicy.errors import Finding, Severity
from gpupolicy.loading.documents import read_documents
from gpupolicy.manifests.objects import Content, ManifestObject, read_content


def content(text: str) -> Content:
    (document,) = read_documents(dedent(text), "m.yaml")
    return read_content(document)


def kinds(text: str) -> list[str | None]:
    return [item.kind for item in content(text).objects]


def only(text: str) -> ManifestObject:
    (item,) = content(text).objects
    return item


LIST = """\
    kind: List
    apiVersion: v1
    items:
    - {kind: Pod, apiVersion: v1, metadata: {name: a}}
    - {kind: Job, apiVersion: batch/v1, metadata: {name: b}}
"""


def test_a_list_falls_apart_into_its_items() -> None:
    assert kinds(LIST) == ["Pod", "Job"]


def test_an_item_knows_its_line() -> None:
    assert [item.line for item in content(LIST).objects] == [4, 5]


def test_items_of_a_typed_list_get_its_kind() -> None:
    (item,) = content("{kind: PodList, apiVersion: v1, items: [{metadata: {name: a}}]}").objects

    assert (item.api_version, item.kind, item.name) == ("v1", "Pod", "a")


def test_lists_inside_of_lists_fall_apart_too() -> None:
    assert kinds("{kind: List, items: [{kind: List, items: [{kind: Pod}]}]}") == ["Pod"]


@pytest.mark.parametrize(
    ("text", "message", "severity"),
    [
        pytest.param("[1]", "a list stands where a Kubernetes object is expected", Severity.ERROR, id="list"),
        pytest.param("hello", "a text stands where a Kubernetes object is expected", Severity.ERROR, id="text"),
        pytest.param(
            "{kind: List, items: [null]}",
            "nothing stands where a Kubernetes object is expected",
            Severity.ERROR,
            id="item",
        ),
        pytest.param(
            "{apiVersion: v1, kind: List, items: {a: b}}",
            "a mapping stands where the list's items are expected",
            Severity.ERROR,
            id="items",
        ),
        pytest.param(
            "replicas: 1",
            "this is no Kubernetes object: it has neither apiVersion nor kind",
            Severity.INFO,
            id="values-of-a-chart",
        ),
        pytest.param(
            "{kind: DaemonSet, image: {tag: a}, resources: {}}",
            "this is no Kubernetes object: it has a kind, but neither apiVersion, metadata nor spec",
            Severity.INFO,
            id="values-with-a-kind",
        ),
        pytest.param(
            "{apiVersion: v2, name: serve, version: 0.1.0}",
            "this is no Kubernetes object: it describes a chart of Helm",
            Severity.INFO,
            id="chart",
        ),
        pytest.param(
            "[{op: replace, path: /spec/replicas, value: 1}, {op: remove, path: /metadata/labels}]",
            "this is no Kubernetes object: it is a JSON patch of one, judged where it is applied",
            Severity.INFO,
            id="json-patch",
        ),
        pytest.param(
            "[{hosts: all}, {op: remove, path: /a}]",
            "a list stands where a Kubernetes object is expected",
            Severity.ERROR,
            id="another-list",
        ),
    ],
)
def test_what_is_no_object_is_named(text: str, message: str, severity: Severity) -> None:
    (finding,) = content(text).findings

    assert (finding.rule, finding.message, finding.severity) == ("not-an-object", message, severity)


def test_a_list_whose_items_are_null_is_empty() -> None:
    """As Go writes a list without items."""
    found = content("{apiVersion: v1, kind: List, items: null}")

    assert (found.objects, found.findings) == ((), ())


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("{apiVersion: v1, name: a, spec: {}}", id="no-version"),
        pytest.param("{apiVersion: v1, metadata: {name: a}, name: a, version: '1'}", id="metadata"),
        pytest.param("{apiVersion: apps/v1, name: a, version: '1'}", id="version-of-no-chart"),
    ],
)
def test_an_object_without_kind_is_no_chart(text: str) -> None:
    assert kinds(text) == [None]


@pytest.mark.parametrize(
    ("metadata", "name"),
    [("{name: a}", "a"), ("{generateName: a-}", "a-*"), ("{}", None), ("[]", None)],
    ids=["name", "generated", "none", "unreadable"],
)
def test_the_name_of_an_object(metadata: str, name: str | None) -> None:
    assert only(f"{{kind: Pod, metadata: {metadata}}}").name == name


def test_a_finding_about_an_item_keeps_the_item_s_field_and_gets_the_file_s_place() -> None:
    item = content(LIST).objects[1]

    located = item.locate(Finding(rule="r", severity=Severity.ERROR, field=("metadata", "name"), message="m"))

    assert (located.field, located.line, located.column) == (("metadata", "name"), 5, 54)


@pytest.mark.parametrize(
    ("written", "found"),
    [("NO", "NO"), ("3.10", "3.10"), ("true  # yes", "true"), ("0x1F", "0x1F")],
    ids=["word", "number", "comment", "hexadecimal"],
)
def test_a_scalar_is_found_as_it_is_written(written: str, found: str) -> None:
    item = only(f"kind: Pod\nmetadata:\n  labels:\n    a: {written}\n")

    assert item.find_written(("metadata", "labels", "a")) == found

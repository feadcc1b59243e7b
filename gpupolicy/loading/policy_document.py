"""Which document of a file is the policy, and the way from it to a Policy and its findings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpupolicy.errors import Finding, LocatedFinding, Part, Severity, in_order
from gpupolicy.loading.builder import build_policy
from gpupolicy.loading.documents import Document
from gpupolicy.loading.shape import find_shape_problems
from gpupolicy.model import API_VERSION, KIND, Origin, Policy
from gpupolicy.suggestions import find_nearest

GROUP = API_VERSION.partition("/")[0]


def is_policy(document: Document) -> bool:
    """Returns whether a document means to be a GPUPolicy, by its kind or by its API group."""
    value = document.value
    return isinstance(value, dict) and (
        value.get("kind") == KIND
        or (
            str(value.get("apiVersion")).startswith(f"{GROUP}/")
            and find_nearest(str(value.get("kind")), (KIND,)) == KIND
        )
    )


def parse_policy(document: Document) -> tuple[Policy | None, tuple[LocatedFinding, ...]]:
    """Builds the policy of a document. Its meaning is not judged: that is done by the rules.

    Args:
        document: one document; what the reader found odd in it is among the findings.

    Returns:
        The policy, None where the shape is wrong, and the findings in the order of the file.
    """
    if not document.readable:
        return None, document.findings
    problems = tuple(_find_kind_problems(document)) or find_shape_problems(document.value)
    findings = in_order((*document.findings, *(document.locate(problem) for problem in problems)))
    if problems or not isinstance(document.value, dict):
        return None, findings
    origin = Origin(
        file=document.file,
        text=document.text,
        places=document.positions.find_all(),
        document=document.value,
    )
    return build_policy(document.value, origin), findings


def find_company(documents: Sequence[Document]) -> Iterator[LocatedFinding]:
    """Yields the findings of a file in which a policy is not alone; nobody could say which document is meant."""
    if len(documents) < 2 or not any(is_policy(document) for document in documents):
        return
    message = f"the file holds {len(documents)} documents; a policy stands alone in its file"
    finding = Finding(rule="mixed-documents", severity=Severity.ERROR, field=(), message=message)
    yield documents[1].locate(finding)


def _find_kind_problems(document: Document) -> Iterator[Finding]:
    value = document.value
    if not isinstance(value, dict):
        yield _wrong_kind(None, f"the document is no mapping; expected is one with apiVersion and kind {KIND}")
    elif "kind" not in value:
        yield _wrong_kind(None, f"the document has no kind; expected is {KIND}")
    elif value["kind"] != KIND:
        yield _wrong_kind("kind", f"kind is {value['kind']}; expected is {KIND}")
    elif value.get("apiVersion") != API_VERSION:
        found = f"is {value['apiVersion']}" if "apiVersion" in value else "is missing"
        yield _wrong_kind("apiVersion", f"apiVersion {found}; expected is {API_VERSION}")


def _wrong_kind(key: str | None, message: str) -> Finding:
    field = (key,) if key else ()
    return Finding(rule="wrong-kind", severity=Severity.ERROR, field=field, message=message, part=Part.VALUE)

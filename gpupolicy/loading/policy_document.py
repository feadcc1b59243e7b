"""Which document of a file is the policy, and the way from it to a Policy and its findings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from gpupolicy.errors import FieldPath, Finding, LocatedFinding, Severity, in_order
from gpupolicy.loading.builder import build_policy
from gpupolicy.loading.documents import Document
from gpupolicy.loading.mending import mend
from gpupolicy.loading.shape import find_shape_problems, show_value
from gpupolicy.model import API_VERSION, KIND, Origin, Policy
from gpupolicy.suggestions import find_nearest

GROUP = API_VERSION.partition("/")[0]
TEST_KIND = "GPUPolicyTest"


def is_policy(document: Document) -> bool:
    """Returns whether a document means to be a GPUPolicy, by its kind or by its API group."""
    value = document.value
    return isinstance(value, dict) and (
        value.get("kind") == KIND
        or (
            str(value.get("apiVersion")).startswith(f"{GROUP}/")
            and value.get("kind") != TEST_KIND
            and find_nearest(str(value.get("kind")), (KIND,)) == KIND
        )
    )


def parse_policy(document: Document, whole: str = "") -> tuple[Policy | None, tuple[LocatedFinding, ...]]:
    """Builds the policy of a document. Its meaning is not judged: that is done by the rules.

    Args:
        document: one document; what the reader found odd in it is among the findings.
        whole: the file's text, with what stands before the document: from its start the lines of the origin count.

    Returns:
        The policy and the findings in the order of the file. Where the shape is wrong there are errors among them, and
        the policy is a mended one, good for finding out more and for nothing else; None where that cannot be had.
    """
    if not document.readable:
        return None, document.findings
    problems = tuple(_find_kind_problems(document)) or find_shape_problems(document.value)
    findings = in_order((*document.findings, *(document.locate(problem) for problem in problems)))
    value: object = mend(document.value, problems) if problems else document.value
    if not isinstance(value, dict) or any(problem.rule == "wrong-kind" for problem in problems):
        return None, findings
    origin = Origin(
        file=document.file,
        text=whole or document.text,
        places=document.positions.find_all(),
        document=value,
    )
    return build_policy(value, origin), findings


def add_judged(
    document: Document, findings: tuple[LocatedFinding, ...], judged: Iterable[Finding]
) -> tuple[LocatedFinding, ...]:
    """Returns what ``parse_policy`` found in a document and what the rules find, in the order of the file.

    Beside errors of the shape only errors of the meaning are told, and none about a part that holds one of the former:
    the rest about a policy that is not yet what its author means would often be wrong.
    """
    broken = [finding.field for finding in findings if finding not in document.findings]
    kept = [
        finding
        for finding in judged
        if not broken or (finding.severity is Severity.ERROR and not _holds_any(finding.field, broken))
    ]
    return in_order((*findings, *(document.locate(finding) for finding in kept)))


def _holds_any(part: FieldPath, fields: Sequence[FieldPath]) -> bool:
    return any(field[: len(part)] == part for field in fields)


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
        yield _wrong_kind(None, f"the document has no kind; expected is {KIND}", hint_misspelt("kind", value))
    elif value["kind"] != KIND:
        yield _wrong_kind("kind", f"kind is {_plain(value['kind'])}; expected is {KIND}")
    elif value.get("apiVersion") != API_VERSION:
        found = f"is {_plain(value['apiVersion'])}" if "apiVersion" in value else "is missing"
        hint = hint_misspelt("apiVersion", value)
        yield _wrong_kind("apiVersion", f"apiVersion {found}; expected is {API_VERSION}", hint)


def hint_misspelt(key: str, value: Mapping[object, object]) -> str | None:
    """Returns the hint that a key of a document was probably meant to be another one, which it has not."""
    near = None if key in value else find_nearest(key, (found for found in value if isinstance(found, str)))
    return f"write {key} for {near}" if near is not None else None


def _plain(value: object) -> str:
    return value if isinstance(value, str) else show_value(value)


def _wrong_kind(key: str | None, message: str, hint: str | None = None) -> Finding:
    field = (key,) if key else ()
    return Finding(rule="wrong-kind", severity=Severity.ERROR, field=field, message=message, hint=hint)

"""Sources of template engines among the documents that cannot be read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpupolicy.errors import LocatedFinding, Severity
from gpupolicy.loading.documents import Document
from gpupolicy.loading.templates import find_expression

RULE = "template-not-rendered"


def is_template(document: Document) -> bool:
    """Returns whether a document is unreadable because nobody rendered it yet."""
    return _find_expression(document) is not None


def tell_templates(documents: Iterable[Document]) -> Iterator[LocatedFinding]:
    """Yields what is wrong with unreadable documents; a template once for each file, by its first expression."""
    told: set[str] = set()
    for document in documents:
        place = _find_expression(document)
        if place is None:
            yield from document.findings
        elif document.file not in told:
            told.add(document.file)
            yield LocatedFinding(
                rule=RULE,
                severity=Severity.ERROR,
                field=(),
                message="this is the source of a template, not YAML: it was not checked",
                hint="render it first, as in: helm template CHART | gpupolicy check POLICY -",
                file=document.file,
                line=place[0],
                column=place[1],
            )


def _find_expression(document: Document) -> tuple[int, int] | None:
    """Returns line and column of the first expression; the text of an unreadable document reaches to the file's end."""
    if document.readable or {finding.rule for finding in document.findings} != {"yaml-unreadable"}:
        return None
    text = document.text
    start = find_expression(text)
    if start is None:
        return None
    line = document.positions.line + text.count("\n", 0, start)
    return line, start - (text.rfind("\n", 0, start) + 1) + 1

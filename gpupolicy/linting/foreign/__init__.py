"""Lint of files that no policy compiled: scheduler configurations, webhook registrations and Nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gpupolicy.errors import LocatedFinding
from gpupolicy.linting.foreign.embedded import EmbeddedFile, embedded_files, find_unquoted, holds_configuration
from gpupolicy.linting.foreign.objects import find_linter, is_known, is_list, members
from gpupolicy.linting.foreign.stream_rules import STREAM_RULES
from gpupolicy.loading.documents import Document
from gpupolicy.model import Policy


def is_foreign(document: Document) -> bool:
    """Returns whether this room judges a document: by its group and kind, as a list, or for what is inside it."""
    if is_list(document.value):
        return True
    return any(is_known(member) or holds_configuration(member.value) for member in members(document.value))


def lint_document(document: Document, policy: Policy | None = None) -> Iterator[LocatedFinding]:
    """Judges one document; what it says beside others is left to ``lint_documents``.

    Args:
        document: a KubeSchedulerConfiguration, a webhook configuration, a Node, a list of such, or a ConfigMap with a
            scheduler configuration in it. Others yield nothing.
        policy: the policy against which it is judged; None judges by what Kubernetes says.

    Returns:
        Findings with their places.
    """
    for member in members(document.value):
        linter = find_linter(member)
        found = tuple(linter(member.value, policy)) if linter else ()
        holds = holds_configuration(member.value)
        for finding in (*found, *(find_unquoted(member.value) if holds else ())):
            yield document.locate(replace(finding, field=(*member.path, *finding.field)))
        for inner in embedded_files(document, member.value, member.path) if holds else ():
            yield from map(inner.to_outer, _lint_inner(inner, policy))


def _lint_inner(inner: EmbeddedFile, policy: Policy | None) -> Iterator[LocatedFinding]:
    """Judges a file inside a ConfigMap as one that stands alone."""
    for part in inner.documents:
        yield from part.findings
    yield from lint_documents([part for part in inner.documents if part.readable], policy)


def lint_documents(documents: Sequence[Document], policy: Policy | None = None) -> Iterator[LocatedFinding]:
    """Judges the documents of one file, each by itself and beside the others.

    Args:
        documents: every document of the file, those of other kinds too: they are only counted.
        policy: as for ``lint_document``.

    Returns:
        Findings with their places, document by document, those about the file last.
    """
    for document in documents:
        yield from lint_document(document, policy)
    for rule in STREAM_RULES:
        for document, finding in rule(documents):
            yield document.locate(finding)

"""Everything that lint says about a file: policies by their rules and against nodes, other kinds by their own."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from gpupolicy.errors import Finding, InputError, LocatedFinding, Severity, in_order
from gpupolicy.loading.documents import Document, read_documents, read_file
from gpupolicy.loading.policy_document import add_judged, find_company, hint_misspelt, is_policy, parse_policy
from gpupolicy.model import KIND, Policy
from gpupolicy.rules import DATED_RULES, RULES, judge_policy
from gpupolicy.suggestions import find_nearest

__all__ = ["DATED_RULES", "FILE_RULES", "RULES", "lint", "lint_policy", "lint_text"]

KINDS = (
    KIND,
    "KubeSchedulerConfiguration",
    "MutatingWebhookConfiguration",
    "Node",
    "NodeList",
    "ValidatingWebhookConfiguration",
)
FILE_RULES: Mapping[str, str] = {
    "nothing-to-lint": "a file without any document",
    "kind-not-linted": "a document of a kind that lint does not judge",
    "inventory-without-nodes": "a file given with --nodes that holds no Node",
}
STANDARD_INPUT = "-"

PolicySource = Policy | str | Path | None


def lint(
    path: str | Path,
    *,
    nodes: str | Path | None = None,
    policy: PolicySource = None,
    now: datetime | None = None,
) -> tuple[LocatedFinding, ...]:
    """Judges every document of a file by its kind.

    Args:
        path: a GPUPolicy, KubeSchedulerConfiguration, webhook configuration or Nodes; ``-`` is standard input.
        nodes: a file with Nodes, against which a GPUPolicy is judged.
        policy: a policy or its file, against which the other kinds are judged.
        now: the time for rules about expiry; without it they are silent.

    Returns:
        Every finding, in the order of the file; bad content is a finding, never an exception.

    Raises:
        InputError: a file cannot be opened, or that of the policy to judge against is empty.
    """
    documents = read_documents(sys.stdin.buffer.read(), "-") if str(path) == STANDARD_INPUT else read_file(path)
    return _lint(documents, str(path), nodes, policy, now)


def lint_text(
    text: str | bytes,
    file: str = "policy",
    *,
    nodes: str | Path | None = None,
    policy: PolicySource = None,
    now: datetime | None = None,
) -> tuple[LocatedFinding, ...]:
    """Judges every document of a text; ``file`` is how findings call it. Otherwise as ``lint``."""
    return _lint(read_documents(text, file), file, nodes, policy, now)


def lint_policy(policy: Policy, now: datetime | None = None) -> Iterator[Finding]:
    """Yields what the rules find in a policy; ``now`` is the time for rules about expiry."""
    yield from judge_policy(policy, today=now.date() if now is not None else None)


def _lint(
    documents: Sequence[Document], file: str, nodes: str | Path | None, policy: PolicySource, now: datetime | None
) -> tuple[LocatedFinding, ...]:
    if not documents:
        message = "there is nothing to judge: the file holds no document"
        return (LocatedFinding(rule="nothing-to-lint", severity=Severity.ERROR, field=(), message=message, file=file),)
    findings = [*find_company(documents)]
    inventory = read_file(nodes) if nodes is not None else None
    if isinstance(policy, Policy) or policy is None:
        judge = policy
    else:
        judge, problems = _read_judge(read_file(policy), str(policy))
        findings += problems
    others = [document for document in documents if not is_policy(document)]
    for document in documents:
        findings += _lint_policy(document, inventory, now) if is_policy(document) else document.findings
    if others:
        findings += _lint_others(others, judge)
    return in_order(findings)


def _read_judge(documents: Sequence[Document], file: str) -> tuple[Policy | None, tuple[LocatedFinding, ...]]:
    """Returns the policy that other kinds are judged against, or what is wrong with its shape."""
    if not documents:
        raise InputError("the file holds no document; expected is a GPUPolicy", file=file)
    policy, findings = parse_policy(documents[0])
    findings = (*find_company(documents), *findings)
    errors = any(finding.severity is Severity.ERROR for finding in findings)
    return (None, findings) if policy is None or errors else (policy, ())


def _lint_policy(
    document: Document, inventory: Sequence[Document] | None, now: datetime | None
) -> Iterator[LocatedFinding]:
    policy, findings = parse_policy(document)
    if policy is None:
        yield from findings
        return
    judged = [*lint_policy(policy, now)]
    if inventory is not None:
        from gpupolicy.linting.inventory import judge_inventory  # brings the assignment, needed with nodes only

        judged += judge_inventory(policy, inventory)
        yield from (finding for source in inventory for finding in source.findings)
    yield from add_judged(document, findings, judged)


def _lint_others(documents: Sequence[Document], policy: Policy | None) -> Iterator[LocatedFinding]:
    from gpupolicy.linting.foreign import is_foreign, lint_documents  # a large room that policies do not need

    readable = [document for document in documents if document.readable]
    yield from lint_documents(readable, policy)
    for document in readable:
        if not is_foreign(document):
            yield document.locate(_describe_unknown(document.value))


def _describe_unknown(value: object) -> Finding:
    kind = value.get("kind") if isinstance(value, dict) else None
    if not isinstance(value, dict):
        message = f"the document is no mapping; expected is one with apiVersion and kind, such as {KIND}"
        return Finding(rule="wrong-kind", severity=Severity.ERROR, field=(), message=message)
    if not isinstance(kind, str):
        found = "has no kind" if kind is None else "has a kind that is no text"
        message = f"the document {found}; expected is {KIND} or another kind that lint knows"
        hint = hint_misspelt("kind", value)
        return Finding(rule="wrong-kind", severity=Severity.ERROR, field=(), message=message, hint=hint)
    nearest = find_nearest(kind, KINDS)
    hint = f"did you mean {nearest}" if nearest else "gpupolicy check judges manifests"
    message = f"documents of kind {kind} are not judged by lint"
    return Finding(rule="kind-not-linted", severity=Severity.WARNING, field=("kind",), message=message, hint=hint)

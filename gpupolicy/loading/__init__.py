"""Text with positions to the typed policy: read as the cluster reads it, shaped by the schema, judged by the rules.

Positions come from libyaml's composer, in a second pass over the text that is made only when somebody asks for one.
ruamel.yaml, which also keeps them, reads some 40 times as long (10 ms against 0.26 ms for a manifest of 80 lines); it
is left to writing files in place, where comments must stay.
"""

from __future__ import annotations

from pathlib import Path

from gpupolicy.errors import InputError, PolicyError, Severity, in_order
from gpupolicy.loading.documents import Document, read_bytes, read_documents, read_file
from gpupolicy.loading.encoding import MAX_BYTES, decode
from gpupolicy.loading.policy_document import add_judged, find_company, parse_policy
from gpupolicy.model import Policy
from gpupolicy.rules import judge_policy

__all__ = ["Document", "load", "load_text", "read_documents", "read_file"]


def load(path: str | Path) -> Policy:
    """Reads a policy from a file.

    Args:
        path: a YAML or JSON file that holds one GPUPolicy.

    Returns:
        The policy, free of errors; what lint only warns about is passed over, and so is what depends on the date.

    Raises:
        PolicyError: with every finding, where at least one is an error.
        InputError: the file cannot be opened, or holds no document.
    """
    return _load(read_bytes(path), str(path))


def load_text(text: str | bytes, file: str = "policy") -> Policy:
    """Reads a policy from a text; ``file`` is how findings call it. Returns and raises as ``load``."""
    return _load(text, file)


def _load(data: str | bytes, file: str) -> Policy:
    documents = read_documents(data, file)
    if not documents:
        raise InputError("the file holds no document; expected is a GPUPolicy", file=file)
    whole = decode(data, MAX_BYTES) if documents[0].readable else ""
    policy, findings = parse_policy(documents[0], whole)
    findings = in_order((*find_company(documents), *findings))
    if policy is not None:
        findings = add_judged(documents[0], findings, judge_policy(policy))
    if policy is None or any(finding.severity is Severity.ERROR for finding in findings):
        raise PolicyError(findings)
    return policy

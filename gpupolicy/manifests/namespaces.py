"""Finds the labels of Namespaces in manifests, so that pods beside them are judged by what selects their namespace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gpupolicy.manifests.searching import search_files, search_text
from gpupolicy.model import Policy
from gpupolicy.pod import JSONMap

NamespaceLabels = Mapping[str, Mapping[str, str]]  # labels by the name of the namespace

_WORDS = (b"Namespace", b"labels")


def find_namespace_labels(policy: Policy, files: Sequence[str], standard_input: bytes = b"") -> NamespaceLabels:
    """Returns the labels of the Namespaces in files, by name; of none where the policy does not ask for them.

    Args:
        policy: the policy.
        files: paths; ``-`` stands for standard input. One that cannot be read is left for those who tell it.
        standard_input: what was read there.
    """
    return index_namespace_labels(search_files(_WORDS, files, standard_input)) if policy.uses_namespace_labels else {}


def namespace_labels_in(policy: Policy, data: bytes, file: str) -> NamespaceLabels:
    """Returns the labels of the Namespaces in one text, by name; of none where the policy does not ask for them."""
    return index_namespace_labels(search_text(_WORDS, data, file)) if policy.uses_namespace_labels else {}


def index_namespace_labels(objects: Iterable[JSONMap]) -> NamespaceLabels:
    """Returns the labels of the Namespaces among objects by their names; null is "", another value is left out."""
    return dict(_labels_of(each) for each in objects if each.get("kind") == "Namespace")


def _labels_of(namespace: JSONMap) -> tuple[str, Mapping[str, str]]:
    metadata = namespace.get("metadata")
    found = metadata if isinstance(metadata, Mapping) else {}
    labels = found.get("labels")
    pairs = labels.items() if isinstance(labels, Mapping) else ()
    texts = {str(key): "" if value is None else value for key, value in pairs if isinstance(value, (str, type(None)))}
    return str(found.get("name", "")), texts

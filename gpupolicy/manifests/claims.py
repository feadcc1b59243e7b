"""Finds resource claims and claim templates (DRA) in manifests, so that the devices of pods beside them are counted."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from gpupolicy.admission.claims import CLAIM, CLAIM_GROUP, Claims, index_claims
from gpupolicy.errors import InputError
from gpupolicy.loading.documents import Document, read_bytes, read_documents
from gpupolicy.manifests.objects import read_content
from gpupolicy.manifests.reading import STANDARD_INPUT
from gpupolicy.pod import JSONMap

# A text without both words holds no claim; looking for them costs a hundredth of reading the text.
_WORDS = (CLAIM_GROUP.encode(), CLAIM.encode())


def find_claims(files: Sequence[str], standard_input: bytes = b"", *, namespace: str = "default") -> Claims:
    """Returns the claims and templates of files, by what pods call them; of two with one name the last.

    Args:
        files: paths; ``-`` stands for standard input. One that cannot be read is left for those who tell it.
        standard_input: what was read there.
        namespace: of claims that name none.
    """
    return claims_of((each for file in files for each in _read(file, standard_input)), namespace=namespace)


def claims_of(documents: Iterable[Document], *, namespace: str = "default") -> Claims:
    """Returns the claims and templates of documents."""
    return index_claims(_objects(documents), namespace)


def claims_in(data: bytes, file: str, *, namespace: str = "default") -> Claims:
    """Returns the claims and templates of one text."""
    return claims_of(read_documents(data, file), namespace=namespace) if _may_hold_claims(data) else {}


def _objects(documents: Iterable[Document]) -> Iterator[JSONMap]:
    for document in documents:
        for manifest in read_content(document).objects if document.readable else ():
            yield manifest.value


def _read(file: str, standard_input: bytes) -> Iterator[Document]:
    data = standard_input
    if file != STANDARD_INPUT:
        data = b""
        if os.path.isfile(file):  # a pipe can be read once only
            with suppress(InputError):
                data = read_bytes(file)
    if _may_hold_claims(data):
        yield from read_documents(data, file)


def _may_hold_claims(data: bytes) -> bool:
    return all(word in data for word in _WORDS)

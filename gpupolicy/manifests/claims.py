"""Finds resource claims and claim templates (DRA) in manifests, so that the devices of pods beside them are counted."""

from __future__ import annotations

from collections.abc import Sequence

from gpupolicy.admission.claims import CLAIM, CLAIM_GROUP, Claims, index_claims
from gpupolicy.manifests.searching import search_files, search_text

_WORDS = (CLAIM_GROUP.encode(), CLAIM.encode())


def find_claims(files: Sequence[str], standard_input: bytes = b"", *, namespace: str = "default") -> Claims:
    """Returns the claims and templates of files, by what pods call them; of two with one name the last.

    Args:
        files: paths; ``-`` stands for standard input. One that cannot be read is left for those who tell it.
        standard_input: what was read there.
        namespace: of claims that name none.
    """
    return index_claims(search_files(_WORDS, files, standard_input), namespace)


def claims_in(data: bytes, file: str, *, namespace: str = "default") -> Claims:
    """Returns the claims and templates of one text."""
    return index_claims(search_text(_WORDS, data, file), namespace)

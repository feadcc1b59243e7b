"""Finds objects that stand beside pods in many files, without reading the texts that hold none."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress

from gpupolicy.errors import InputError
from gpupolicy.loading.documents import read_bytes, read_documents
from gpupolicy.manifests.objects import read_content
from gpupolicy.manifests.reading import STANDARD_INPUT
from gpupolicy.pod import JSONMap


def search_files(words: Sequence[bytes], files: Sequence[str], standard_input: bytes = b"") -> Iterator[JSONMap]:
    """Yields the objects of the files in which all of some words stand; looking costs a hundredth of reading.

    Args:
        words: without which a text holds nothing that is looked for.
        files: paths; ``-`` stands for standard input. One that cannot be read is left for those who tell it.
        standard_input: what was read there.
    """
    for file in files:
        data = standard_input
        if file != STANDARD_INPUT:
            data = b""
            if os.path.isfile(file):  # a pipe can be read once only
                with suppress(InputError):
                    data = read_bytes(file)
        yield from search_text(words, data, file)


def search_text(words: Sequence[bytes], data: bytes, file: str) -> Iterator[JSONMap]:
    """Yields the objects of one text in which all of some words stand."""
    if all(word in data for word in words):
        for document in read_documents(data, file):
            for manifest in read_content(document).objects if document.readable else ():
                yield manifest.value

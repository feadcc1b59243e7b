"""Reads manifests one by one; a file that cannot be opened becomes a document that cannot be read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpupolicy.errors import InputError
from gpupolicy.loading.documents import Document, read_documents, read_file
from gpupolicy.loading.positions import Positions

STANDARD_INPUT = "-"
STANDARD_INPUT_NAME = "<stdin>"


def read_manifests(files: Iterable[str], standard_input: bytes = b"") -> Iterator[Document]:
    """Reads every document of the files, in order.

    Args:
        files: paths; ``-`` stands for standard input.
        standard_input: what was read there.

    Returns:
        The documents, those that cannot be read among them.
    """
    for file in files:
        if file == STANDARD_INPUT:
            yield from read_documents(standard_input, STANDARD_INPUT_NAME)
            continue
        try:
            yield from read_file(file)
        except InputError as error:
            yield Document(
                value=None,
                file=file,
                index=0,
                line=1,
                findings=(error.to_finding(),),
                readable=False,
                positions=Positions("", 1),
            )

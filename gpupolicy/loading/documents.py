"""Text to documents, read as the cluster reads it. Nothing here knows what a document means."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gpupolicy.errors import InputError, reason_of, shown
from gpupolicy.loading.document import Document as Document
from gpupolicy.loading.document import to_document
from gpupolicy.loading.encoding import MAX_BYTES, decode
from gpupolicy.loading.json_text import read_json
from gpupolicy.loading.positions import Positions
from gpupolicy.loading.unreadable import UnreadableError

_MOST_FILES_BYTES = 64 * 1024  # room for all that may be read costs four times the reading itself


def read_documents(data: str | bytes, file: str, *, max_bytes: int = MAX_BYTES) -> tuple[Document, ...]:
    """Reads every document of a YAML or JSON text as kubectl and the API server read it.

    Never raises for what stands in the text: that becomes findings, among them ``duplicate-key``, ``yaml-unreadable``,
    ``yaml-too-deep``, ``yaml-alias-bomb``, ``yaml-unknown-tag``, ``yaml-octal``, ``yaml-boolean-word``,
    ``not-utf-8`` and ``input-too-large``.

    Args:
        data: the text, or its bytes in UTF-8 with or without a byte order mark.
        file: how findings call it.
        max_bytes: larger texts are not read.

    Returns:
        The documents in order; none where the text is empty or holds comments only.
    """
    try:
        text = decode(data, max_bytes)
        plain = read_json(text)
    except UnreadableError as error:
        return (to_document(error, file, 0, "", 1),)
    if plain is not None:
        return tuple(_from_json(text, file, plain))
    from gpupolicy.loading.yaml_text import read_yaml  # loads libyaml's binding, which JSON does not need

    return tuple(read_yaml(text, file))


def read_file(path: str | Path, *, max_bytes: int = MAX_BYTES) -> tuple[Document, ...]:
    """Reads every document of a file.

    Args:
        path: the file.
        max_bytes: larger files are not read further than this.

    Returns:
        As ``read_documents``.

    Raises:
        InputError: the file cannot be opened or read.
    """
    return read_documents(read_bytes(path, max_bytes=max_bytes), str(path), max_bytes=max_bytes)


def read_bytes(path: str | Path, *, max_bytes: int = MAX_BYTES) -> bytes:
    """Returns what stands in a file, of a larger one that many bytes and one more.

    Raises:
        InputError: the file cannot be opened or read.
    """
    try:
        with open(path, "rb") as stream:
            data = stream.read(_MOST_FILES_BYTES)
            return data if len(data) < _MOST_FILES_BYTES else data + stream.read(max_bytes + 1 - len(data))
    except OSError as error:
        raise InputError(f"cannot be read: {reason_of(error)}", file=str(path)) from error
    except ValueError as error:  # a NUL, which no file name holds, or a half of a surrogate pair
        raise InputError("cannot be read: no file has such a name", file=shown(str(path))) from error


def _from_json(text: str, file: str, plain: list[tuple[object, int, int]]) -> Iterator[Document]:
    line, line_start, before = 1, 0, 0
    for index, (value, start, end) in enumerate(plain):
        if breaks := text.count("\n", before, start):
            line, line_start = line + breaks, text.rfind("\n", before, start) + 1
        before = start
        positions = Positions(" " * (start - line_start) + text[start:end], line)
        yield Document(value=value, file=file, index=index, line=line, positions=positions)

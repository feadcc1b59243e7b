"""Dumps opened again and again: files, pipes and standard input, unpacked, decoded, and counted as they are read."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import shutil
import tempfile
import weakref
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO, cast

from gpupolicy.cluster.elements import CutError
from gpupolicy.errors import InputError, reason_of, shown

CHUNK_BYTES = 1 << 20
STANDARD_INPUT = "-"
STANDARD_INPUT_NAME = "<stdin>"

_IN_MEMORY_BYTES = 32 << 20
_GZIP = b"\x1f\x8b"
_OTHER_PACKINGS = (
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"PK\x03\x04", "zip"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"BZh", "bzip2"),
)
_OTHER_ENCODINGS = (
    (b"\xff\xfe\x00\x00", "UTF-32"),
    (b"\x00\x00\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
)

OnBytes = Callable[[int], None]


class DumpFile:
    """One dump. What can be read once only (a pipe, standard input) is kept in a temporary file for the next pass."""

    def __init__(self, path: str, given: bytes | BinaryIO = b"") -> None:
        """Reads nothing yet.

        Args:
            path: the file; ``-`` is standard input.
            given: standard input.
        """
        self.name = STANDARD_INPUT_NAME if path == STANDARD_INPUT else shown(path, 300)
        self._path = path
        self._given = given
        self._kept: IO[bytes] | None = None
        self.size = 0

    @contextmanager
    def chunks(self, on_bytes: OnBytes) -> Iterator[Iterator[bytes]]:
        """Gives the unpacked bytes in pieces, from the start.

        Args:
            on_bytes: is told how many bytes of the file itself have been read; ``size`` is then known.

        Raises:
            InputError: the file cannot be read, or is packed in a way that we do not know.
        """
        try:
            with self._open() as raw:
                counted = io.BufferedReader(cast(io.RawIOBase, _Counted(raw, on_bytes)), CHUNK_BYTES)
                yield self._unpacked(counted)
        except OSError as error:
            raise InputError(f"cannot read {self.name}: {reason_of(error)}", file=self.name) from error

    def _open(self) -> IO[bytes]:
        if self._kept is None and self._path != STANDARD_INPUT and self._is_regular():
            try:
                opened = open(self._path, "rb")  # noqa: SIM115 (the caller closes it)
            except ValueError as error:  # a NUL, or half of a surrogate pair
                raise InputError("no file has such a name", file=self.name) from error
            self.size = os.fstat(opened.fileno()).st_size
            return opened
        if self._kept is None:
            self._kept = self._keep()
        return cast(IO[bytes], _View(self._kept))

    def _is_regular(self) -> bool:
        path = Path(self._path)
        return path.is_file() or not path.exists()

    def _keep(self) -> IO[bytes]:
        """Copies what can be read only once, so that pods can be read after nodes."""
        if self._path == STANDARD_INPUT and isinstance(self._given, bytes):
            self.size = len(self._given)
            return io.BytesIO(self._given)
        kept = tempfile.SpooledTemporaryFile(_IN_MEMORY_BYTES)  # noqa: SIM115 (lives as long as this dump)
        weakref.finalize(self, kept.close)
        if self._path == STANDARD_INPUT:
            shutil.copyfileobj(cast(BinaryIO, self._given), kept, CHUNK_BYTES)
        else:
            with open(self._path, "rb") as pipe:
                shutil.copyfileobj(pipe, kept, CHUNK_BYTES)
        self.size = kept.tell()
        return cast(IO[bytes], kept)

    def _unpacked(self, raw: io.BufferedReader[io.RawIOBase]) -> Iterator[bytes]:
        start = raw.peek(8)[:8]
        for mark, packing in _OTHER_PACKINGS:
            if start.startswith(mark):
                raise InputError(f"is packed with {packing}; of packed files only gzip is read", file=self.name)
        stream: IO[bytes] | gzip.GzipFile = gzip.GzipFile(fileobj=raw) if start.startswith(_GZIP) else raw
        try:
            while chunk := stream.read(CHUNK_BYTES):
                yield chunk
        except EOFError as error:
            raise CutError("the gzip file ends before its end mark: it was cut") from error
        except (gzip.BadGzipFile, zlib.error) as error:
            raise CutError(f"the gzip file is damaged ({str(error).lower()})") from error


class _Counted(io.RawIOBase):
    """Tells how many bytes were read."""

    def __init__(self, stream: IO[bytes], on_bytes: OnBytes) -> None:
        self._stream, self._on_bytes, self._done = stream, on_bytes, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # RawIOBase says Buffer
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        self._done += len(data)
        self._on_bytes(self._done)
        return len(data)


class _View:
    """A pass over a kept file with a place of its own: two passes may go on at the same time."""

    def __init__(self, kept: IO[bytes]) -> None:
        self._kept, self._place = kept, 0

    def read(self, size: int) -> bytes:
        """Returns the next bytes."""
        self._kept.seek(self._place)
        data = self._kept.read(size)
        self._place += len(data)
        return data

    def __enter__(self) -> _View:
        return self

    def __exit__(self, *_: object) -> None:
        """Leaves the file for the next pass."""


def decoded(chunks: Iterator[bytes], file: str) -> Iterator[str]:
    """Yields text without a byte order mark.

    Raises:
        InputError: the bytes are no UTF-8, with the line.
    """
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    lines, is_first = 1, True
    for chunk in chunks:
        if is_first:
            _refuse_other_encodings(chunk, file)
            is_first = False
        try:
            text = decoder.decode(chunk)
        except UnicodeDecodeError as error:
            raise _no_utf8(error, file, lines) from None
        if "\0" in text:
            raise InputError("a NUL byte stands here; the file is binary", file=file, line=lines + _lines(text))
        lines += text.count("\n")
        yield text
    if decoder.getstate()[0]:
        raise CutError("the file ends in the middle of a character: it was cut")


def _refuse_other_encodings(start: bytes, file: str) -> None:
    for mark, name in _OTHER_ENCODINGS:
        if start.startswith(mark):
            raise InputError(f"the file is in {name}; expected is UTF-8", file=file)


def _no_utf8(error: UnicodeDecodeError, file: str, lines: int) -> InputError:
    line = lines + error.object[: error.start].count(b"\n")
    return InputError(f"byte 0x{error.object[error.start]:02x} stands here, which is no UTF-8", file=file, line=line)


def _lines(text: str) -> int:
    return text.count("\n", 0, text.index("\0"))

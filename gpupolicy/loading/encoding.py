"""Bytes to text: UTF-8 with or without a byte order mark; everything else is refused with its place."""

from __future__ import annotations

import re

from gpupolicy.loading.unreadable import UnreadableError

MAX_BYTES = 16 * 1024 * 1024

_OTHER_MARKS = (
    (b"\xff\xfe\x00\x00", "UTF-32"),
    (b"\x00\x00\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
)
_SECOND_MARK = re.compile(r"^(---[^\n]*\n)\ufeff", re.MULTILINE)  # of a file that was put behind another one
_HINT = "save the file as UTF-8"


def decode(data: str | bytes, max_bytes: int = MAX_BYTES) -> str:
    """Returns the text without its byte order mark, and without those at the start of later documents.

    Args:
        data: bytes in UTF-8, or a text that is only checked.
        max_bytes: more than this is refused.

    Raises:
        UnreadableError: too large, another encoding, or binary; line and column are those of the first bad byte.
    """
    if len(data) > max_bytes:
        size = f"{max_bytes // 2**20} MiB" if max_bytes >= 2**20 else f"{max_bytes} bytes"
        raise UnreadableError("input-too-large", f"the text has more than {size}, which is the most that is read", 1, 1)
    text = _check_text(data) if isinstance(data, str) else _decode_bytes(data)
    if "\0" in text:
        raise _refuse(text[: text.index("\0")], "a NUL byte stands here; the file is binary, or not in UTF-8")
    return _SECOND_MARK.sub(r"\1", text.removeprefix("\ufeff")) if "\ufeff" in text else text


def _decode_bytes(data: bytes) -> str:
    for mark, name in _OTHER_MARKS:
        if data.startswith(mark):
            raise _refuse("", f"the file is in {name}; expected is UTF-8")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        raise _refuse(before, f"byte 0x{data[error.start]:02x} stands here, which is no UTF-8") from None


def _check_text(text: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise _refuse(text[: error.start], "half a surrogate pair stands here, which is no UTF-8") from None
    return text


def _refuse(before: str, message: str) -> UnreadableError:
    line = before.count("\n") + 1
    return UnreadableError("not-utf-8", message, line, len(before) - (before.rfind("\n") + 1) + 1, _HINT)

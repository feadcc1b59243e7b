"""Runs a verb in this process with streams of its own."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpupolicy.cli import main
from gpupolicy.cli.streams import Streams

POLICY = str(Path(__file__).parent / "data" / "manifests" / "policy.yaml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a verb left behind."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as JSON."""
        return json.loads(self.out)


def run(*argv: object, stdin: str | bytes = b"", debug: bool = False) -> Outcome:
    """Runs ``gpupolicy ARGV...``; an unexpected exception fails the test unless it is asked to be told."""
    data = stdin.encode() if isinstance(stdin, str) else stdin
    out, err = _stream(), _stream()
    streams = Streams(stdin=_stream(data), stdout=out, stderr=err)
    status = main([str(word) for word in argv], streams, debug=debug)
    return Outcome(status=status, out=_text(out), err=_text(err))


def _stream(data: bytes = b"") -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", newline="")


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    return stream.buffer.getvalue().decode()  # type: ignore[attr-defined]  # a BytesIO

"""The three standard streams as one value, so that a verb never touches ``sys`` and a test brings its own."""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass
from typing import TextIO

from gpupolicy.errors import UsageError

STANDARD_INPUT = "-"
STANDARD_OUTPUT = "-"
INPUT_LIMIT_BYTES = 256 * 1024 * 1024


def check_read_once(*arguments: str | None) -> None:
    """Raises UsageError where arguments name standard input more than once."""
    if arguments.count(STANDARD_INPUT) > 1:
        raise UsageError("- (standard input) can be read once only")


def output_file(argument: str | None) -> str | None:
    """Returns the file or folder of an ``--output`` option; None where standard output is meant."""
    return None if argument == STANDARD_OUTPUT else argument


@dataclass(frozen=True, slots=True, kw_only=True)
class Streams:
    """Where a verb reads and writes: results to ``stdout``, everything else to ``stderr``."""

    stdin: TextIO
    stdout: TextIO
    stderr: TextIO

    @classmethod
    def from_process(cls) -> Streams:
        """Returns the streams of this process; characters that a terminal cannot show are escaped, not fatal."""
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")
        return cls(stdin=sys.stdin, stdout=sys.stdout, stderr=sys.stderr)

    def read_bytes(self) -> bytes:
        """Returns all of standard input, undecoded: the YAML reader settles the encoding."""
        return self.stdin.buffer.read(INPUT_LIMIT_BYTES)

    def write(self, text: str) -> None:
        """Writes a result to standard output."""
        self.stdout.write(text)

    def write_bytes(self, data: bytes) -> None:
        """Writes a result as it is, whatever the terminal's encoding."""
        self.stdout.flush()
        self.stdout.buffer.write(data)

    def tell(self, text: str) -> None:
        """Writes one line to standard error."""
        self.stderr.write(f"{text}\n")

    def flush(self) -> None:
        """Hands over what was written."""
        self.stdout.flush()
        self.stderr.flush()

"""A clock that is wrong for one process, and may be set while it runs: a library is loaded before the C library."""

from __future__ import annotations

import shutil
import subprocess
import sys
from datetime import timedelta
from pathlib import Path


def find_compiler() -> str | None:
    """What the library is made with; None where there is none, or no Linux."""
    return shutil.which("cc") if sys.platform.startswith("linux") else None


class WrongClock:
    """``environment`` holds the variables that a process has to be started with."""

    def __init__(self, folder: Path, compiler: str) -> None:
        """Makes the library in a folder; the clock is right until it is set."""
        library, self._shift = folder / "clock_shift.so", folder / "shift"
        source = Path(__file__).with_name("clock_shift.c")
        subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl"], check=True)
        self.set(timedelta())
        self.environment = {"LD_PRELOAD": str(library), "CLOCK_SHIFT": str(self._shift)}

    def set(self, span: timedelta) -> None:
        """Makes it wrong by so much, ahead or, where it is negative, behind."""
        fresh = self._shift.with_suffix(".new")
        fresh.write_text(str(int(span.total_seconds())))
        fresh.replace(self._shift)

"""Starts programs that never outlive the process that asked for them, whatever ends it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

_TIED = Path(__file__).with_name("tied.py")

# The kernel ends a tied child when the *thread* that started it ends, so one thread that lives as long as this
# process starts them all.
_STARTER = ThreadPoolExecutor(max_workers=1, thread_name_prefix="starter")


def start(command: Sequence[str | Path], **options: Any) -> subprocess.Popen[Any]:
    """Start a program; on Linux it dies with this process.

    Args:
        command: the program's full path and its arguments.
        options: of Popen.
    """
    tied = [sys.executable, "-I", "-S", str(_TIED), str(os.getpid()), *map(str, command)]
    return _STARTER.submit(lambda: subprocess.Popen(tied, **options)).result()

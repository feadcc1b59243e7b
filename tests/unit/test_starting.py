"""Programs that tests start end with the tests, however those end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from e2e.processes import wait_for

START_AND_WAIT = """
import sys, time
sys.path.insert(0, sys.argv[1])
from starting import start
print(start([sys.executable, "-c", "import time; time.sleep(600)"]).pid, flush=True)
time.sleep(600)
"""


def is_there(pid: int) -> bool:
    """Whether a process is left that has not ended; one that waits for its parent to hear of it has."""
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with the one that started it")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_program_ends_with_the_process_that_asked_for_it(number: signal.Signals) -> None:
    command = [sys.executable, "-c", START_AND_WAIT, str(Path(__file__).parents[1])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as parent:
        assert parent.stdout
        pid = int(parent.stdout.readline())
        assert is_there(pid)
        os.kill(parent.pid, number)

        wait_for(lambda: not is_there(pid), message="an end of the program")

"""Runs a command that dies with the process that asked for it: ``python tied.py PARENT COMMAND ...``.

A program of its own, because code between fork and exec (``preexec_fn``) is unsafe once the parent has
threads. It turns into the command (exec), so no process is added. The kernel remembers the wish across exec.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    """Ask for SIGKILL at the parent's death, see that it did not die before we asked, become the command."""
    parent, command = int(sys.argv[1]), sys.argv[2:]
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            sys.exit(f"process {parent} is gone")
    os.execv(command[0], command)


main()

"""``python -m gpupolicy`` is the same as ``gpupolicy``."""

from gpupolicy.cli import run_main

run_main()

"""Our program that judges alert rules and dashboards with the code of Prometheus and Grafana."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

Verdict = tuple[int, list[str]]


@dataclass(frozen=True, slots=True)
class Judge:
    """Runs the program; a verdict is its exit status and what it finds wrong, by line."""

    program: Path

    def check_rules(self, file: Path) -> Verdict:
        """Whether Prometheus takes a file of rules."""
        return self._run("check-rules", file)

    def test_rules(self, file: Path) -> Verdict:
        """Whether alerts fire as a file for "promtool test rules" expects."""
        return self._run("test-rules", file)

    def check_dashboard(self, file: Path) -> Verdict:
        """Whether Grafana knows all of a dashboard, and Prometheus its queries."""
        return self._run("check-dashboard", file)

    def _run(self, command: str, file: Path) -> Verdict:
        done = subprocess.run([self.program, command, file], capture_output=True, text=True)
        return done.returncode, done.stderr.splitlines()

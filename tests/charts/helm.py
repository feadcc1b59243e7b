"""The real helm on our chart."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from charts.contents import CHART
from golden.contents import CA_BUNDLE

Object = dict[str, Any]
Identity = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Helm:
    """Runs helm with a home of its own, so that nobody's plugins and settings count."""

    program: Path
    home: Path

    def run(self, *arguments: str | Path, kubeconfig: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run it; a failure is a return code and words on stderr."""
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.home)}
        if kubeconfig:
            environment["KUBECONFIG"] = str(kubeconfig)
        return subprocess.run([self.program, *arguments], capture_output=True, text=True, env=environment, timeout=120)

    def render(
        self, policy: str | None, values: Mapping[str, Any], namespace: str = "gpu-system"
    ) -> subprocess.CompletedProcess[str]:
        """``helm template`` for the text of a policy."""
        return self.run("template", "gpus", CHART, *self.options(policy, values, namespace))

    def options(self, policy: str | None, values: Mapping[str, Any], namespace: str = "gpu-system") -> list[str | Path]:
        """The options that give values, by way of files, as installers do."""
        file = self.home / "values.json"
        file.write_text(json.dumps(values))
        options: list[str | Path] = ["--namespace", namespace, "--values", file]
        if policy is not None:
            text = self.home / "policy.yaml"
            text.write_text(policy, newline="")
            options += ["--set-file", f"policy={text}"]
        return options


def objects_of(stream: str) -> dict[Identity, Object]:
    """The objects of a stream by kind, namespace and name; no object may stand there twice."""
    documents = [each for each in yaml.load_all(stream, Loader=yaml.CSafeLoader) if each is not None]
    found = {identity(each): each for each in documents}
    assert len(found) == len(documents)
    return found


def identity(document: Mapping[str, Any]) -> Identity:
    """What makes two documents the same object."""
    metadata = document["metadata"]
    return document["kind"], metadata.get("namespace", ""), metadata["name"]


def bundled(mode: str) -> dict[str, str]:
    """The values that a certificate mode asks for."""
    return {"caBundle": CA_BUNDLE.decode()} if mode == "secret" else {}

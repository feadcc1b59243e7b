"""Finds or downloads the resource definitions of other projects' kinds that we compile too.

They come with the projects' Go modules, so Go fetches and keeps them as it does the servers' sources; about 5 MB.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from controlplane.build import BuildError, UnavailableError


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A Go module at one version, its checksum as Go computes it, and the files in it that hold definitions."""

    module: str
    version: str
    checksum: str
    files: tuple[str, ...]


SOURCES = (
    Source(
        module="github.com/cert-manager/cert-manager",
        version="v1.19.0",
        checksum="h1:pPKtK06zPriliwq7B12xa7DGKbc4SvnfOjE0BXaAspk=",
        files=("deploy/crds/cert-manager.io_certificates.yaml", "deploy/crds/cert-manager.io_issuers.yaml"),
    ),
    Source(
        module="sigs.k8s.io/node-feature-discovery",
        version="v0.18.3",
        checksum="h1:q5/qpyxrasI/F6838lflFNGAUszpMNRuFwornPLYdxQ=",
        files=("deployment/base/nfd-crds/nfd-api-crds.yaml",),
    ),
)


# The report objects that an audit is written as. Both projects are under the Apache License 2.0.
REPORT_SOURCES = (
    Source(
        module="sigs.k8s.io/wg-policy-prototypes",
        version="v0.0.0-20230505033312-51c21979086a",
        checksum="h1:tbASfGvbUgbwsJuh9T0+IZ0hhUNOkryo9Vquv1vjw+o=",
        files=(
            "policy-report/crd/v1alpha2/wgpolicyk8s.io_policyreports.yaml",
            "policy-report/crd/v1alpha2/wgpolicyk8s.io_clusterpolicyreports.yaml",
        ),
    ),
    Source(
        module="github.com/openreports/reports-api",
        version="v0.2.1",
        checksum="h1:g9KS3yle9Y1elmww4TK9EkD1rl6inIaiIJPX6e+u680=",
        files=("config/crd/openreports.io_reports.yaml", "config/crd/openreports.io_clusterreports.yaml"),
    ),
)


def find_or_download(sources: Sequence[Source] | None = None) -> list[Mapping[str, Any]]:
    """The CustomResourceDefinitions of some sources; of SOURCES unless others are given.

    Raises:
        UnavailableError: there is no Go to fetch them.
        BuildError: fetching failed, or brought something else than expected.
    """
    sources = SOURCES if sources is None else sources
    go = shutil.which("go")
    if go is None:
        modules = ", ".join(source.module for source in sources)
        raise UnavailableError(f"no Go to fetch the resource definitions of {modules}")
    found = []
    for source in sources:
        folder = _download(go, source)
        for name in source.files:
            found += [each for each in yaml.safe_load_all((folder / name).read_text()) if each]
    return found


def _download(go: str, source: Source) -> Path:
    """The folder of a module in Go's cache."""
    with tempfile.TemporaryDirectory() as nowhere:  # in a module of its own Go would look the version up there
        done = subprocess.run(
            [go, "mod", "download", "-json", f"{source.module}@{source.version}"],
            cwd=nowhere,
            env={**os.environ, "GOWORK": "off", "GOFLAGS": "-mod=mod"},
            capture_output=True,
            text=True,
        )
    answer = json.loads(done.stdout or "{}")
    if done.returncode or "Dir" not in answer:
        raise BuildError(f"go mod download {source.module} failed: {answer.get('Error') or done.stderr}")
    if answer["Sum"] != source.checksum:
        raise BuildError(f"{source.module} {source.version} has the checksum {answer['Sum']}, not {source.checksum}")
    return Path(answer["Dir"])

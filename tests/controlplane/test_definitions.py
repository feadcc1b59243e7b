"""The fetching of other projects' definitions, with a Go that only pretends: what is trusted, and what is not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from controlplane import build, definitions
from controlplane.definitions import Source

SOURCE = Source(module="example.com/kinds", version="v1.2.3", checksum="h1:good", files=("crds.yaml",))
CRDS = "kind: CustomResourceDefinition\nmetadata: {name: a}\n---\n---\nkind: Anything\nmetadata: {name: b}\n"

FAKE_GO = """#!/bin/sh
echo "$@" > "$ASKED"
cat "$ANSWER"
"""


@pytest.fixture(autouse=True)
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pretended Go that answers as told below; the file holds what it was asked."""
    (tmp_path / "bin").mkdir()
    go = tmp_path / "bin" / "go"
    go.write_text(FAKE_GO)
    go.chmod(0o755)
    monkeypatch.setenv("ASKED", str(tmp_path / "asked"))
    monkeypatch.setenv("ANSWER", str(tmp_path / "answer"))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setattr(definitions, "SOURCES", (SOURCE,))
    return tmp_path / "asked"


def answer(folder: Path, **fields: str) -> None:
    (folder / "answer").write_text(json.dumps(fields))
    (folder / "crds.yaml").write_text(CRDS)


def test_the_definitions_of_a_module_are_read_at_its_version(tmp_path: Path, asked: Path) -> None:
    answer(tmp_path, Dir=str(tmp_path), Sum="h1:good")

    found = definitions.find_or_download()

    assert [each["metadata"]["name"] for each in found] == ["a", "b"]
    assert asked.read_text() == "mod download -json example.com/kinds@v1.2.3\n"


def test_a_module_with_another_checksum_is_refused(tmp_path: Path) -> None:
    answer(tmp_path, Dir=str(tmp_path), Sum="h1:bad")

    with pytest.raises(build.BuildError, match=r"v1\.2\.3 has the checksum h1:bad, not h1:good"):
        definitions.find_or_download()


def test_a_failed_download_says_why(tmp_path: Path) -> None:
    answer(tmp_path, Error="no such version")

    with pytest.raises(build.BuildError, match=r"go mod download example.com/kinds failed: no such version"):
        definitions.find_or_download()


def test_without_go_they_are_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")

    with pytest.raises(build.UnavailableError, match="no Go to fetch the resource definitions"):
        definitions.find_or_download()

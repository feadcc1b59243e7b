"""Manifests read one by one."""

from __future__ import annotations

from pathlib import Path

from gpupolicy.manifests.reading import read_manifests


def test_standard_input_stands_where_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("kind: A\n---\nkind: B\n")

    documents = read_manifests(["-", str(tmp_path / "a.yaml")], b"kind: C\n")

    assert [(Path(document.file).name, document.value) for document in documents] == [
        ("<stdin>", {"kind": "C"}),
        ("a.yaml", {"kind": "A"}),
        ("a.yaml", {"kind": "B"}),
    ]


def test_a_file_that_cannot_be_opened_does_not_end_the_run(tmp_path: Path) -> None:
    (tmp_path / "b.yaml").write_text("kind: B\n")

    gone, read = read_manifests([str(tmp_path / "gone.yaml"), str(tmp_path / "b.yaml")])

    assert (gone.readable, gone.findings[0].file, read.value) == (False, str(tmp_path / "gone.yaml"), {"kind": "B"})

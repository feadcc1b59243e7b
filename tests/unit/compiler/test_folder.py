"""The output folder: all or nothing, and never somebody else's files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpupolicy.compiler.folder import write_folder
from gpupolicy.compiler.rendering import RenderedFile
from gpupolicy.errors import UsageError

OURS = "# gpupolicy 0.1.0 compiled this from policy test (policy.yaml).\n"


def file(path: str, text: str = OURS) -> RenderedFile:
    return RenderedFile(path=path, text=text)


def content(folder: Path) -> dict[str, str]:
    """Every file below a folder."""
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_a_new_folder_holds_exactly_the_files(tmp_path: Path) -> None:
    write_folder(tmp_path / "out", [file("a.yaml"), file("b/c.yaml")])

    assert content(tmp_path) == {"out/a.yaml": OURS, "out/b/c.yaml": OURS}


def test_an_empty_folder_is_taken(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()

    write_folder(tmp_path / "out", [file("a.yaml")])

    assert content(tmp_path) == {"out/a.yaml": OURS}


def test_what_an_earlier_run_left_is_replaced(tmp_path: Path) -> None:
    write_folder(tmp_path / "out", [file("old.yaml"), file("same.yaml")])

    write_folder(tmp_path / "out", [file("same.yaml", OURS + "new\n")])

    assert content(tmp_path) == {"out/same.yaml": OURS + "new\n"}


def test_a_folder_with_a_foreign_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    write_folder(tmp_path / "out", [file("a.yaml")])
    (tmp_path / "out" / "mine.yaml").write_text("kind: Secret\n")

    with pytest.raises(UsageError, match=r"/out/mine\.yaml was not written by gpupolicy compile: name an empty folder"):
        write_folder(tmp_path / "out", [file("b.yaml")])

    assert content(tmp_path) == {"out/a.yaml": OURS, "out/mine.yaml": "kind: Secret\n"}


def test_a_link_inside_the_folder_is_foreign(tmp_path: Path) -> None:
    write_folder(tmp_path / "out", [file("a.yaml")])
    (tmp_path / "out" / "link").symlink_to("a.yaml")

    with pytest.raises(UsageError, match=r"/out/link was not written by"):
        write_folder(tmp_path / "out", [])


def test_a_file_of_that_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").write_text(OURS)

    with pytest.raises(UsageError, match=r"/out is no folder$"):
        write_folder(tmp_path / "out", [])


def test_a_missing_parent_is_made(tmp_path: Path) -> None:
    write_folder(tmp_path / "missing" / "out", [file("a.yaml")])

    assert (tmp_path / "missing" / "out" / "a.yaml").is_file()


def test_a_failure_leaves_everything_as_it_was(tmp_path: Path) -> None:
    """The second file cannot be written, because its folder is a file."""
    write_folder(tmp_path / "out", [file("a.yaml")])

    with pytest.raises(FileExistsError):
        write_folder(tmp_path / "out", [file("b"), file("b/c.yaml")])

    assert content(tmp_path) == {"out/a.yaml": OURS}
    assert [entry.name for entry in tmp_path.iterdir()] == ["out"]


def test_a_link_to_a_folder_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "out").symlink_to("real")

    write_folder(tmp_path / "out", [file("a.yaml")])

    assert (tmp_path / "out").is_symlink()
    assert content(tmp_path / "real") == {"a.yaml": OURS}


def test_the_folder_has_the_permissions_of_any_new_one(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()

    write_folder(tmp_path / "out", [file("a.yaml")])

    assert os.stat(tmp_path / "out").st_mode == os.stat(tmp_path / "other").st_mode


def test_line_ends_are_written_as_they_are(tmp_path: Path) -> None:
    write_folder(tmp_path / "out", [file("a.yaml", OURS + "a\r\nb\n")])

    assert (tmp_path / "out" / "a.yaml").read_bytes() == OURS.encode() + b"a\r\nb\n"

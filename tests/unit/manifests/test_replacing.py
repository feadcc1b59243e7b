"""Files replaced all or nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpupolicy.manifests.replacing import replace_files


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """Two files."""
    first, second = tmp_path / "a.yaml", tmp_path / "b.yaml"
    first.write_text("old")
    second.write_text("old")
    return first, second


def test_files_get_their_new_contents(files: tuple[Path, Path]) -> None:
    replace_files({str(path): b"new" for path in files})

    assert [path.read_text() for path in files] == ["new", "new"]


def test_nothing_changes_where_one_file_cannot_be_written(files: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        replace_files({str(files[0]): b"new", str(tmp_path / "no-folder" / "c.yaml"): b"new"})

    assert files[0].read_text() == "old"


def test_nothing_is_left_beside_the_files(files: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        replace_files({str(files[0]): b"new", str(tmp_path / "gone.yaml"): b"new"})

    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.yaml", "b.yaml"]


def test_permissions_stay(files: tuple[Path, Path]) -> None:
    files[0].chmod(0o640)

    replace_files({str(files[0]): b"new"})

    assert files[0].stat().st_mode & 0o777 == 0o640


def test_a_link_still_points_at_its_file(files: tuple[Path, Path], tmp_path: Path) -> None:
    link = tmp_path / "link.yaml"
    link.symlink_to(files[0])

    replace_files({str(link): b"new"})

    assert (link.is_symlink(), files[0].read_text()) == (True, "new")

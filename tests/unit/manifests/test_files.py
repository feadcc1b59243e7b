"""Which files are read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gpupolicy.errors import InputError
from gpupolicy.manifests.files import find_files


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with manifests and other things."""
    for name in ("b.yaml", "a.yml", "notes.txt", ".hidden.yaml", "sub/c.json", ".git/config.yaml"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_folder_is_searched_in_order_and_without_what_is_hidden(folder: Path) -> None:
    assert find_files([str(folder)]) == tuple(str(folder / name) for name in ("a.yml", "b.yaml", "sub/c.json"))


@pytest.mark.usefixtures("folder")
def test_files_of_the_working_folder_have_short_names() -> None:
    assert find_files(["."]) == ("a.yml", "b.yaml", "sub/c.json")


@pytest.mark.usefixtures("folder")
def test_a_named_file_is_read_whatever_its_suffix() -> None:
    assert find_files(["notes.txt", ".hidden.yaml"]) == ("notes.txt", ".hidden.yaml")


@pytest.mark.usefixtures("folder")
def test_a_file_named_twice_is_read_once() -> None:
    assert find_files(["b.yaml", ".", "b.yaml"]) == ("b.yaml", "a.yml", "sub/c.json")


@pytest.mark.usefixtures("folder")
def test_a_pattern_stands_for_its_matches() -> None:
    assert find_files(["*.y*ml"]) == ("a.yml", "b.yaml")


@pytest.mark.usefixtures("folder")
def test_a_pattern_that_matches_nothing_is_an_error() -> None:
    with pytest.raises(InputError, match="no file matches this pattern") as caught:
        find_files(["*.toml"])

    assert caught.value.file == "*.toml"


@pytest.mark.usefixtures("folder")
def test_a_name_that_is_not_there_is_told_when_it_is_read() -> None:
    assert find_files(["c.yaml", "b.yaml"]) == ("c.yaml", "b.yaml")


def test_a_circle_of_links_ends(folder: Path) -> None:
    (folder / "sub" / "up").symlink_to(folder)

    assert find_files([str(folder / "sub")])[-1] == str(folder / "sub" / "up" / "b.yaml")


@pytest.mark.parametrize("pattern", ["**/*.json", "**", "*"])
def test_a_circle_of_links_ends_in_a_pattern_too(pattern: str, folder: Path) -> None:
    (folder / "sub" / "back").symlink_to(folder / "sub")

    assert [path for path in find_files([pattern]) if path.endswith(".json")] == ["sub/c.json"]


@pytest.mark.usefixtures("folder")
def test_a_linked_file_is_one_of_its_own() -> None:
    Path("sub", "linked.json").symlink_to("c.json")

    assert find_files(["sub/*.json"]) == find_files(["sub"]) == ("sub/c.json", "sub/linked.json")


def test_a_link_to_nowhere_is_no_manifest(folder: Path) -> None:
    (folder / "sub" / "gone.yaml").symlink_to(folder / "nowhere")

    assert find_files([str(folder / "sub")]) == (str(folder / "sub" / "c.json"),)


@pytest.mark.usefixtures("folder")
def test_an_ignore_file_holds_for_what_lies_below_it(folder: Path) -> None:
    (folder / ".gpupolicyignore").write_text("b.yaml\nsub/\n")

    assert find_files(["."]) == ("a.yml",)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every folder")
def test_a_folder_that_may_not_be_read_is_an_error(folder: Path) -> None:
    (folder / "sub").chmod(0)

    with pytest.raises(InputError, match="cannot read the folder: permission denied"):
        find_files([str(folder)])

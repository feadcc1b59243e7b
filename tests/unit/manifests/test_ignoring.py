"""The notation of .gpupolicyignore."""

from __future__ import annotations

import pytest

from gpupolicy.manifests.ignoring import is_ignored, parse_ignore_file


@pytest.mark.parametrize(
    ("text", "path"),
    [
        pytest.param("values.yaml", "values.yaml", id="a-name"),
        pytest.param("values.yaml", "charts/a/values.yaml", id="a-name-at-any-depth"),
        pytest.param("*.json", "a/b.json", id="a-star"),
        pytest.param("/top.yaml", "top.yaml", id="anchored"),
        pytest.param("charts/*/values.yaml", "charts/a/values.yaml", id="a-path"),
        pytest.param("charts/**/values.yaml", "charts/a/b/values.yaml", id="two-stars"),
        pytest.param("charts/**/values.yaml", "charts/values.yaml", id="two-stars-for-nothing"),
        pytest.param("a?.yaml", "ab.yaml", id="one-character"),
        pytest.param("a[bc].yaml", "ac.yaml", id="a-set"),
        pytest.param("a[!bc].yaml", "ad.yaml", id="all-but-a-set"),
        pytest.param("# a comment\n\nx.yaml", "x.yaml", id="comments-and-blank-lines"),
    ],
)
def test_a_file_is_left_out(text: str, path: str) -> None:
    assert is_ignored(parse_ignore_file(text), path, is_folder=False)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        pytest.param("/top.yaml", "a/top.yaml", id="anchored-elsewhere"),
        pytest.param("*.json", "a.yaml", id="another-suffix"),
        pytest.param("charts/*/values.yaml", "charts/a/b/values.yaml", id="a-star-stops-at-slashes"),
        pytest.param("*.yaml\n!keep.yaml", "keep.yaml", id="taken-back-in"),
        pytest.param("build/", "build", id="a-file-named-like-a-folder"),
        pytest.param("a.yaml", "aXyaml", id="a-dot-is-a-dot"),
    ],
)
def test_a_file_is_kept(text: str, path: str) -> None:
    assert not is_ignored(parse_ignore_file(text), path, is_folder=False)


def test_a_pattern_with_a_slash_at_its_end_means_folders() -> None:
    assert is_ignored(parse_ignore_file("build/"), "build", is_folder=True)

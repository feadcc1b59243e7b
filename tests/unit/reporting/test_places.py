"""How machine formats name files."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from gpupolicy.reporting.places import relative_path, to_uri

ROOT = PurePosixPath("/repo")


@pytest.mark.parametrize(
    ("file", "path"),
    [
        pytest.param("apps/a.yaml", "apps/a.yaml", id="relative"),
        pytest.param("./apps//a.yaml", "apps/a.yaml", id="not-normal"),
        pytest.param("/repo/apps/a.yaml", "apps/a.yaml", id="absolute-inside"),
        pytest.param("/other/a.yaml", None, id="absolute-outside"),
        pytest.param("../a.yaml", None, id="relative-outside"),
    ],
)
def test_a_path_counts_from_the_root(file: str, path: str | None) -> None:
    assert relative_path(file, ROOT) == path


@pytest.mark.parametrize(
    ("file", "uri"),
    [
        pytest.param("apps/a.yaml", "apps/a.yaml", id="plain"),
        pytest.param("my apps/größe.yaml", "my%20apps/gr%C3%B6%C3%9Fe.yaml", id="blank-and-umlaut"),
        pytest.param("a:b#c?d%.yaml", "a%3Ab%23c%3Fd%25.yaml", id="marks-of-uris"),
        pytest.param("a\udcff.yaml", "a%FF.yaml", id="a-name-that-is-no-utf-8"),
        pytest.param("<stdin>", "%3Cstdin%3E", id="standard-input"),
        pytest.param("../a.yaml", "file:///a.yaml", id="outside"),
    ],
)
def test_a_uri_is_relative_and_escaped(file: str, uri: str) -> None:
    assert to_uri(file, ROOT) == uri

"""The build script, with a Go that only pretends: what is taken, what is built, and when."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from controlplane import build

SCRIPT = Path(build.__file__)

FAKE_GO = """#!/bin/sh
while [ "$1" != "-o" ]; do shift; done
echo "$2" >> "$BUILT"
echo "half" > "$2"; sleep 0.2
[ -n "$BREAK" ] && { echo "no such package"; exit 1; }
echo "whole" > "$2"; chmod +x "$2"
"""


@pytest.fixture(autouse=True)
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache and a pretended Go; the file lists what it was asked to write."""
    (tmp_path / "bin").mkdir()
    go = tmp_path / "bin" / "go"
    go.write_text(FAKE_GO)
    go.chmod(0o755)
    built = tmp_path / "built"
    built.touch()
    monkeypatch.setenv("BUILT", str(built))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    return built


@pytest.fixture
def assets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that KUBEBUILDER_ASSETS names, with etcd in it."""
    folder = tmp_path / "assets"
    folder.mkdir()
    (folder / "etcd").touch(mode=0o755)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(folder))
    return folder


def names_built(built: Path) -> list[str]:
    """The names of the binaries that Go was asked for, in order (.etcd.123 is etcd)."""
    return [Path(line).name.split(".")[1] for line in built.read_text().splitlines()]


def test_everything_missing_is_built_into_a_cache_folder_named_by_the_versions(built: Path, tmp_path: Path) -> None:
    folder = build.assets_folder()

    assert names_built(built) == list(build.COMMANDS)
    assert folder.parent == tmp_path / "cache" / "gpupolicy" / "controlplane"
    assert folder.name.startswith(f"{build.kubernetes_version()}-{build.module_version('go.etcd.io/etcd/server/v3')}-")


def test_what_is_in_the_cache_is_not_built_again(built: Path) -> None:
    build.find_or_build(["etcd", "kubectl"])
    build.find_or_build()

    assert names_built(built) == ["etcd", "kubectl", "kube-apiserver", "kube-scheduler", "kube-controller-manager"]


def test_binaries_of_kubebuilder_assets_come_first(assets: Path, built: Path) -> None:
    found = build.find_or_build(["etcd", "kubectl"])

    assert found["etcd"] == assets / "etcd"
    assert names_built(built) == ["kubectl"]


def test_binaries_of_two_places_are_offered_in_one_folder_of_links(assets: Path) -> None:
    folder = build.assets_folder()

    assert (folder / "etcd").resolve() == assets / "etcd"
    assert (folder / "kubectl").resolve() == build.cache_folder() / "kubectl"


def test_two_runs_at_once_build_each_binary_once(built: Path) -> None:
    commands = [[sys.executable, str(SCRIPT)]] * 2
    runs = [subprocess.Popen(each, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for each in commands]
    told = [run.communicate(timeout=60) for run in runs]

    assert [out for out, _ in told] == [f"{build.cache_folder()}\n"] * 2
    assert sorted(names_built(built)) == sorted(build.COMMANDS)


def test_a_failed_build_says_why_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BREAK", "yes")

    with pytest.raises(build.BuildError, match="no such package"):
        build.find_or_build(["etcd"])

    assert os.listdir(build.cache_folder()) == [".lock"]


def test_what_a_killed_run_left_half_built_is_removed(built: Path) -> None:
    build.cache_folder().mkdir(parents=True)
    (build.cache_folder() / ".etcd.1").write_text("half")
    build.find_or_build(["etcd"])

    assert sorted(os.listdir(build.cache_folder())) == [".lock", "etcd"]


def test_without_go_and_cache_the_message_says_how_to_get_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")

    with pytest.raises(build.UnavailableError, match="no etcd and no Go to build them: install Go"):
        build.find_or_build(["etcd"])


def test_a_program_of_another_module_is_built_where_it_is_missing(built: Path, tmp_path: Path) -> None:
    target = tmp_path / "cache" / "helm-v4.0.0" / "helm"

    assert build.find_or_build_program(target, "helm.sh/helm/v4/cmd/helm", module=tmp_path) == target
    assert build.find_or_build_program(target, "helm.sh/helm/v4/cmd/helm", module=tmp_path) == target
    assert target.read_text() == "whole\n"
    assert names_built(built) == ["helm"]


def test_without_go_a_program_of_another_module_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")

    with pytest.raises(build.UnavailableError, match="no Go to build helm: install it from"):
        build.find_or_build_program(tmp_path / "helm", "helm.sh/helm/v4/cmd/helm", module=tmp_path)


def test_the_module_replaces_the_staging_modules_of_the_kubernetes_it_requires() -> None:
    """Kubernetes v1.X.Y is published with k8s.io/api v0.X.Y and so on; go.mod must name pairs."""
    staging = build.kubernetes_version().replace("v1.", "v0.", 1)
    lines = (SCRIPT.parent / "go.mod").read_text().splitlines()
    replaced = [line.split()[-1] for line in lines if " => k8s.io/" in line]

    assert len(replaced) > 30
    assert set(replaced) == {staging}

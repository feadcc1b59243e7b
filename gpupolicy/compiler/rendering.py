"""Manifests to text: one stream, or the files of a folder that kustomize takes. Writes nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePath

import gpupolicy
from gpupolicy.compiler.manifest import Document, Manifest
from gpupolicy.compiler.scheduler import build_configuration, file_lines, proof_lines
from gpupolicy.compiler.yaml_text import to_yaml
from gpupolicy.model import Policy

MARK = "# gpupolicy "
KUSTOMIZATION = "kustomization.yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedFile:
    """A file below the output folder: its path with slashes, and its text."""

    path: str
    text: str


def render_stream(policy: Policy, manifests: Iterable[Manifest]) -> str:
    """Returns all manifests as one YAML stream, each with its header."""
    return "---\n".join(_header(policy, *_remarks(manifest)) + to_yaml(manifest.document) for manifest in manifests)


def render_configuration(policy: Policy) -> str:
    """Returns the file for ``kube-scheduler --config``, whoever runs it."""
    return _header(policy, *file_lines(policy), *proof_lines(policy)) + to_yaml(build_configuration(policy))


def render_files(policy: Policy, manifests: Iterable[Manifest]) -> tuple[RenderedFile, ...]:
    """Returns the files of the output folder, sorted by path.

    ``kustomization.yaml`` lists every file that ``kubectl apply -k`` can take; it is left out where there is none.
    """
    manifests = tuple(manifests)
    by_path: dict[str, list[Manifest]] = {}
    for manifest in manifests:
        by_path.setdefault(manifest.path, []).append(manifest)
    files = [RenderedFile(path=path, text=render_stream(policy, group)) for path, group in by_path.items()]
    resources = [path for path, group in by_path.items() if group[0].kept_apart is None]
    if resources:
        apart = [f"Not listed: {path} {group[0].kept_apart}." for path, group in by_path.items() if group[0].kept_apart]
        document: Document = {
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "resources": resources,
        }
        files.append(RenderedFile(path=KUSTOMIZATION, text=_header(policy, *apart) + to_yaml(document)))
    return tuple(sorted(files, key=lambda file: file.path))


def _remarks(manifest: Manifest) -> Iterator[str]:
    if manifest.kept_apart:
        yield f"This {manifest.kept_apart}."
    yield from manifest.remarks


def _header(policy: Policy, *remarks: str) -> str:
    """The first line is also the mark by which we know a file as ours."""
    first = (
        f"{MARK}{gpupolicy.__version__} compiled this from policy {policy.name} ({PurePath(policy.origin.file).name})."
    )
    lines = (first, *(f"# {remark}" for remark in remarks))
    return "".join(f"{_one_line(line)}\n" for line in lines)


def _one_line(text: str) -> str:
    """Keeps a comment a comment: a file name may hold anything."""
    return "".join(character if character.isprintable() else " " for character in text)

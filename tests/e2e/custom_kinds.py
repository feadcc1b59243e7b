"""Custom kinds of workloads for the API server: their definitions, and the examples of the table of kinds."""

from __future__ import annotations

from pathlib import Path

import yaml
from e2e.objects import Manifest
from e2e.rest import Object

from gpupolicy.workloads import group_of, rows_of
from gpupolicy.workloads.kinds import guess_resource

EXAMPLES = Path(__file__).parents[1] / "data" / "workloads"


def examples() -> dict[str, Manifest]:
    """The examples of custom kinds in namespaces, by the names of their files."""
    found = {path.stem: yaml.safe_load(path.read_text()) for path in sorted(EXAMPLES.glob("*.yaml"))}
    rows = {(row.group, row.kind) for row in rows_of(()) if row.namespaced and row.pods and "." in row.group}
    return {name: each for name, each in found.items() if (group_of(each.get("apiVersion")), each.get("kind")) in rows}


def definitions(*more: tuple[str, str]) -> list[Object]:
    """Definitions of the kinds of all examples, and of more (group, kind); the API server learns only their names."""
    versions: dict[tuple[str, str], list[str]] = {each: ["v1"] for each in more}
    for each in examples().values():
        group, version = each["apiVersion"].split("/")
        versions.setdefault((group, each["kind"]), []).append(version)
    return [definition(group, kind, sorted(set(found))) for (group, kind), found in versions.items()]


def definition(group: str, kind: str, versions: list[str]) -> Object:
    plural = guess_resource(kind)
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}", "annotations": {"api-approved.kubernetes.io": "unapproved, a test"}},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
            "versions": [
                {"name": name, "served": True, "storage": name == versions[0], "schema": {"openAPIV3Schema": schema}}
                for name in versions
            ],
        },
    }

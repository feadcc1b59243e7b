"""What the real Kubernetes accepts and refuses, as data: asked for in the end-to-end tests, believed in the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from gpupolicy.errors import Severity
from gpupolicy.linting import lint_text

DATA = Path(__file__).parent / "data" / "foreign"

# what lint calls an error although Kubernetes takes it: it works, and does harm
SAFETY_RULES = frozenset(
    {
        "leader-election-shares-lease",
        "match-condition-namespace-object",
        "match-condition-unguarded",
        "webhook-blocks-cluster",
        "webhook-holds-lifelines",
        "webhook-review-old",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A file, or the object in it, and whether the real Kubernetes refuses it."""

    name: str
    value: Any
    refused: bool


def scheduler_cases() -> list[Case]:
    """Texts of KubeSchedulerConfigurations."""
    return list(_cases(_read("scheduler_configurations.yaml"), lambda text: text))


def webhook_cases() -> list[Case]:
    """Webhook configurations."""
    data = _read("webhook_configurations.yaml")
    return list(_cases(data, lambda change: _registration(data["good"], change)))


def node_cases() -> list[Case]:
    """Nodes."""
    data = _read("nodes.yaml")
    return list(_cases(data, lambda change: _node(data["good"], change)))


def is_refused_by_lint(text: str) -> bool:
    """Whether lint finds an error in a text that is about what Kubernetes refuses."""
    findings = lint_text(text, "file")
    return any(f.severity is Severity.ERROR and f.rule not in SAFETY_RULES for f in findings)


def _read(name: str) -> Any:
    return yaml.safe_load((DATA / name).read_text())


def _cases(data: Mapping[str, Any], build: Callable[[Any], Any]) -> Iterator[Case]:
    for answer in ("accepted", "refused"):
        for name, change in data[answer].items():
            yield Case(name=name, value=build(change), refused=answer == "refused")


def _registration(good: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    hook = _without_nulls({**good["webhooks"][0], **change.get("hook", {})})
    return _without_nulls({**good, "webhooks": [hook], **change.get("configuration", {})})


def _node(good: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    changed = _without_nulls({**good, **change})
    status = changed.get("status")
    return changed if status is None else {**changed, "status": {**good["status"], **status}}


def _without_nulls(value: Mapping[str, Any]) -> dict[str, Any]:
    return {key: element for key, element in value.items() if element is not None}

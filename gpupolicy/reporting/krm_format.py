"""Findings as results of a ResourceList, as the KRM Functions specification has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from gpupolicy.errors import FieldPath, format_field

if TYPE_CHECKING:
    from gpupolicy.manifests.krm_function import ItemFinding
    from gpupolicy.manifests.objects import ManifestObject

Result = dict[str, object]


def format_results(findings: Iterable[ItemFinding]) -> list[Result]:
    """Returns a result for each finding: what is not known is left out."""
    return [_result(found) for found in findings]


def _result(found: ItemFinding) -> Result:
    finding = found.finding
    result: Result = {
        "message": f"{finding.message}; {finding.hint}" if finding.hint else finding.message,
        "severity": str(finding.severity),
        "tags": {"rule": finding.rule},
    }
    if found.item is not None:
        result["resourceRef"] = _reference(found.item)
        if finding.field:
            result["field"] = _field(found.item, finding.field)
    if found.file is not None:
        result["file"] = {"path": found.file, **({} if found.index is None else {"index": found.index})}
    return result


def _reference(item: ManifestObject) -> Result:
    reference = {
        "apiVersion": item.api_version,
        "kind": item.kind,
        "name": item.name,
        "namespace": item.namespace,
    }
    return {key: value for key, value in reference.items() if value is not None}


def _field(item: ManifestObject, path: FieldPath) -> Result:
    value: object = item.value
    for step in path:
        if isinstance(value, Mapping):
            value = value.get(step)
        else:
            value = value[step] if isinstance(value, list) and isinstance(step, int) and step < len(value) else None
    current = {"currentValue": value} if isinstance(value, (str, int, float)) else {}
    return {"path": format_field(path), **current}

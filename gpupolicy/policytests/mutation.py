"""The object as it would be stored, compared with the one expected: as far as that goes, or as a whole."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from difflib import unified_diff
from typing import Any

from gpupolicy.admission import Decision
from gpupolicy.manifests.yaml_writer import write_block
from gpupolicy.patch import apply_patch
from gpupolicy.policytests.report import Case, Difference, JSONMap

_ABSENT = object()


def compare_mutated(case: Case, decisions: tuple[Decision, ...]) -> Iterator[Difference]:
    """Yields where the object afterwards is not the expected one."""
    expect = case.expect
    whole = case.object if expect.is_unchanged else expect.mutated_exactly
    if whole is None and expect.mutated is None:
        return
    if any(not decision.allowed for decision in decisions):
        yield Difference(what="mutated", expected="an object", got="none, because it is denied")
        return
    got = _mutated(case, decisions)
    if whole is not None and got != whole:
        name = "mutated" if expect.is_unchanged else "mutatedExactly"
        expected = "the object as it was" if expect.is_unchanged else "this object"
        yield Difference(what=name, expected=expected, got="another one", diff=_diff(whole, got))
    if expect.mutated is not None and (seen := _restrict(got, expect.mutated)) != expect.mutated:
        told = "an object with these fields"
        yield Difference(what="mutated", expected=told, got="another one", diff=_diff(expect.mutated, seen))


def _mutated(case: Case, decisions: tuple[Decision, ...]) -> JSONMap:
    """Returns the object with its patch; the webhook changes pods alone, never what makes them."""
    if case.object.get("kind") != "Pod" or len(decisions) != 1:
        return case.object
    pod: dict[str, Any] = deepcopy(dict(case.object))
    apply_patch(pod, deepcopy(decisions[0].patch))
    return pod


def _restrict(got: object, expected: object) -> Any:
    """Returns what there is in place of each expected value; lists are compared entry by entry, null is absent."""
    if isinstance(expected, Mapping) and isinstance(got, Mapping):
        found = {key: _restrict(got.get(key, _ABSENT), value) for key, value in expected.items()}
        return {key: value for key, value in found.items() if value is not _ABSENT}
    if isinstance(expected, list) and isinstance(got, list) and len(got) == len(expected):
        return [_restrict(entry, value) for entry, value in zip(got, expected, strict=True)]
    return None if expected is None and got is _ABSENT else got


def _diff(expected: object, got: object) -> tuple[str, ...]:
    wanted, found = (_sorted(value).splitlines() for value in (expected, got))
    return tuple(unified_diff(wanted, found, fromfile="expected", tofile="got", lineterm=""))


def _sorted(value: object) -> str:
    """Returns a value as YAML with sorted keys, so that a diff shows what differs and nothing else."""
    return write_block(json.loads(json.dumps(value, sort_keys=True, default=str)), 0)

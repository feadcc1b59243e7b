"""What the API server would refuse in the tolerations of a pod."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from gpupolicy.errors import FieldPath, Finding, Severity, shown
from gpupolicy.model import TaintEffect
from gpupolicy.pod import JSONMap
from gpupolicy.suggestions import hint_known

_RULE = "toleration-refused"
_OPERATORS = ("Equal", "Exists")
_COMPARING = ("Gt", "Lt")  # behind a feature gate that is off by default
_EFFECTS = tuple(str(effect) for effect in TaintEffect)


class _Problem(NamedTuple):
    part: str | None
    message: str
    hint: str | None = None


def find_toleration_problems(spec: JSONMap) -> Iterator[Finding]:
    """Yields what is wrong with the tolerations of a pod's spec; parts of another type are for others to tell.

    Source: kubernetes pkg/apis/core/validation; measured on 1.37.2.
    """
    tolerations = spec.get("tolerations")
    for index, toleration in enumerate(tolerations if isinstance(tolerations, list) else ()):
        if isinstance(toleration, Mapping):
            place: FieldPath = ("spec", "tolerations", index)
            for part, message, hint in _find_problems(toleration):
                field = place if part is None or part not in toleration else (*place, part)
                yield Finding(rule=_RULE, severity=Severity.ERROR, field=field, message=message, hint=hint)


def _find_problems(toleration: JSONMap) -> Iterator[_Problem]:
    operator, effect = toleration.get("operator") or "Equal", toleration.get("effect") or ""
    if isinstance(operator, str) and operator not in (*_OPERATORS, *_COMPARING):
        hint = hint_known(shown(operator, 63), _OPERATORS)
        yield _Problem("operator", f"{shown(operator, 63)} is no operator of a toleration", hint)
    elif operator == "Exists":
        if toleration.get("value"):
            yield _Problem("value", "a toleration that Exists has no value", "leave the value out, or the operator")
    elif not toleration.get("key"):
        yield _Problem(
            None, f"a toleration without a key has the operator Exists, not {operator}", "name the taint's key"
        )
    if isinstance(effect, str) and effect not in ("", *_EFFECTS):
        hint = hint_known(shown(effect, 63), _EFFECTS)
        yield _Problem("effect", f"{shown(effect, 63)} is no effect of a taint", hint)
    elif toleration.get("tolerationSeconds") is not None and effect != TaintEffect.NO_EXECUTE:
        yield _Problem("tolerationSeconds", "tolerationSeconds goes with the effect NoExecute alone")

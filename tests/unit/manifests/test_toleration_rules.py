"""What the API server would refuse in the tolerations of a pod, as measured on 1.37.2."""

from __future__ import annotations

import pytest

from gpupolicy.errors import format_field
from gpupolicy.manifests.toleration_rules import find_toleration_problems


def told(toleration: object) -> list[tuple[str, str, str | None]]:
    found = find_toleration_problems({"tolerations": [toleration]})
    return [(format_field(finding.field), finding.message, finding.hint) for finding in found]


@pytest.mark.parametrize(
    "toleration",
    [
        {"operator": "Exists"},
        {"key": "a"},
        {"key": "a", "value": "b", "effect": "NoSchedule"},
        {"key": "a", "operator": "Equal", "value": "b", "effect": ""},
        {"key": "a", "operator": "Exists", "value": ""},
        {"key": "a", "operator": "Gt", "value": "5"},
        {"key": "a", "effect": "NoExecute", "tolerationSeconds": 300},
        {"key": "a", "operator": 1, "effect": []},
        "x",
    ],
    ids=str,
)
def test_what_the_api_server_takes_and_what_others_tell_passes(toleration: object) -> None:
    assert told(toleration) == []


@pytest.mark.parametrize(
    ("toleration", "field", "message", "hint"),
    [
        pytest.param(
            {"key": "a", "operator": "exists"},
            ".operator",
            "exists is no operator of a toleration",
            "did you mean Exists",
            id="operator",
        ),
        pytest.param(
            {"key": "a", "operator": "Exists", "value": "b"},
            ".value",
            "a toleration that Exists has no value",
            "leave the value out, or the operator",
            id="value",
        ),
        pytest.param(
            {"value": "b"},
            "",
            "a toleration without a key has the operator Exists, not Equal",
            "name the taint's key",
            id="no-key",
        ),
        pytest.param(
            {"key": "a", "effect": "noschedule"},
            ".effect",
            "noschedule is no effect of a taint",
            "did you mean NoSchedule",
            id="effect",
        ),
        pytest.param(
            {"key": "a", "effect": "NoSchedule", "tolerationSeconds": 5},
            ".tolerationSeconds",
            "tolerationSeconds goes with the effect NoExecute alone",
            None,
            id="seconds",
        ),
    ],
)
def test_what_the_api_server_refuses_is_told(
    toleration: dict[str, object], field: str, message: str, hint: str | None
) -> None:
    assert told(toleration) == [(f"spec.tolerations[0]{field}", message, hint)]


@pytest.mark.parametrize("tolerations", [None, "x", {}], ids=str)
def test_tolerations_that_are_no_list_are_for_others_to_tell(tolerations: object) -> None:
    assert list(find_toleration_problems({"tolerations": tolerations})) == []

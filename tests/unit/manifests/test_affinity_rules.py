"""What the API server would refuse in the node affinity of a pod, as measured on 1.37.2."""

from __future__ import annotations

import pytest
from builders import PREFERRED, REQUIRED, preference, within

from gpupolicy.errors import Severity, format_field
from gpupolicy.manifests.affinity_rules import find_affinity_problems

TERM = f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0]"
TESLA = {"matchExpressions": [within("product", "Tesla V100")]}
UNKNOWN = "kubectl refuses it, and others drop it with what it says"


def told(affinity: object) -> list[tuple[str, str, str, str | None]]:
    found = find_affinity_problems({"affinity": affinity})
    return [(finding.rule, format_field(finding.field), finding.message, finding.hint) for finding in found]


def in_term(**term: object) -> list[tuple[str, str, str, str | None]]:
    return told({"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term]}}})


def expressed(operator: str, *values: str) -> list[tuple[str, str, str, str | None]]:
    return in_term(matchExpressions=[{"key": "zone", "operator": operator, "values": list(values)}])


@pytest.mark.parametrize(
    ("operator", "values"),
    [("In", "ab"), ("NotIn", "a"), ("Exists", ""), ("DoesNotExist", ""), ("Gt", "4"), ("Lt", "x")],
)
def test_what_the_api_server_takes_passes(operator: str, values: str) -> None:
    assert expressed(operator, *values) == []


@pytest.mark.parametrize(
    ("operator", "values", "message"),
    [
        ("In", "", "In needs values"),
        ("NotIn", "", "NotIn needs values"),
        ("Exists", "a", "Exists takes no values"),
        ("DoesNotExist", "a", "DoesNotExist takes no values"),
        ("Gt", "", "Gt takes one value, not 0"),
        ("Lt", "12", "Lt takes one value, not 2"),
    ],
)
def test_every_operator_takes_its_own_number_of_values(operator: str, values: str, message: str) -> None:
    assert expressed(operator, *values) == [("affinity-refused", f"{TERM}.matchExpressions[0]", message, None)]


def test_values_that_are_left_out_are_none() -> None:
    assert [problem[2] for problem in in_term(matchExpressions=[{"key": "zone", "operator": "In"}])] == [
        "In needs values"
    ]


def test_operators_are_told_by_the_case_of_their_letters() -> None:
    assert expressed("in", "a") == [
        ("affinity-refused", f"{TERM}.matchExpressions[0].operator", "in is no operator", "did you mean In")
    ]


def test_keys_and_values_are_those_of_labels() -> None:
    assert [problem[:2] for problem in in_term(matchExpressions=[within("a b", "Tesla V100")])] == [
        ("label-key-refused", f"{TERM}.matchExpressions[0].key"),
        ("label-value-refused", f"{TERM}.matchExpressions[0].values[0]"),
    ]


@pytest.mark.parametrize(
    ("affinity", "severity"),
    [
        pytest.param({REQUIRED: {"nodeSelectorTerms": [TESLA]}}, Severity.ERROR, id="required"),
        pytest.param({PREFERRED: [{"weight": 1, "preference": TESLA}]}, Severity.WARNING, id="preferred"),
    ],
)
def test_of_the_values_of_a_preferred_term_the_api_server_only_warns(affinity: object, severity: Severity) -> None:
    (problem,) = find_affinity_problems({"affinity": {"nodeAffinity": affinity}})

    assert (problem.rule, problem.severity) == ("label-value-refused", severity)


@pytest.mark.parametrize(
    ("field", "message", "hint"),
    [
        pytest.param(
            within("metadata.name", "a", "b"),
            "matchFields takes one value, not 2",
            "write a term for each node",
            id="two-nodes",
        ),
        pytest.param(
            within("metadata.name", "a", operator="Exists"), "Exists is no operator", "known: In, NotIn", id="operator"
        ),
        pytest.param(
            within("zone", "a"),
            "matchFields knows metadata.name alone, not zone",
            "labels stand in matchExpressions",
            id="a-label",
        ),
    ],
)
def test_match_fields_name_one_node(field: dict[str, object], message: str, hint: str) -> None:
    assert [problem[2:] for problem in in_term(matchFields=[field])] == [(message, hint)]


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (0, "the weight is 0, 1 to 100 is expected"),
        (101, "the weight is 101, 1 to 100 is expected"),
        ("5", "the weight is 5, 1 to 100 is expected"),
        (None, "a preferred term has no weight; 1 to 100 is expected"),
    ],
)
def test_a_weight_is_from_1_to_100(weight: object, message: str) -> None:
    term = {**preference(1, within("zone", "a")), "weight": weight}

    assert [problem[2] for problem in told({"nodeAffinity": {PREFERRED: [term]}})] == [message]


@pytest.mark.parametrize(
    ("affinity", "message", "hint"),
    [
        pytest.param(
            {REQUIRED: {}},
            f"affinity has no field {REQUIRED}: {UNKNOWN}",
            "known: nodeAffinity, podAffinity, podAntiAffinity",
            id="a-level-too-high",
        ),
        pytest.param(
            {"nodeAffinity": {"requiredDuringScheduling": {}}},
            f"nodeAffinity has no field requiredDuringScheduling: {UNKNOWN}",
            f"did you mean {REQUIRED}",
            id="cut-short",
        ),
        pytest.param(
            {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchLabels": {"zone": "a"}}]}}},
            f"a node selector term has no field matchLabels: {UNKNOWN}",
            "labels stand in matchExpressions",
            id="labels-in-a-term",
        ),
        pytest.param(
            {"nodeAffinity": {PREFERRED: [{"weight": 1, "preference": {}, "matchExpressions": []}]}},
            f"a preferred term has no field matchExpressions: {UNKNOWN}",
            "known: preference, weight",
            id="expressions-beside-the-preference",
        ),
        pytest.param(
            {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [{"value": "a"}]}]}}},
            f"an expression has no field value: {UNKNOWN}",
            "did you mean values",
            id="in-an-expression",
        ),
    ],
)
def test_a_field_that_kubernetes_does_not_have_is_told(affinity: object, message: str, hint: str) -> None:
    assert [problem[2:] for problem in told(affinity)] == [(message, hint)]


@pytest.mark.parametrize(
    "affinity",
    [
        None,
        "x",
        {"nodeAffinity": "x"},
        {"nodeAffinity": {REQUIRED: [], PREFERRED: {}}},
        {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [None, {"matchExpressions": ["x"]}]}, PREFERRED: ["x"]}},
        {
            "nodeAffinity": {
                REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [{"operator": "In", "values": "x"}]}]}
            }
        },
    ],
    ids=repr,
)
def test_parts_of_another_type_are_for_others_to_tell(affinity: object) -> None:
    assert told(affinity) == []

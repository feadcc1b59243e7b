"""What match conditions may name, call and give; every expression here was asked of the API server of 1.37.2."""

from __future__ import annotations

import pytest

from gpupolicy.linting.foreign.webhooks.cel.names import Problem, find_problem
from gpupolicy.linting.foreign.webhooks.cel.syntax import Unreadable, read_expression


def problem_of(expression: str) -> Problem | None:
    """What is wrong with an expression that can be read."""
    tree = read_expression(expression)
    assert not isinstance(tree, Unreadable), tree
    return find_problem(tree)


@pytest.mark.parametrize(
    "expression",
    [
        "oldObject == null && type(object) == map",
        "!authorizer.group('').resource('pods').check('delete').allowed()",
        "quantity('1').isGreaterThan(quantity('0'))",
        "object.spec.nodeSelector.exists(k, v, k == 'a' && v == 'b')",
        "object.spec.exists(object, object == null)",
        "object.?a.optMap(x, x == 1).orValue(false)",
        "object.?spec.?nodeSelector != oldObject.?spec.?nodeSelector",
        "object.metadata.?labels[?'a'] == optional.of('b')",
        "optional.of(true).orValue(false)",
        "object.spec.hostNetwork.orValue(false)",
        "object.x ? true : false",
        "object.x && !object.y",
        "request.dryRun",
        "request.options.x == 1",
        "request.userInfo.extra['a'] == ['b']",
        "request.namespace in object.x",
        "bool('true')",
        "duration('1h') > duration('1m')",
        "sets.contains(['a'], [request.namespace])",
        "request.name.size() > 1",
        "object.spec.containers.map(c, 1).sum() > 1",
    ],
)
def test_what_the_api_server_compiles_has_no_problem(expression: str) -> None:
    assert problem_of(expression) is None


@pytest.mark.parametrize(
    ("expression", "what", "hint"),
    [
        pytest.param("pod.spec == 1", "reads pod, which match conditions do not have", "write object", id="pod"),
        pytest.param("variables.x > 0", "reads variables, which match conditions do not have", None, id="variables"),
        pytest.param("True", "reads True, which match conditions do not have", "write true", id="true-of-python"),
        pytest.param(
            "object.spec.containers.all(c, container.x == 1)",
            "reads container, which match conditions do not have",
            None,
            id="another-variable",
        ),
        pytest.param(
            "object.metadata.labels.nvidia.com/gpu == 'x'",
            "reads gpu, which match conditions do not have",
            None,
            id="a-slash-divides",
        ),
        pytest.param(
            "request.userinfo.username == 'a'",
            "reads request.userinfo, which there is not",
            "did you mean userInfo",
            id="field-of-the-request",
        ),
        pytest.param(
            "request.object.spec.x == 1",
            "reads request.object, which there is not",
            "write object",
            id="object-of-the-request",
        ),
        pytest.param(
            "request.kind == 'Pod'",
            "compares request.kind, which has group, kind, version, with one value",
            "write request.kind.kind",
            id="kind-as-text",
        ),
        pytest.param(
            "object.spec.containers.exist(c, true)",
            "calls exist(), which there is not",
            "did you mean exists",
            id="macro",
        ),
        pytest.param("len(object.x) > 0", "calls len(), which there is not", "write size()", id="len"),
        pytest.param(
            "object.spec.exists(true)",
            "calls exists() with 1 argument",
            "it takes a name and what is to hold for it",
            id="macro-without-a-name",
        ),
        pytest.param(
            "object.x.exists(c, has(c.resources.limits['nvidia.com/gpu']))",
            "asks has() for something that is no field",
            "write key in map, or object.?spec.hasValue()",
            id="has-an-item",
        ),
        pytest.param(
            "['a', 'b'].contains(request.namespace)",
            "calls contains() on a list",
            "write value in [...]",
            id="contains-on-a-list",
        ),
        pytest.param(
            "!request.namespace in ['a']",
            'has "!" beside what is no truth value',
            "write !(value in [...])",
            id="not-binds-first",
        ),
        pytest.param(
            "request.namespace in 'a'", 'looks with "in" into a text', "write [...], or contains()", id="in-a-text"
        ),
        pytest.param(
            "quantity('1') > quantity('0')",
            'compares quantities by ">"',
            "write isGreaterThan(quantity(...)), isLessThan or compareTo",
            id="quantities",
        ),
        pytest.param("request.dryRun == 'true'", "compares a truth value with a text", None, id="types"),
        pytest.param("request.namespace == ['a']", "compares a text with a list", None, id="a-list"),
        pytest.param(
            "object.metadata.?labels[?'a'] == 'b'",
            "compares what may be absent with a text",
            "write .orValue(...) behind it",
            id="an-optional-value",
        ),
        pytest.param(
            "'a' in object.metadata.?labels",
            'looks with "in" into what may be absent',
            "write .orValue({}) behind it",
            id="in-an-optional-map",
        ),
        pytest.param(
            "object.spec.?initContainers.exists(c, true)",
            "goes through what may be absent",
            "write .orValue([]) behind it",
            id="macro-of-an-optional-list",
        ),
        pytest.param("request.namespace", "gives no truth value", "compare it with something", id="a-text"),
        pytest.param("size(object.x)", "gives no truth value", "compare it with something", id="a-number"),
        pytest.param(
            "has(object.x) ? object.x : false",
            "gives what the object holds there, which may be anything",
            "compare it: == true",
            id="a-part-of-the-object",
        ),
        pytest.param(
            "object.?spec.?hostNetwork.orValue(false)",
            "gives what the object holds there, which may be anything",
            "compare it: == true",
            id="an-optional-part",
        ),
    ],
)
def test_what_it_does_not_compile_is_told(expression: str, what: str, hint: str | None) -> None:
    assert problem_of(expression) == (what, hint)

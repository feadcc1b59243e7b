"""What a hook is called for, as the API server decides it."""

from __future__ import annotations

from typing import Any

import pytest
from foreign_builders import hook, rule

from gpupolicy.linting.foreign.webhooks.registration import Hook, HookRule

NAME = "kubernetes.io/metadata.name"


def built(**fields: Any) -> Hook:
    """The good hook, changed."""
    return Hook(value=hook(**fields), index=0, mutating=True)


def selector(**fields: Any) -> dict[str, Any]:
    """A namespaceSelector of one expression."""
    return {"matchExpressions": [fields]}


@pytest.mark.parametrize(
    ("resource", "subresource", "covered"),
    [
        pytest.param("pods", "", True, id="pods"),
        pytest.param("pods", "binding", False, id="pods-not-their-binding"),
        pytest.param("pods/*", "binding", True, id="all-of-pods-with-binding"),
        pytest.param("pods/*", "", True, id="all-of-pods-with-pods"),
        pytest.param("*", "", True, id="star-with-pods"),
        pytest.param("*", "binding", False, id="star-without-binding"),
        pytest.param("*/*", "binding", True, id="everything-with-binding"),
        pytest.param("*/status", "", False, id="status-without-pods"),
        pytest.param("pods/binding", "binding", True, id="binding"),
    ],
)
def test_a_resource_of_a_rule_covers_pods_or_their_subresources(resource: str, subresource: str, covered: bool) -> None:
    assert HookRule(path=(), value=rule(resource)).covers("", "pods", subresource) is covered


@pytest.mark.parametrize(
    ("group", "covered"), [pytest.param("", True, id="core"), pytest.param("*", True, id="star"), ("apps", False)]
)
def test_pods_are_in_the_core_group(group: str, covered: bool) -> None:
    assert HookRule(path=(), value=rule(group=group)).covers("", "pods") is covered


@pytest.mark.parametrize(
    ("namespaces", "left_out"),
    [
        pytest.param(None, False, id="no-selector"),
        pytest.param({}, False, id="empty-selector"),
        pytest.param(selector(key=NAME, operator="NotIn", values=["kube-system"]), True, id="by-name"),
        pytest.param(selector(key=NAME, operator="NotIn", values=["other"]), False, id="another-name"),
        pytest.param(selector(key=NAME, operator="In", values=["team-a"]), True, id="only-others"),
        pytest.param({"matchLabels": {"gpu": "enabled"}}, True, id="opt-in"),
        pytest.param(selector(key="control-plane", operator="DoesNotExist"), False, id="opt-out-by-a-label"),
        pytest.param(selector(key="name", operator="NotIn", values=["kube-system"]), False, id="old-name-label"),
    ],
)
def test_a_namespace_is_left_out_by_its_name_or_by_a_label_that_it_lacks(namespaces: Any, left_out: bool) -> None:
    found = built(namespaceSelector=namespaces, matchConditions=None)

    assert found.leaves_out_namespace("kube-system") is left_out


@pytest.mark.parametrize(
    "expression",
    [
        "request.namespace != 'kube-system'",
        '!(request.namespace in ["kube-system", "gpu-system"])',
        "!request.namespace.startsWith('kube-')",
        "request.namespace == 'team-a'",
        "object.metadata.namespace != 'kube-system'",
        "request.kind.kind != 'Pod' || request.namespace != 'kube-system'",
    ],
)
def test_a_match_condition_can_leave_out_a_namespace(expression: str) -> None:
    found = built(namespaceSelector=None, matchConditions=[{"name": "a", "expression": expression}])

    assert found.leaves_out_namespace("kube-system")


@pytest.mark.parametrize(
    "expression",
    [
        "request.namespace == 'kube-system'",
        "request.namespace != 'team-a'",
        "request.userInfo.username != 'kube-system'",
        "object.metadata.namespace != 'team-a'",
    ],
)
def test_one_that_only_names_a_namespace_does_not(expression: str) -> None:
    found = built(namespaceSelector=None, matchConditions=[{"name": "a", "expression": expression}])

    assert not found.leaves_out_namespace("kube-system")


@pytest.mark.parametrize(
    ("client", "namespace"),
    [
        pytest.param({"service": {"namespace": "gpu-system", "name": "a"}}, "gpu-system", id="service"),
        pytest.param({"url": "https://a.gpu-system.svc/mutate"}, "gpu-system", id="service-in-a-url"),
        pytest.param({"url": "https://a.gpu-system.svc.cluster.local:8443"}, "gpu-system", id="with-its-domain"),
        pytest.param({"url": "https://webhook.example.com/"}, "", id="another-host"),
        pytest.param({"url": "https://127.0.0.1:9443/mutate"}, "", id="an-address"),
    ],
)
def test_the_namespace_of_a_hook_is_that_of_its_service(client: dict[str, Any], namespace: str) -> None:
    assert built(clientConfig=client).own_namespace == namespace


@pytest.mark.parametrize(
    ("fields", "is_found"),
    [
        pytest.param({}, True, id="pods"),
        pytest.param({"rules": [rule(apiVersions=["*"])]}, True, id="any-version"),
        pytest.param({"rules": [rule(apiVersions=["v2"])]}, False, id="another-version"),
        pytest.param({"rules": [rule(scope="Cluster")]}, False, id="without-a-namespace"),
    ],
)
def test_a_rule_for_pods_is_for_what_pods_are(fields: dict[str, Any], is_found: bool) -> None:
    assert bool(built(**fields).find_pod_rule("CREATE")) is is_found


@pytest.mark.parametrize(
    ("expression", "passes_over"),
    [
        pytest.param("false", True, id="never"),
        pytest.param("request.kind.kind == 'Deployment'", True, id="another-kind"),
        pytest.param("request.operation == 'UPDATE' && object.spec.x == 1", True, id="another-operation"),
        pytest.param("request.namespace == 'a'", False, id="some-pods"),
    ],
)
def test_a_condition_can_pass_over_every_new_pod(expression: str, passes_over: bool) -> None:
    assert built(matchConditions=[{"name": "a", "expression": expression}]).passes_over_new_pods is passes_over


@pytest.mark.parametrize(
    ("fields", "narrowed"),
    [
        pytest.param({}, True, id="by-resources"),
        pytest.param({"matchConditions": None}, False, id="by-nothing"),
        pytest.param(
            {"matchConditions": [{"name": "a", "expression": "request.operation == 'CREATE'"}]},
            False,
            id="by-the-request-alone",
        ),
        pytest.param(
            {"matchConditions": [{"name": "a", "expression": "object.metadata.namespace != 'a'"}]},
            False,
            id="by-its-namespace-alone",
        ),
        pytest.param(
            {"matchConditions": [{"name": "a", "expression": "!has(object.metadata.deletionTimestamp)"}]},
            False,
            id="by-what-every-new-pod-lacks",
        ),
        pytest.param(
            {"matchConditions": [{"name": "a", "expression": "object.spec.x == 1 &&"}]},
            True,
            id="by-what-is-unreadable",
        ),
        pytest.param({"matchConditions": None, "objectSelector": {"matchLabels": {"a": "b"}}}, True, id="by-a-label"),
        pytest.param(
            {"matchConditions": None, "objectSelector": selector(key="a", operator="DoesNotExist")},
            False,
            id="but-for-a-label",
        ),
    ],
)
def test_a_hook_is_narrowed_by_what_the_object_has(fields: dict[str, Any], narrowed: bool) -> None:
    assert built(**fields).is_narrowed is narrowed


@pytest.mark.parametrize(
    ("policy", "fails"), [pytest.param(None, True, id="default"), ("Fail", True), ("Ignore", False)]
)
def test_fail_is_the_default(policy: str | None, fails: bool) -> None:
    assert built(failurePolicy=policy).fails is fails


def test_ten_seconds_are_the_default_timeout() -> None:
    assert built(timeoutSeconds=None).timeout == 10

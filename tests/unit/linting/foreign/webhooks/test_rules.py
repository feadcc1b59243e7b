"""What is dangerous in a registration, and what only looks so."""

from __future__ import annotations

from typing import Any

import pytest
from builders import policy
from foreign_builders import ASKS_GPU, NOT_SYSTEM, findings_of, hook, messages_of, registration, rule, rules_of

from gpupolicy.linting.foreign.webhooks import lint_webhook_configuration
from gpupolicy.model import Webhook

BARE = {"namespaceSelector": None, "matchConditions": None}


def selector(*namespaces: str) -> dict[str, Any]:
    """All namespaces but some."""
    return {"matchExpressions": [{**NOT_SYSTEM, "values": list(namespaces)}]}


def condition(expression: str) -> list[dict[str, str]]:
    """One match condition."""
    return [{"name": "a", "expression": expression}]


def test_the_good_registration_is_left_alone() -> None:
    assert list(lint_webhook_configuration(registration(hook()))) == []


@pytest.mark.parametrize(
    ("fields", "severities"),
    [
        pytest.param(BARE, ["error"], id="every-pod"),
        pytest.param({**BARE, "failurePolicy": None}, ["error"], id="fail-by-default"),
        pytest.param({**BARE, "failurePolicy": "Ignore"}, [], id="ignore"),
        pytest.param({"namespaceSelector": None}, [], id="only-gpu-pods"),
        pytest.param({"matchConditions": None, "namespaceSelector": selector("kube-system")}, ["error"], id="not-own"),
        pytest.param({"matchConditions": None, "namespaceSelector": selector("gpu-system")}, ["error"], id="only-own"),
        pytest.param({"matchConditions": None}, [], id="both-left-out"),
        pytest.param({**BARE, "rules": [rule(operations=("UPDATE",))]}, [], id="updates-alone"),
        pytest.param({**BARE, "rules": [rule("deployments", group="apps")]}, [], id="deployments"),
        pytest.param({**BARE, "rules": [rule("*/*", group="*")]}, ["error"], id="everything"),
        pytest.param(
            {**BARE, "namespaceSelector": {"matchExpressions": [{"key": "skip", "operator": "DoesNotExist"}]}},
            ["warning"],
            id="but-for-a-label",
        ),
    ],
)
def test_a_hook_that_fails_has_to_let_the_cluster_start(fields: dict[str, Any], severities: list[str]) -> None:
    found = [f.severity for f in findings_of(registration(hook(**fields))) if f.rule == "webhook-blocks-cluster"]

    assert found == severities


@pytest.mark.parametrize("kind", ["Mutating", "Validating"])
def test_that_holds_for_both_kinds_of_hooks(kind: str) -> None:
    value = registration(hook(**BARE, reinvocationPolicy=None), kind=kind)

    assert "error webhook-blocks-cluster" in rules_of(value)


def test_a_hook_called_by_url_has_no_namespace_of_its_own() -> None:
    client = {"url": "https://webhook.example.com/"}
    (message,) = messages_of(registration(hook(**BARE, clientConfig=client)), "webhook-blocks-cluster")

    assert message.startswith("failurePolicy is Fail for every new pod in kube-system;")


@pytest.mark.parametrize(
    ("rules", "fails", "found"),
    [
        pytest.param([rule("*", group="*")], "Fail", ["error"], id="everything"),
        pytest.param([rule("*", group="*")], "Ignore", ["warning"], id="everything-ignored"),
        pytest.param([rule("nodes", operations=("UPDATE",))], "Fail", ["error"], id="nodes"),
        pytest.param([rule("nodes", operations=("DELETE",))], "Fail", [], id="nodes-going"),
        pytest.param([rule("leases", group="coordination.k8s.io")], "Fail", ["error"], id="leases"),
        pytest.param([rule("*", group="*", scope="Namespaced")], "Fail", ["error"], id="namespaced-holds-leases"),
        pytest.param([rule("pods")], "Fail", [], id="pods"),
    ],
)
def test_what_the_cluster_lives_by_is_left_alone(rules: list[Any], fails: str, found: list[str]) -> None:
    value = registration(hook(matchConditions=None, failurePolicy=fails, rules=rules))

    assert [f.severity for f in findings_of(value) if f.rule == "webhook-holds-lifelines"] == found


@pytest.mark.parametrize(
    ("rules", "expression", "found"),
    [
        pytest.param([rule("pods/*")], ASKS_GPU, ["error"], id="bindings"),
        pytest.param([rule("*")], ASKS_GPU, ["error"], id="every-resource"),
        pytest.param([rule(operations=("CREATE", "DELETE"))], ASKS_GPU, ["error"], id="delete"),
        pytest.param([rule(operations=("*",))], ASKS_GPU, ["error"], id="every-operation"),
        pytest.param([rule(operations=("CREATE", "UPDATE"))], ASKS_GPU, [], id="update-has-a-pod"),
        pytest.param([rule("pods/*")], f"request.kind.kind == 'Pod' && {ASKS_GPU}", [], id="bindings-guarded"),
        pytest.param([rule(operations=("*",))], f"object != null && {ASKS_GPU}", [], id="delete-guarded"),
        pytest.param([rule("pods/*")], f"object != null && {ASKS_GPU}", ["error"], id="a-binding-is-not-null"),
        pytest.param([rule("pods/*")], "request.namespace != 'a'", [], id="reads-no-object"),
        pytest.param([rule("pods", "pods/resize", operations=("UPDATE",))], ASKS_GPU, [], id="resize-has-a-pod"),
    ],
)
def test_an_expression_about_pods_needs_a_guard_where_others_come(
    rules: list[Any], expression: str, found: list[str]
) -> None:
    value = registration(hook(rules=rules, matchConditions=condition(expression)))

    assert [f.severity for f in findings_of(value) if f.rule == "match-condition-unguarded"] == found


def test_an_unguarded_expression_under_ignore_is_a_warning() -> None:
    value = registration(hook(rules=[rule("pods/*")], failurePolicy="Ignore"))

    assert "warning match-condition-unguarded" in rules_of(value)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        pytest.param({"timeoutSeconds": 3}, [], id="3-with-fail"),
        pytest.param({"timeoutSeconds": 5}, ["timeoutSeconds is 5 with failurePolicy Fail"], id="5-with-fail"),
        pytest.param({"timeoutSeconds": 10, "failurePolicy": "Ignore"}, [], id="10-with-ignore"),
        pytest.param({"timeoutSeconds": 30, "failurePolicy": "Ignore"}, ["timeoutSeconds is 30"], id="30-with-ignore"),
    ],
)
def test_a_long_wait_is_told(fields: dict[str, Any], told: list[str]) -> None:
    messages = messages_of(registration(hook(**fields)), "webhook-wait-long")

    assert messages == [f"{what}; every request waits that long while the webhook does not answer" for what in told]


@pytest.mark.parametrize(
    ("rules", "hint"),
    [
        pytest.param([rule(group="core")], 'the core group is ""', id="core"),
        pytest.param([rule(group="apps/v1")], "write the part before the slash", id="group-with-version"),
        pytest.param([rule("Pod")], "write pods", id="kind"),
        pytest.param([rule("deployments")], 'write apiGroups: ["apps"]', id="group-of-others"),
        pytest.param([rule(scope="Cluster")], "leave scope out", id="scope"),
        pytest.param([rule("podss")], "did you mean pods", id="misspelt"),
        pytest.param([rule("deployment/scale", group="apps")], "write deployments/scale", id="kind-with-subresource"),
        pytest.param([rule("statefulset-s", group="apps")], "did you mean statefulsets", id="misspelt-in-apps"),
        pytest.param([rule(apiVersions=["v2"])], "write apiVersions: [v1]", id="version"),
        pytest.param(
            [rule("deployments", group="apps", apiVersions=["apps/v1"])],
            "write the part behind the slash, and the one before it as apiGroups",
            id="version-with-group",
        ),
    ],
)
def test_a_rule_that_no_request_meets_is_told(rules: list[Any], hint: str) -> None:
    found = [f.hint for f in findings_of(registration(hook(rules=rules))) if f.rule == "webhook-rule-never-matches"]

    assert hint in found


@pytest.mark.parametrize(
    ("resource", "operation", "told"),
    [
        pytest.param("pods/exec", "CREATE", "webhooks are asked about pods/exec at CONNECT alone", id="exec"),
        pytest.param("pods/resize", "CREATE", "webhooks are asked about pods/resize at UPDATE alone", id="resize"),
        pytest.param("pods/binding", "UPDATE", "webhooks are asked about pods/binding at CREATE alone", id="binding"),
        pytest.param("pods/exec", "CONNECT", None, id="exec-is-a-connect"),
        pytest.param("pods/ephemeralcontainers", "UPDATE", None, id="ephemeral-containers-are-an-update"),
        pytest.param("pods/exec", "*", None, id="any"),
        pytest.param("pods/unknown", "CREATE", None, id="unknown"),
    ],
)
def test_subresources_of_pods_have_operations_of_their_own(resource: str, operation: str, told: str | None) -> None:
    value = registration(hook(rules=[rule(resource, operations=(operation,))], matchConditions=None))

    messages = messages_of(value, "webhook-rule-never-matches")

    assert messages == ([f"{told}, which operations lacks"] if told else [])


@pytest.mark.parametrize(
    ("rules", "version", "found"),
    [
        pytest.param(
            [rule("tokenreviews", group="authentication.k8s.io")],
            "1.37",
            ["warning webhook-rule-never-matches"],
            id="reviews",
        ),
        pytest.param(
            [rule("tokenreviews", group="authentication.k8s.io")],
            "1.36",
            ["error webhook-holds-lifelines"],
            id="reviews-of-old",
        ),
        pytest.param(
            [rule("validatingwebhookconfigurations", group="admissionregistration.k8s.io")],
            "1.36",
            ["warning webhook-rule-never-matches"],
            id="registrations",
        ),
    ],
)
def test_what_is_shown_to_no_webhook_is_told_by_version(rules: list[Any], version: str, found: list[str]) -> None:
    value = registration(hook(rules=rules, matchConditions=None))

    assert rules_of(value, policy(kubernetes_version=version)) == found


@pytest.mark.parametrize(
    ("resource", "group"),
    [
        pytest.param("widgets", "example.com", id="custom-resources"),
        pytest.param("*/status", "", id="a-subresource-of-all"),
        pytest.param("serviceaccounts/token", "", id="a-subresource"),
        pytest.param("controllerrevisions", "apps", id="of-kubernetes"),
        pytest.param("widgets", "*", id="any-group"),
    ],
)
def test_a_resource_that_there_may_be_is_left_alone(resource: str, group: str) -> None:
    value = registration(hook(rules=[rule(resource, group=group)], matchConditions=None))

    assert messages_of(value, "webhook-rule-never-matches") == []


def test_a_rule_that_never_matches_blocks_nothing() -> None:
    value = registration(hook(**BARE, rules=[rule(scope="Cluster")]))

    assert rules_of(value) == ["warning webhook-rule-never-matches"]


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        pytest.param("!request.namespace.startsWith('kube-')", [], id="left-out-by-a-prefix"),
        pytest.param("request.namespace == 'team-a'", [], id="for-one-team"),
        pytest.param("request.namespace == 'kube-system'", ["error"], id="for-kube-system"),
        pytest.param("object.metadata.namespace != 'other'", ["error"], id="for-all-but-another"),
        pytest.param("request.kind.kind == 'Job'", [], id="for-jobs"),
    ],
)
def test_a_match_condition_decides_whether_the_cluster_can_start(expression: str, found: list[str]) -> None:
    client = {"url": "https://webhook.example.com/"}
    fields = {**BARE, "matchConditions": condition(expression), "clientConfig": client}
    severities = [f.severity for f in findings_of(registration(hook(**fields))) if f.rule == "webhook-blocks-cluster"]

    assert severities == found


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        pytest.param("request.namespace != 'team-a'", ["warning webhook-sees-every-pod"], id="by-namespace"),
        pytest.param("request.userInfo.username != 'a'", ["warning webhook-sees-every-pod"], id="by-user"),
        pytest.param(ASKS_GPU, [], id="by-resources"),
    ],
)
def test_a_condition_that_tells_no_pods_apart_lets_every_pod_through(expression: str, found: list[str]) -> None:
    assert rules_of(registration(hook(matchConditions=condition(expression)))) == found


@pytest.mark.parametrize(
    ("rules", "covered"),
    [
        pytest.param([rule("pods", operations=("CREATE", "DELETE"))], ["DELETE"], id="deletions"),
        pytest.param([rule("pods", operations=("*",))], ["DELETE"], id="pods-are-not-connected-to"),
        pytest.param([rule("pods/exec", operations=("CONNECT",))], ["pods/exec, CONNECT"], id="exec"),
        pytest.param([rule("pods", "pods/exec")], [], id="exec-is-never-created"),
        pytest.param([rule("pods/*", operations=("*",))], ["pods/*, DELETE, CONNECT"], id="everything"),
    ],
)
def test_what_a_rule_covers_of_pods_is_what_webhooks_are_asked_about(rules: list[Any], covered: list[str]) -> None:
    messages = messages_of(registration(hook(rules=rules)), "webhook-covers-subresources")

    assert messages == [f"the rule covers {what} of pods" for what in covered]


def test_a_condition_on_the_resource_keeps_what_the_cluster_lives_by_out() -> None:
    conditions = condition("request.resource.resource == 'pods'")
    value = registration(hook(rules=[rule("*", group="*")], matchConditions=conditions))

    assert "error webhook-holds-lifelines" not in rules_of(value)


@pytest.mark.parametrize(
    ("fields", "message", "hint"),
    [
        pytest.param(
            {"matchConditions": condition("object.spec.containers.exists(c, 'a' in c.resources.limits)")},
            "c.resources.limits is read, which a request for a pod may lack; such a request is refused",
            "ask has(c.resources.limits) first, or read it with .?",
            id="limits",
        ),
        pytest.param(
            {"matchConditions": condition("has(object.metadata.labels) && object.metadata.labels['a'] == 'b'")},
            "object.metadata.labels['a'] is read, which a request for a pod may lack; such a request is refused",
            "ask 'a' in object.metadata.labels first",
            id="one-label",
        ),
        pytest.param(
            {"matchConditions": condition("object.spec.x != oldObject.spec.x")},
            "oldObject.spec is read, which CREATE does not have; such a request is refused",
            "look at request.operation, or at oldObject != null, first",
            id="old-object",
        ),
    ],
)
def test_an_expression_about_new_pods_asks_for_what_they_may_lack(
    fields: dict[str, Any], message: str, hint: str
) -> None:
    found = [f for f in findings_of(registration(hook(**fields))) if f.rule == "match-condition-unguarded"]

    assert [(f.severity, f.message, f.hint) for f in found] == [("error", message, hint)]


def test_an_expression_about_other_objects_is_not_held_against_pods() -> None:
    conditions = condition("object.spec.template.spec.nodeName == 'a' && object.metadata.labels['a'] == 'b'")
    value = registration(hook(rules=[rule("deployments", group="apps")], matchConditions=conditions))

    assert messages_of(value, "match-condition-unguarded") == []


@pytest.mark.parametrize(
    ("name", "found"),
    [
        pytest.param("gpupolicy", [], id="before-kueue"),
        pytest.param("my-gpupolicy", ["warning webhook-order-late"], id="after-kueue"),
        pytest.param("zz-other", [], id="not-ours"),
    ],
)
def test_our_own_registration_has_to_sort_before_kueue(name: str, found: list[str]) -> None:
    assert rules_of(registration(hook(), name=name)) == found


@pytest.mark.parametrize(
    ("url", "found"),
    [
        pytest.param("https://a.example.com:8443/mutate", [], id="port"),
        pytest.param("https://[::1]:8443/mutate", [], id="port-behind-brackets"),
        pytest.param("https://a.example.com:/mutate", [], id="no-port-behind-the-colon"),
        pytest.param("https://a.example.com:70000/", ["warning"], id="port-too-high"),
        pytest.param("https://a.example.com:0/", ["warning"], id="port-0"),
        pytest.param("https://a.example.com:https/", ["error"], id="port-by-name"),
    ],
)
def test_a_port_that_no_call_gets_to_is_taken_by_the_api_server(url: str, found: list[str]) -> None:
    value = registration(hook(clientConfig={"url": url}))

    assert [f.severity for f in findings_of(value) if f.rule == "webhook-url-refused"] == found


def test_the_policys_service_makes_a_registration_ours() -> None:
    own = policy(webhook=Webhook(namespace="gpu-system", name="gpu-webhook"))

    assert rules_of(registration(hook(), name="zz-other"), own) == ["warning webhook-order-late"]


@pytest.mark.parametrize(
    ("rules", "told"),
    [
        pytest.param([rule()], ["failurePolicy is Ignore; the policy has Fail (policy)"], id="pods"),
        pytest.param([rule("deployments", group="apps")], [], id="workloads"),
    ],
)
def test_the_policys_failure_policy_is_that_of_hooks_on_pods(rules: list[Any], told: list[str]) -> None:
    own = policy(webhook=Webhook(namespace="gpu-system", name="gpu-webhook"))
    value = registration(hook(failurePolicy="Ignore", rules=rules), kind="Validating")

    found = [f.message for f in lint_webhook_configuration(value, own) if f.rule == "webhook-differs-from-policy"]

    assert found == told


def test_a_hook_of_ours_has_to_be_called_again() -> None:
    value = registration(hook(reinvocationPolicy="Never"), name="gpupolicy")

    assert rules_of(value) == ["warning webhook-not-called-again"]


def test_reinvocation_is_no_field_of_validating_hooks() -> None:
    (finding,) = findings_of(registration(hook(), kind="Validating"))

    assert finding.hint == "only mutating webhooks are called again"


def test_a_webhook_configuration_without_hooks_is_told() -> None:
    assert rules_of(registration()) == ["warning webhook-rule-never-matches"]


@pytest.mark.parametrize("bundle", ["", None])
def test_an_injector_may_fill_in_the_certificate(bundle: str | None) -> None:
    client = {"service": {"namespace": "gpu-system", "name": "a"}, "caBundle": bundle}
    value = registration(hook(clientConfig=client))
    value["metadata"]["annotations"] = {"cert-manager.io/inject-ca-from": "gpu-system/a"}

    assert list(lint_webhook_configuration(value)) == []


@pytest.mark.parametrize(
    ("group", "found"),
    [
        pytest.param("batch.volcano.sh", 0, id="custom-resources"),
        pytest.param("apps", 1, id="another-of-kubernetes"),
        pytest.param("policy.k8s.io", 1, id="another-of-kubernetes-with-dots"),
    ],
)
def test_only_a_group_of_custom_resources_may_have_jobs_too(group: str, found: int) -> None:
    value = registration(hook(rules=[rule("jobs", group=group)]))

    assert len(messages_of(value, "webhook-rule-never-matches")) == found

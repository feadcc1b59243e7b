"""Which requests reach the webhook, and in which order with other webhooks."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest
from builders import exemption, policy

from gpupolicy.compiler.manifest import Order
from gpupolicy.compiler.registration import compile_registration, excluded_namespaces, match_conditions, needs_ca_bundle
from gpupolicy.errors import UsageError
from gpupolicy.labels import LabelSelector
from gpupolicy.model import (
    Admission,
    CertificateMode,
    Certificates,
    Exemption,
    FailurePolicy,
    GPUType,
    NamespaceMatch,
    Policy,
    Webhook,
)

BUNDLE = b"-----BEGIN CERTIFICATE-----\n"
CERT_MANAGER = Webhook(certificates=Certificates(mode=CertificateMode.CERT_MANAGER))


def hooks(chosen: Policy, bundle: bytes | None = BUNDLE) -> list[dict[str, object]]:
    """The mutating and the validating hook of pods."""
    manifests = compile_registration(Order(policy=chosen, ca_bundle=bundle))
    return [manifest.document["webhooks"][0] for manifest in manifests]  # type: ignore[index]


def test_both_configurations_sort_before_kueue_and_kai() -> None:
    names = [m.document["metadata"]["name"] for m in compile_registration(Order(policy=policy()))]  # type: ignore[index]

    assert names == ["gpupolicy-test", "gpupolicy-test"]
    assert sorted(["kueue-mutating-webhook-configuration", "mutating-kai-admission", *names])[:2] == names


def test_the_mutating_hook_sees_pods_at_their_creation_only() -> None:
    mutating, _ = hooks(policy())

    assert mutating["rules"] == [
        {
            "apiGroups": [""],
            "apiVersions": ["v1"],
            "operations": ["CREATE"],
            "resources": ["pods"],
            "scope": "Namespaced",
        }
    ]


def test_the_validating_hook_also_sees_updates() -> None:
    (rule,) = hooks(policy())[1]["rules"]  # type: ignore[misc]

    assert (rule["operations"], rule["resources"]) == (["CREATE", "UPDATE"], ["pods"])


def settings(hook: dict[str, object]) -> dict[str, object]:
    """What a hook says about how it is called."""
    left_out = {"rules", "namespaceSelector", "matchConditions"}
    return {key: value for key, value in hook.items() if key not in left_out}


def test_the_hooks_promise_no_side_effects_and_run_again_when_others_change_the_pod() -> None:
    mutating, validating = hooks(policy())

    assert settings(mutating) == {
        "name": "route.test.gpupolicy.dev",
        "clientConfig": {
            "caBundle": "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg==",
            "service": {"name": "gpupolicy-webhook", "namespace": "gpu-system", "path": "/mutate", "port": 443},
        },
        "matchPolicy": "Equivalent",
        "failurePolicy": "Fail",
        "reinvocationPolicy": "IfNeeded",
        "sideEffects": "None",
        "timeoutSeconds": 3,
        "admissionReviewVersions": ["v1"],
    }
    assert validating["name"] == "check.test.gpupolicy.dev"
    assert validating["clientConfig"]["service"]["path"] == "/validate/final"  # type: ignore[index]
    assert "reinvocationPolicy" not in validating


def test_failure_policy_and_timeout_are_the_policys() -> None:
    lenient = replace(policy(), webhook=Webhook(failure_policy=FailurePolicy.IGNORE, timeout_seconds=10))

    assert [(hook["failurePolicy"], hook["timeoutSeconds"]) for hook in hooks(lenient)] == [("Ignore", 10)] * 2


def exempt(*exemptions: Exemption) -> Policy:
    return policy(admission=Admission(exemptions=exemptions))


ALWAYS = ("gpu-system", "kube-node-lease", "kube-system")


@pytest.mark.parametrize(
    ("chosen", "excluded"),
    [
        pytest.param(exempt(), ALWAYS, id="none"),
        pytest.param(exempt(exemption("gpu-operator")), ("gpu-operator", *ALWAYS), id="plain-name"),
        pytest.param(exempt(exemption("team-*", "a?", "[ab]")), ALWAYS, id="patterns"),
        pytest.param(exempt(exemption("b", owner_kinds=("DaemonSet",))), ALWAYS, id="only-some-owners"),
        pytest.param(exempt(exemption("b", service_accounts=("b/c",))), ALWAYS, id="only-some-accounts"),
        pytest.param(exempt(exemption("b", pod_selector=LabelSelector())), ALWAYS, id="only-some-pods"),
        pytest.param(exempt(exemption("b", expires=date(2099, 1, 1))), ALWAYS, id="ends-some-day"),
        pytest.param(
            exempt(Exemption(namespaces=NamespaceMatch(names=("b",), selector=LabelSelector()), reason="x")),
            ALWAYS,
            id="by-labels-too",
        ),
        pytest.param(
            replace(exempt(), webhook=Webhook(namespace="hook")), ("hook", "kube-node-lease", "kube-system"), id="own"
        ),
    ],
)
def test_namespaces_are_excluded_only_where_nothing_else_decides(chosen: Policy, excluded: tuple[str, ...]) -> None:
    assert excluded_namespaces(chosen) == excluded
    assert hooks(chosen)[0]["namespaceSelector"] == {
        "matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": list(excluded)}]
    }


COUNTED = (
    GPUType(name="A", gpus_per_node=8),
    GPUType(name="B", gpus_per_node=8, resource_name="amd.com/gpu"),
    GPUType(name="C", gpus_per_node=8, resource_name="nvidia.com/mig-1g.5gb"),
)


def test_the_condition_names_what_is_counted_and_what_stands_for_the_same_gpus() -> None:
    """By prefix and without case, because `nvidia.com/gpu.shared` and `nvidia.com/GPU` are resources of their own."""
    names = (
        "['amd.com/gpu', 'nvidia.com/gpu', 'nvidia.com/mig-', 'deviceclass.resource.kubernetes.io/']"
        ".exists(n, k.lowerAscii().startsWith(n))"
    )

    asks, _ = match_conditions(policy(types=COUNTED), mutating=True)

    assert asks == {
        "name": "asks-for-gpus",
        "expression": (
            "request.kind.kind == 'Pod' && object != null && (\n"
            "  (object.spec.containers + object.spec.?initContainers.orValue([])).exists(c,\n"
            f"    c.?resources.?limits.orValue({{}}).exists(k, {names}) ||\n"
            f"    c.?resources.?requests.orValue({{}}).exists(k, {names})) ||\n"
            f"  object.spec.?overhead.orValue({{}}).exists(k, {names}) ||\n"
            "  object.spec.?resourceClaims.orValue([]).size() > 0)"
        ),
    }


def test_names_of_another_vendor_do_not_bring_slices_of_nvidia() -> None:
    asks, _ = match_conditions(policy(types=COUNTED[1:2]), mutating=True)

    assert "['amd.com/gpu', 'deviceclass.resource.kubernetes.io/'].exists(" in asks["expression"]


def test_only_the_validating_hook_looks_at_what_an_update_changes() -> None:
    def names(*, mutating: bool) -> list[str]:
        return [condition["name"] for condition in match_conditions(policy(), mutating=mutating)]

    assert names(mutating=True) == ["asks-for-gpus", "is-no-mirror-pod"]
    assert names(mutating=False) == ["asks-for-gpus", "is-no-mirror-pod", "created-or-placed-anew"]


def test_without_a_bundle_the_registration_says_what_is_missing() -> None:
    order = Order(policy=policy())

    (first, _) = compile_registration(order)

    assert needs_ca_bundle(order)
    assert "caBundle" not in hooks(policy(), None)[0]["clientConfig"]  # type: ignore[operator]
    assert first.remarks == (
        "It has no caBundle yet, so the API server trusts no certificate of the webhook: "
        "compile with --ca-bundle ca.crt (gpupolicy certs makes one) before you apply it.",
    )


def test_cert_manager_fills_the_bundle_in() -> None:
    order = Order(policy=replace(policy(), webhook=CERT_MANAGER))

    (first, _) = compile_registration(order)

    assert not needs_ca_bundle(order)
    assert first.remarks == ()
    assert first.document["metadata"]["annotations"] == {  # type: ignore[index]
        "cert-manager.io/inject-ca-from": "gpu-system/gpupolicy-webhook"
    }


def test_a_bundle_beside_cert_manager_is_refused() -> None:
    order = Order(policy=replace(policy(), webhook=CERT_MANAGER), ca_bundle=BUNDLE)

    with pytest.raises(UsageError, match=r"^a CA bundle is given, but cert-manager fills it in"):
        list(compile_registration(order))


def test_a_bundle_beside_a_webhook_that_manages_its_own_is_refused() -> None:
    managed = Webhook(certificates=Certificates(mode=CertificateMode.SELF_MANAGED))
    order = Order(policy=replace(policy(), webhook=managed), ca_bundle=BUNDLE)

    with pytest.raises(UsageError, match=r"^a CA bundle is given, but the webhook itself fills it in"):
        list(compile_registration(order))


def test_a_webhook_that_manages_its_own_bundle_says_where_it_comes_from() -> None:
    managed = Webhook(certificates=Certificates(mode=CertificateMode.SELF_MANAGED))
    (first, *_) = compile_registration(Order(policy=replace(policy(), webhook=managed)))

    assert first.document["metadata"]["annotations"] == {  # type: ignore[index]
        "gpupolicy.dev/inject-ca-from": "gpu-system/gpupolicy-webhook-tls"
    }

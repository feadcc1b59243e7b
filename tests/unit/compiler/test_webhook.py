"""The objects that run the webhook."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from builders import access, policy

from gpupolicy.compiler.manifest import Manifest, Order
from gpupolicy.compiler.webhook import compile_webhook, policy_text
from gpupolicy.errors import UsageError
from gpupolicy.labels import LabelSelector
from gpupolicy.model import Admission, CertificateMode, Certificates, NamespaceMatch, Origin, Policy, Webhook
from gpupolicy.webhook.server import ServeOptions

TEXT = "kind: GPUPolicy  # as it was written\n"


def written(**webhook: object) -> Policy:
    """A policy that was read from a text; keywords are those of its webhook."""
    return replace(policy(), origin=Origin(file="p.yaml", text=TEXT), webhook=Webhook(**webhook))  # type: ignore[arg-type]


def manifests(chosen: Policy) -> dict[str, Manifest]:
    """The compiled manifests by file."""
    return {each.path: each for each in compile_webhook(Order(policy=chosen))}


def pod_spec(chosen: Policy) -> dict[str, object]:
    template = manifests(chosen)["webhook/deployment.yaml"].document["spec"]["template"]  # type: ignore[index]
    return dict(template["spec"])


def container(chosen: Policy) -> dict[str, object]:
    (only,) = pod_spec(chosen)["containers"]  # type: ignore[misc]
    return dict(only)


def test_the_registration_comes_last_and_the_namespace_first() -> None:
    assert list(manifests(written())) == [
        "namespace.yaml",
        "resourcequota.yaml",
        "webhook/serviceaccount.yaml",
        "webhook/configmap.yaml",
        "webhook/deployment.yaml",
        "webhook/service.yaml",
        "webhook/networkpolicy.yaml",
        "webhook/poddisruptionbudget.yaml",
        "webhook/mutatingwebhookconfiguration.yaml",
        "webhook/validatingwebhookconfiguration.yaml",
    ]


def test_the_policy_travels_as_it_was_written() -> None:
    assert manifests(written())["webhook/configmap.yaml"].document["data"] == {"policy.yaml": TEXT}


def test_a_policy_given_as_a_document_travels_as_json() -> None:
    given = replace(policy(), origin=Origin(document={"kind": "GPUPolicy", "name": "ü"}))

    assert policy_text(given) == '{\n  "kind": "GPUPolicy",\n  "name": "ü"\n}\n'


def test_a_policy_built_in_code_has_no_text_to_travel() -> None:
    with pytest.raises(UsageError, match=r"^the policy has no text to put into a ConfigMap"):
        policy_text(policy())


def test_a_policy_larger_than_a_config_map_is_refused() -> None:
    huge = replace(policy(), origin=Origin(text="#" * 1024 * 1024 + "\n"))

    with pytest.raises(UsageError, match=r"^the policy has 1048577 bytes; a ConfigMap holds at most 1048576$"):
        manifests(huge)


def test_a_changed_policy_changes_the_pods_so_that_they_restart() -> None:
    def annotations(chosen: Policy) -> object:
        return manifests(chosen)["webhook/deployment.yaml"].document["spec"]["template"]["metadata"]["annotations"]  # type: ignore[index]

    changed = replace(written(), origin=Origin(text=TEXT + "#\n"))

    assert annotations(written()) != annotations(changed)


def test_the_server_is_told_its_policy_ports_and_certificate() -> None:
    assert container(written())["args"] == [
        "serve",
        "/etc/gpupolicy/policy.yaml",
        "--host",
        "::",
        "--port",
        "8443",
        "--metrics-port",
        "8080",
        "--log-format",
        "json",
        "--cert",
        "/etc/gpupolicy-tls/tls.crt",
        "--key",
        "/etc/gpupolicy-tls/tls.key",
    ]


def test_the_container_may_do_nothing_that_it_does_not_need() -> None:
    spec = pod_spec(written())

    assert spec["automountServiceAccountToken"] is False
    assert spec["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": 65532,
        "runAsGroup": 65532,
        "fsGroup": 65532,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert container(written())["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_memory_is_limited_and_cpu_is_not() -> None:
    assert container(written())["resources"] == {
        "requests": {"cpu": "50m", "memory": "96Mi"},
        "limits": {"memory": "256Mi"},
    }


def test_health_is_asked_on_the_second_port() -> None:
    probes = {key: value["httpGet"] for key, value in container(written()).items() if key.endswith("Probe")}  # type: ignore[index]

    assert probes == {
        "startupProbe": {"path": "/readyz", "port": "metrics"},
        "readinessProbe": {"path": "/readyz", "port": "metrics"},
        "livenessProbe": {"path": "/healthz", "port": "metrics"},
    }


def test_a_rollout_never_has_fewer_pods_than_wanted() -> None:
    spec = manifests(written())["webhook/deployment.yaml"].document["spec"]

    assert spec["strategy"] == {  # type: ignore[index]
        "type": "RollingUpdate",
        "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0},
    }


def test_pods_leave_gpu_nodes_to_gpu_pods_where_they_can() -> None:
    affinity = pod_spec(written())["affinity"]

    assert affinity == {
        "nodeAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {
                    "weight": 100,
                    "preference": {
                        "matchExpressions": [{"key": "my.gpu.cluster/nvidia-gpu-support", "operator": "DoesNotExist"}]
                    },
                }
            ]
        }
    }


def test_one_replica_has_no_budget_because_it_would_only_stop_drains() -> None:
    assert "webhook/poddisruptionbudget.yaml" not in manifests(written(replicas=1))


def certified(issuer: str | None) -> dict[str, Manifest]:
    return manifests(written(certificates=Certificates(mode=CertificateMode.CERT_MANAGER, issuer=issuer)))


def test_cert_manager_without_an_issuer_gets_a_ca_of_our_own() -> None:
    files = certified(None)

    assert [path for path in files if "issuer" in path or "certificate" in path] == [
        "webhook/issuer-self-signed.yaml",
        "webhook/certificate-ca.yaml",
        "webhook/issuer-ca.yaml",
        "webhook/certificate.yaml",
    ]
    assert files["webhook/certificate.yaml"].document["spec"]["issuerRef"] == {  # type: ignore[index]
        "group": "cert-manager.io",
        "kind": "Issuer",
        "name": "gpupolicy-webhook-ca",
    }


def test_a_given_issuer_signs_for_the_names_of_the_service() -> None:
    spec = certified("ClusterIssuer/internal")["webhook/certificate.yaml"].document["spec"]

    assert isinstance(spec, dict)
    assert spec["issuerRef"] == {"group": "cert-manager.io", "kind": "ClusterIssuer", "name": "internal"}
    assert spec["dnsNames"] == [
        "gpupolicy-webhook.gpu-system.svc",
        "gpupolicy-webhook.gpu-system.svc.cluster.local",
    ]


def test_the_secret_of_mode_secret_is_not_among_the_manifests() -> None:
    """Its key is made by ``gpupolicy certs`` and has no place in a repository."""
    assert [m for m in manifests(written()).values() if m.document["kind"] == "Secret"] == []


def test_a_pod_is_given_the_time_that_serve_takes_to_stop() -> None:
    """After its last review it waits a second more, for answers that are on their way."""
    options = ServeOptions(policy=Path(), certificate=Path(), key=Path())

    assert pod_spec(written())["terminationGracePeriodSeconds"] == 30
    assert options.drain_seconds + options.grace_seconds + 1 == 16


def selecting(**labels: str) -> Policy:
    """A written policy that gives access to namespaces by their labels."""
    rule = replace(access(), namespaces=NamespaceMatch(selector=LabelSelector(match_labels=labels)))
    return replace(written(), admission=Admission(access=(rule,)))


def test_a_policy_that_selects_namespaces_by_labels_may_follow_them_and_nothing_else() -> None:
    files = manifests(selecting(tier="gold"))

    assert files["webhook/clusterrole.yaml"].document["rules"] == [
        {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["list", "watch"]}
    ]
    assert files["webhook/clusterrolebinding.yaml"].document["subjects"] == [
        {"kind": "ServiceAccount", "name": "gpupolicy-webhook", "namespace": "gpu-system"}
    ]


def test_its_role_is_named_after_the_policy_because_it_belongs_to_the_whole_cluster() -> None:
    files = manifests(selecting(tier="gold"))

    assert files["webhook/clusterrole.yaml"].identity[3] == "gpupolicy-test-namespaces"
    assert files["webhook/clusterrolebinding.yaml"].document["roleRef"] == {
        "apiGroup": "rbac.authorization.k8s.io",
        "kind": "ClusterRole",
        "name": "gpupolicy-test-namespaces",
    }


def test_its_pods_have_a_token_and_room_for_the_client() -> None:
    (only,) = pod_spec(selecting(tier="gold"))["containers"]  # type: ignore[misc]

    assert pod_spec(selecting(tier="gold"))["automountServiceAccountToken"] is True
    assert only["resources"]["requests"]["memory"] == "128Mi"


def test_its_pods_may_reach_the_api_server_and_nothing_else_by_another_port() -> None:
    spec = manifests(selecting(tier="gold"))["webhook/networkpolicy.yaml"].document["spec"]

    assert spec["egress"] == [{"ports": [{"port": 443, "protocol": "TCP"}, {"port": 6443, "protocol": "TCP"}]}]  # type: ignore[index]


@pytest.mark.parametrize(
    ("kind", "gets"),
    [
        pytest.param("clusterrole", "the webhook may list and watch namespaces", id="role"),
        pytest.param("deployment", "a token of its ServiceAccount is mounted", id="deployment"),
        pytest.param("networkpolicy", "the API server may be reached", id="network-policy"),
    ],
)
def test_the_header_says_what_the_webhook_gets_and_by_which_line(kind: str, gets: str) -> None:
    assert manifests(selecting(tier="gold"))[f"webhook/{kind}.yaml"].remarks == (
        f"The policy selects namespaces by labels (p.yaml), so {gets}.",
    )


@pytest.mark.parametrize(
    "chosen",
    [
        pytest.param(written(), id="no-selector"),
        pytest.param(selecting(**{"kubernetes.io/metadata.name": "team-a"}), id="selector-on-the-name"),
    ],
)
def test_a_policy_that_needs_no_labels_gets_no_right_no_token_and_no_way_out(chosen: Policy) -> None:
    files = manifests(chosen)

    assert [path for path in files if "role" in path] == []
    assert pod_spec(chosen)["automountServiceAccountToken"] is False
    assert "egress" not in files["webhook/networkpolicy.yaml"].document["spec"]  # type: ignore[operator]
    assert [
        manifest.remarks for path, manifest in files.items() if "configuration" not in path and manifest.remarks
    ] == []


MANAGED = Certificates(mode=CertificateMode.SELF_MANAGED, secret_name="kept-here")


def test_self_managed_certificates_come_with_an_empty_secret_and_the_rights_to_it() -> None:
    files = manifests(written(certificates=MANAGED))

    assert "data" not in files["webhook/secret.yaml"].document
    assert files["webhook/secret.yaml"].document["type"] == "Opaque"
    assert files["webhook/certificates-role.yaml"].document["rules"] == [
        {"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["kept-here"], "verbs": ["get", "update"]}
    ]
    assert files["webhook/certificates-clusterrole.yaml"].document["rules"] == [
        {
            "apiGroups": ["admissionregistration.k8s.io"],
            "resources": ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
            "resourceNames": ["gpupolicy-test"],
            "verbs": ["get", "patch"],
        }
    ]


def test_a_webhook_that_manages_its_certificates_mounts_a_token_and_no_secret() -> None:
    chosen = written(certificates=MANAGED)
    spec = pod_spec(chosen)

    assert spec["automountServiceAccountToken"] is True
    assert [volume["name"] for volume in spec["volumes"]] == ["policy"]  # type: ignore[attr-defined]
    assert [mount["name"] for mount in container(chosen)["volumeMounts"]] == ["policy"]  # type: ignore[attr-defined]
    assert container(chosen)["args"][-1] == "--self-managed"  # type: ignore[index]


def test_it_may_reach_the_api_server_and_the_manifests_say_why() -> None:
    files = manifests(written(certificates=MANAGED))

    assert files["webhook/networkpolicy.yaml"].document["spec"]["egress"]  # type: ignore[index]
    assert files["webhook/networkpolicy.yaml"].remarks == (
        "The webhook manages its certificates itself, so the API server may be reached.",
    )


def test_both_reasons_for_a_token_are_told() -> None:
    chosen = replace(selecting(tier="gold"), webhook=Webhook(certificates=MANAGED))
    remarks = manifests(chosen)["webhook/deployment.yaml"].remarks

    assert [remark.split(", so")[1] for remark in remarks] == [" a token of its ServiceAccount is mounted."] * 2
    assert "webhook/clusterrole.yaml" in manifests(chosen)

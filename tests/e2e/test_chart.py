"""The chart, rendered by the real helm: the same objects as compile's, whatever the policy and the values."""

from __future__ import annotations

import itertools
import json
import tarfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from charts.contents import CHART
from charts.helm import Helm, Object, bundled, identity, objects_of
from controlplane.build import UnavailableError
from e2e.conftest import is_required
from e2e.governed import gpupolicy
from e2e.product import shipped
from golden.contents import CA_BUNDLE, policy_files
from tools.build import find_or_build

from gpupolicy import compile, load_text
from gpupolicy.model import CertificateMode, FailurePolicy, Policy

POLICIES = policy_files()
CLASSIC = shipped("classic").read_text()
MODES = ("secret", "certManager", "selfManaged")
SWITCHES = ("register", "createNamespace", "resourceQuota", "networkPolicy")
POD_VALUES: dict[str, Any] = {
    "resources": {"requests": {"cpu": "1"}, "limits": {"memory": "1Gi"}},
    "imagePullPolicy": "Always",
    "imagePullSecrets": [{"name": "pull"}],
    "nodeSelector": {"pool": "system"},
    "tolerations": [{"key": "system", "operator": "Exists"}],
    "priorityClassName": "",
    "podAnnotations": {"example.test/scrape": "true"},
    "extraArgs": ["--client-name", "apiserver"],
}


@pytest.fixture(scope="session")
def helm(tmp_path_factory: pytest.TempPathFactory) -> Helm:
    try:
        return Helm(find_or_build("helm"), tmp_path_factory.mktemp("helm"))
    except UnavailableError as error:
        (pytest.fail if is_required() else pytest.skip)(str(error))


def with_spec(text: str, **fields: Any) -> str:
    """A policy with other entries of spec."""
    document = yaml.safe_load(text)
    document["spec"].update(fields)
    return yaml.safe_dump(document, sort_keys=False)


def with_mode(text: str, mode: str, **webhook: Any) -> str:
    """A policy in a certificate mode, with further entries of spec.webhook."""
    return with_spec(text, webhook={**webhook, "certificates": {"mode": mode}})


def compiled(policy: Policy) -> dict[Any, Object]:
    bundle = CA_BUNDLE if policy.webhook.certificates.mode is CertificateMode.SECRET else None
    return {identity(each): each for each in compile(policy, ("webhook",), ca_bundle=bundle)}  # type: ignore[arg-type]


def read(text: str) -> Policy:
    """The policy whose ConfigMap holds all of a text, as the chart's does: compile's begins at the first key."""
    policy = load_text(text)
    return replace(policy, origin=replace(policy.origin, text=text))


def rendered(helm: Helm, text: str, policy: Policy, **values: Any) -> dict[Any, Object]:
    asked = {"createNamespace": True, **bundled(str(policy.webhook.certificates.mode)), **values}
    done = helm.render(text, asked, policy.webhook.namespace)
    assert (done.returncode, done.stderr) == (0, "")
    return objects_of(done.stdout)


def exempting(*exemptions: Any) -> str:
    return with_spec(CLASSIC, admission={"exemptions": [{"reason": "r", **each} for each in exemptions]})


def counting(*names: str) -> str:
    types = [{"name": f"T{i}", "gpusPerNode": 1, "resourceName": name} for i, name in enumerate(names)]
    nodes = [{"gpuType": each["name"], "weight": 1} for each in types]
    return with_spec(CLASSIC, gpuTypes=types, slotGroups=[{"name": "S", "sizes": [1], "nodes": nodes}], scheduler={})


ON_TEAM = {"matchLabels": {"team": "a"}}
ON_NAME = {"matchLabels": {"kubernetes.io/metadata.name": "a"}}
VARIANTS: dict[str, str] = {
    **{name: file.read_text() for name, file in POLICIES.items()},
    **{mode: with_mode(CLASSIC, mode) for mode in MODES},
    "own-names": with_mode(CLASSIC, "secret", namespace="gpus", name="judge"),
    "names-that-yaml-would-guess": with_spec(
        CLASSIC.replace("{name: classic}", '{name: "10"}'),
        webhook={"namespace": "123", "name": "null", "certificates": {"mode": "certManager", "secretName": "0x10"}},
    ),
    "json": json.dumps(yaml.safe_load(CLASSIC)),
    "in-kube-system": with_mode(CLASSIC, "selfManaged", namespace="kube-system"),
    "own-secret": with_spec(CLASSIC, webhook={"certificates": {"mode": "selfManaged", "secretName": "own"}}),
    "issuer": with_spec(CLASSIC, webhook={"certificates": {"mode": "certManager", "issuer": "ClusterIssuer/x"}}),
    "deploy": with_mode(CLASSIC, "secret", image="a.test/b@sha256:1", replicas=1, failurePolicy="Ignore"),
    "slow": with_mode(CLASSIC, "secret", timeoutSeconds=30, replicas=100),
    "no-early-word": with_spec(CLASSIC, admission={"workloads": "off"}),
    "prefix": with_spec(CLASSIC, labels={"prefix": "gpu.example.com"}),
    "exempt": exempting({"namespaces": ["zoo", "b-*", "kube-system", "a"]}, {"namespaces": ["c[0-9]"]}),
    "exempt-limited": exempting(
        {"namespaces": ["a"], "expires": "2099-12-31"},
        {"namespaces": ["b"], "ownerKinds": ["DaemonSet"]},
        {"namespaces": ["c"], "serviceAccounts": ["c/d"]},
        {"namespaces": ["d"], "podSelector": ON_TEAM},
        {"namespaces": ["e"], "namespaceSelector": ON_NAME},
    ),
    "labels-of-exempt": exempting({"namespaceSelector": ON_TEAM}),
    "labels-of-access": with_spec(CLASSIC, admission={"access": [{"namespaceSelector": ON_TEAM}]}),
    "labels-of-overrides": with_spec(
        CLASSIC, admission={"enforcement": {"overrides": [{"action": "warn", "namespaceSelector": ON_TEAM}]}}
    ),
    "names-by-labels": with_spec(
        CLASSIC, admission={"access": [{"namespaceSelector": ON_NAME}, {"namespaces": ["*"]}]}
    ),
    "labels-and-self-managed": with_mode(
        with_spec(CLASSIC, admission={"access": [{"namespaceSelector": ON_TEAM}]}), "selfManaged"
    ),
    "vendors": counting("nvidia.com/GPU", "amd.com/gpu", "nvidia.com/gpu-x"),
    "no-nvidia": counting("gpu.intel.com/i915", "notnvidia.com/x"),
    "crlf": CLASSIC.replace("\n", "\r\n"),
    "no-last-line-break": CLASSIC.rstrip("\n"),
    "more-last-line-breaks": CLASSIC + "\n\n",
    "document-start": "---\n" + CLASSIC,
    "indented": "  # first\n" + CLASSIC,
    "other-letters": CLASSIC + "# Größe ≤ 8 {{ .Values.x }} ${names} <&>\t\n",
}


@pytest.mark.parametrize("name", VARIANTS)
def test_the_chart_renders_what_compile_writes_object_by_object(name: str, helm: Helm) -> None:
    policy = read(VARIANTS[name])

    assert rendered(helm, VARIANTS[name], policy) == compiled(policy)


def test_values_may_differ_from_the_policy_in_what_differs_between_clusters(helm: Helm) -> None:
    policy = read(CLASSIC)
    values = {"image": "a.test/b:2", "replicas": 1, "failurePolicy": "Ignore", "timeoutSeconds": 9}
    webhook = replace(
        policy.webhook,
        image="a.test/b:2",
        replicas=1,
        failure_policy=FailurePolicy.IGNORE,
        timeout_seconds=9,
    )

    assert rendered(helm, CLASSIC, policy, webhook=values) == compiled(replace(policy, webhook=webhook))


def test_values_for_the_pods_change_the_deployment_alone_and_nothing_else_in_it(helm: Helm) -> None:
    policy = read(CLASSIC)
    plain = compiled(policy)
    key = ("Deployment", "gpu-system", "gpupolicy-webhook")
    template: Any = plain[key]["spec"]["template"]
    template["metadata"]["annotations"]["example.test/scrape"] = "true"
    del template["spec"]["priorityClassName"]
    template["spec"] |= {name: POD_VALUES[name] for name in ("imagePullSecrets", "nodeSelector", "tolerations")}
    container = template["spec"]["containers"][0]
    container |= {"resources": POD_VALUES["resources"], "imagePullPolicy": "Always"}
    container["args"] = [*container["args"], "--client-name", "apiserver"]

    assert rendered(helm, CLASSIC, policy, **POD_VALUES) == plain


@pytest.mark.parametrize("mode", MODES)
def test_every_combination_of_switches_renders_and_leaves_out_what_it_names(mode: str, helm: Helm) -> None:
    text = with_mode(CLASSIC, mode)
    switched_by = {
        "MutatingWebhookConfiguration": "register",
        "ValidatingWebhookConfiguration": "register",
        "Namespace": "createNamespace",
        "ResourceQuota": "resourceQuota",
        "NetworkPolicy": "networkPolicy",
    }
    all_of_it = set(rendered(helm, text, read(text), **POD_VALUES))

    for states in itertools.product([True, False], repeat=len(SWITCHES)):
        values = dict(zip(SWITCHES, states, strict=True))
        wanted = {key for key in all_of_it if values.get(switched_by.get(key[0], ""), True)}
        assert set(rendered(helm, text, read(text), **values, **POD_VALUES)) == wanted


def test_the_packaged_chart_renders_the_same_and_holds_nothing_else(helm: Helm, tmp_path: Path) -> None:
    packed = helm.run("package", CHART, "--destination", tmp_path)
    (archive,) = tmp_path.iterdir()
    options = helm.options(with_mode(CLASSIC, "selfManaged"), {})
    with tarfile.open(archive) as files:
        names = {name.removeprefix("gpupolicy/") for name in files.getnames()}

    assert packed.returncode == 0, packed.stderr
    assert names == {path.relative_to(CHART).as_posix() for path in CHART.rglob("*") if path.is_file()}
    assert helm.run("template", "r", archive, *options).stdout == helm.run("template", "r", CHART, *options).stdout


@pytest.mark.parametrize("mode", MODES)
def test_our_own_lint_finds_nothing_in_what_the_chart_registers(mode: str, helm: Helm, tmp_path: Path) -> None:
    policy, objects = tmp_path / "policy.yaml", tmp_path / "objects.yaml"
    policy.write_text(with_mode(CLASSIC, mode))
    options = helm.options(policy.read_text(), bundled(mode))
    objects.write_text(helm.run("template", "r", CHART, "--show-only", "templates/registration.yaml", *options).stdout)

    assert gpupolicy("lint", policy, objects) == ""


@pytest.mark.parametrize("mode", MODES)
def test_helm_lint_has_nothing_to_say(mode: str, helm: Helm) -> None:
    done = helm.run("lint", "--strict", CHART, *helm.options(with_mode(CLASSIC, mode), bundled(mode)))

    assert (done.returncode, "0 chart(s) failed" in done.stdout, "[WARNING]" in done.stdout) == (0, True, False)


@pytest.mark.parametrize(
    ("text", "values", "namespace", "said"),
    [
        pytest.param(None, {}, "gpu-system", "no policy is given: --set-file policy=policy.yaml", id="no-policy"),
        pytest.param(
            CLASSIC, {}, "gpu-system", "the API server would trust no certificate of the webhook", id="no-bundle"
        ),
        pytest.param(CLASSIC, bundled("secret"), "default", "install with --namespace gpu-system", id="namespace"),
        pytest.param(
            with_mode(CLASSIC, "certManager"), bundled("secret"), "gpu-system", "somebody else fills it in", id="bundle"
        ),
        pytest.param("a: [", {}, "gpu-system", "the policy cannot be read", id="no-yaml"),
        pytest.param("kind: Pod", {}, "gpu-system", "kind GPUPolicy", id="another-kind"),
        pytest.param("- a", {}, "gpu-system", "the policy cannot be read", id="a-list"),
        pytest.param(
            "{apiVersion: gpupolicy.dev/v1alpha1, kind: GPUPolicy}", {}, "gpu-system", "lacks metadata", id="no-spec"
        ),
        pytest.param(
            CLASSIC + "#" * 1048576, {}, "gpu-system", "a ConfigMap holds at most 1048576", id="more-than-a-config-map"
        ),
        pytest.param(CLASSIC, {"webhook": {"replicas": 0}}, "gpu-system", "at '/webhook/replicas'", id="no-replicas"),
        pytest.param(CLASSIC, {"webhook": {"name": "x"}}, "gpu-system", "'name' not allowed", id="not-in-values"),
        pytest.param(CLASSIC, {"replicas": 3}, "gpu-system", "'replicas' not allowed", id="misplaced"),
        pytest.param(CLASSIC, {"register": "no"}, "gpu-system", "at '/register': got string, want boolean", id="type"),
    ],
)
def test_what_cannot_work_is_refused_and_says_why(
    text: str | None, values: dict[str, Any], namespace: str, said: str, helm: Helm
) -> None:
    done = helm.render(text, values, namespace)

    assert (done.returncode, done.stdout) == (1, "")
    assert said in done.stderr


class TestKindsOfThePolicy:
    """The one difference: compile finds their pods in CEL, the chart shows the webhook every object of the kind."""

    TEXT = with_spec(
        CLASSIC,
        workloads=[
            {"group": "example.test", "kind": "Proxy", "templates": ["spec.template"]},
            {"group": "example.test", "kind": "Bus", "templates": ["spec.pods[*]"]},
            {"group": "apps", "kind": "Fleet", "resource": "armada", "templates": ["spec.template"]},
        ],
    )

    def hooks(self, helm: Helm) -> tuple[Any, Any]:
        policy = read(self.TEXT)
        key = ("ValidatingWebhookConfiguration", "", "gpupolicy-classic")
        ours, theirs = rendered(helm, self.TEXT, policy), compiled(policy)
        assert {k: v for k, v in ours.items() if k != key} == {k: v for k, v in theirs.items() if k != key}
        assert ours[key]["webhooks"][0] == theirs[key]["webhooks"][0]
        return ours[key]["webhooks"][1], theirs[key]["webhooks"][1]

    def test_the_rules_are_the_same(self, helm: Helm) -> None:
        ours, theirs = self.hooks(helm)

        assert ours["rules"] == theirs["rules"]

    def test_all_their_objects_are_shown(self, helm: Helm) -> None:
        ours, _ = self.hooks(helm)

        assert (
            "request.kind.kind in ['Proxy', 'Bus', 'Fleet', 'AppWrapper'," in ours["matchConditions"][2]["expression"]
        )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("register", [True, False], ids=["registered", "unregistered"])
def test_the_notes_name_the_way_out_and_what_is_still_missing(mode: str, register: bool, helm: Helm) -> None:
    options = helm.options(with_mode(CLASSIC, mode), {**bundled(mode), "register": register})
    done = helm.run("install", "gpus", CHART, "--dry-run=client", *options)

    notes = done.stdout.partition("NOTES:\n")[2]
    assert (done.returncode, "webhookconfiguration gpupolicy-classic" in notes) == (0, True)
    assert ("NOTHING IS REGISTERED" in notes) is not register
    assert ("gpupolicy certs policy.yaml -o pki --secret" in notes) is (mode == "secret")
    assert ("new pods that ask for GPUs are refused" in notes) is register
    assert "THE IMAGE gpupolicy:latest IS A PLACEHOLDER" in notes


def test_the_notes_are_silent_on_an_image_of_ones_own(helm: Helm) -> None:
    options = helm.options(CLASSIC, {**bundled("secret"), "webhook": {"image": "registry.example.com/gpupolicy:0.1.0"}})
    done = helm.run("install", "gpus", CHART, "--dry-run=client", *options)

    assert (done.returncode, "PLACEHOLDER" in done.stdout.partition("NOTES:\n")[2]) == (0, False)

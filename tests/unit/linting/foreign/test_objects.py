"""Which documents are judged here: by group and kind, in lists, inside ConfigMaps, and beside each other."""

from __future__ import annotations

import json

import pytest
from foreign_builders import gpu_node, hook, linted, profile, registration, scheduler_configuration

from gpupolicy.linting.foreign import is_foreign
from gpupolicy.loading.documents import read_documents


def judged(text: str) -> bool:
    """Whether the first document of a text is judged here."""
    return is_foreign(read_documents(text, "file.yaml")[0])


@pytest.mark.parametrize(
    ("version", "kind"),
    [
        pytest.param("kubescheduler.config.k8s.io/v1", "KubeSchedulerConfiguration", id="scheduler"),
        pytest.param("kubescheduler.config.k8s.io/v1", "KubeschedulerConfig", id="scheduler-misspelt"),
        pytest.param("componentconfig/v1alpha1", "KubeSchedulerConfiguration", id="scheduler-of-old"),
        pytest.param("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", id="mutating"),
        pytest.param("admissionregistration.k8s.io/v1", "ValidatingWebhookConfig", id="validating-misspelt"),
        pytest.param("v1", "Node", id="node"),
        pytest.param("v1", "NodeList", id="node-list"),
        pytest.param("v1", "List", id="list"),
    ],
)
def test_a_document_is_recognised_by_its_group_or_kind(version: str, kind: str) -> None:
    assert judged(f"apiVersion: {version}\nkind: {kind}\n")


@pytest.mark.parametrize(
    ("version", "kind"),
    [
        pytest.param("longhorn.io/v1beta2", "Node", id="node-of-another-group"),
        pytest.param("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", id="policy-of-the-same-group"),
        pytest.param("audit.k8s.io/v1", "Policy", id="audit-policy"),
        pytest.param("v1", "ConfigMap", id="config-map"),
        pytest.param("v1", "Pod", id="pod"),
    ],
)
def test_other_documents_are_left_to_others(version: str, kind: str) -> None:
    assert not judged(f"apiVersion: {version}\nkind: {kind}\n")


def test_the_policy_file_of_old_kube_schedulers_is_refused() -> None:
    version, kind = linted('{"kind": "Policy", "apiVersion": "v1", "priorities": []}')

    assert (version.rule, kind.rule) == ("scheduler-config-version-unknown", "scheduler-config-kind-unknown")


def test_an_item_of_a_typed_list_is_of_the_lists_kind() -> None:
    nodes = [{"metadata": gpu_node()["metadata"], "status": gpu_node(usable="x")["status"]}]

    (finding,) = linted(json.dumps({"apiVersion": "v1", "kind": "NodeList", "items": nodes}))

    assert (finding.rule, finding.field[:2]) == ("node-amount-refused", ("items", 0))


def test_a_finding_in_a_list_has_the_place_in_the_file() -> None:
    text = "kind: List\nitems:\n- kind: Node\n  metadata: {name: A}\n  status: {capacity: {cpu: '1'}}\n"

    (finding,) = linted(text)

    assert (finding.file, finding.line, finding.column) == ("file.yaml", 4, 20)


def test_nodes_of_one_name_are_found_across_documents() -> None:
    text = "---\n".join(json.dumps(gpu_node()) + "\n" for _ in range(2))

    assert [(finding.rule, finding.line) for finding in linted(text)] == [("node-repeated", 3)]


def test_a_webhook_and_a_scheduler_configuration_in_one_file_are_both_judged() -> None:
    documents = (registration(hook(timeoutSeconds=99)), scheduler_configuration(profile(""), profile("a")))

    rules = [finding.rule for finding in linted("\n---\n".join(json.dumps(document) for document in documents))]

    assert rules == ["webhook-timeout-out-of-range", "profile-name-missing", "scheduler-config-shares-file"]


CONFIG_MAP = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: gpu-scheduler}
data:
  scheduler-config.yaml: %s
"""
CONFIGURATION = """
    apiVersion: kubescheduler.config.k8s.io/v1
    kind: KubeSchedulerConfiguration

    leaderElection: {leaderElect: false}
    parallelism: 0"""


@pytest.mark.parametrize("indicator", ["|", "|-", "|+"])
def test_a_configuration_in_a_config_map_is_judged_at_its_own_line(indicator: str) -> None:
    (finding,) = linted(CONFIG_MAP % (indicator + CONFIGURATION))

    assert (finding.rule, finding.line, finding.column) == ("scheduler-number-out-of-range", 10, 18)


def test_its_field_is_that_of_the_config_map() -> None:
    (finding,) = linted(CONFIG_MAP % ("|" + CONFIGURATION))

    assert finding.field == ("data", "scheduler-config.yaml", "parallelism")


def test_in_a_quoted_text_the_place_is_that_of_the_text() -> None:
    quoted = '"kind: KubeSchedulerConfiguration\\napiVersion: kubescheduler.config.k8s.io/v2\\n"'

    (finding,) = linted(CONFIG_MAP % quoted)

    assert (finding.rule, finding.line, finding.column) == ("scheduler-config-version-unknown", 5, 26)


def test_text_in_a_config_map_that_cannot_be_read_is_told() -> None:
    (finding,) = linted(CONFIG_MAP % "|\n    kind: KubeSchedulerConfiguration\n    profiles: [")

    assert (finding.rule, finding.line) == ("yaml-unreadable", 8)


def test_a_configuration_in_a_config_map_of_a_list_is_judged_in_its_place() -> None:
    config_map = "".join(f"  {line}\n" for line in (CONFIG_MAP % ("|" + CONFIGURATION)).splitlines())

    (finding,) = linted("kind: List\nitems:\n-" + config_map[1:])

    assert (finding.rule, finding.field[:2], finding.line) == ("scheduler-number-out-of-range", ("items", 0), 12)


def test_other_config_maps_of_a_list_are_named() -> None:
    (finding,) = linted("kind: List\nitems: [{kind: ConfigMap, data: {a: b}}]\n")

    assert finding.rule == "list-item-not-linted"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("We use a KubeSchedulerConfiguration: see config.yaml", id="manual"),
        pytest.param("#!/bin/sh\n    cat <<E\n    kind: KubeSchedulerConfiguration\n    E", id="script"),
    ],
)
def test_a_text_that_only_speaks_of_a_configuration_is_none(text: str) -> None:
    assert not judged(CONFIG_MAP % f"|\n    {text}\n")


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        pytest.param(
            "apiVersion: kubescheduler.config.k8s.io/v1\n    kind: KubeschedulerConfig",
            "scheduler-config-kind-unknown",
            id="misspelt",
        ),
        pytest.param('{"kind": "Policy", "priorities": []}', "scheduler-config-kind-unknown", id="policy-of-old"),
        pytest.param(
            f"kind: Namespace\n    ---{CONFIGURATION.replace('parallelism: 0', '')}",
            "scheduler-config-shares-file",
            id="behind-another-document",
        ),
    ],
)
def test_what_kube_scheduler_cannot_read_in_a_config_map_is_told(text: str, rule: str) -> None:
    assert rule in [finding.rule for finding in linted(CONFIG_MAP % f"|\n    {text}\n")]


def test_a_configuration_that_is_no_text_is_told() -> None:
    (finding,) = linted(CONFIG_MAP % "{apiVersion: kubescheduler.config.k8s.io/v1, kind: KubeSchedulerConfiguration}")

    assert (finding.rule, finding.message) == (
        "foreign-type-wrong",
        "scheduler-config.yaml is a mapping; data holds texts",
    )

"""Manifests judged offline."""

from __future__ import annotations

from datetime import UTC, date, datetime
from textwrap import dedent

import pytest
from builders import GPU, exemption, policy

from gpupolicy.errors import Severity
from gpupolicy.loading.documents import read_documents
from gpupolicy.manifests.checking import check_documents
from gpupolicy.manifests.judgement import Surroundings
from gpupolicy.manifests.report import CheckedObject, CheckReport, Verdict
from gpupolicy.model import Admission
from gpupolicy.reporting.text_format import format_finding

POLICY = policy()


def check(text: str, **surroundings: object) -> CheckReport:
    documents = read_documents(dedent(text), "m.yaml")
    return check_documents(POLICY, documents, files=1, surroundings=Surroundings(**surroundings))  # type: ignore[arg-type]


def only(text: str, **surroundings: object) -> CheckedObject:
    (entry,) = check(text, **surroundings).objects
    return entry


def pod(gpus: object, metadata: str = "{name: a, namespace: team}", more: str = "") -> str:
    return (
        f"{{apiVersion: v1, kind: Pod, metadata: {metadata}, spec: {{{more}"
        f"containers: [{{name: c, image: x, resources: {{limits: {{{GPU}: {gpus}}}}}}}]}}}}"
    )


def workload(kind: str, gpus: int, api_version: str = "apps/v1") -> str:
    template = f"{{spec: {{containers: [{{name: c, image: x, resources: {{limits: {{{GPU}: {gpus}}}}}}}]}}}}"
    return f"{{apiVersion: {api_version}, kind: {kind}, metadata: {{name: a}}, spec: {{template: {template}}}}}"


def lines(entry: CheckedObject) -> list[str]:
    return [format_finding(finding) for finding in entry.findings]


def test_an_admitted_pod_is_allowed_and_placed() -> None:
    entry = only(pod(4))

    assert (entry.verdict, entry.gpus, entry.placement.slot_groups) == (Verdict.ALLOW, {GPU: 4}, ("SLOT-4",))  # type: ignore[union-attr]


def test_of_a_pod_that_runs_already_it_is_said_who_judges_those() -> None:
    """As ``kubectl get pod -o yaml`` prints it: a scheduler gave it its node, nobody went round one."""
    bound = pod(4, more="nodeName: gpu-1, ")
    running = bound.removesuffix("}") + ", status: {phase: Running}}"

    assert [finding.hint for finding in only(bound).findings] == ["name the node in a nodeSelector"]
    assert [finding.hint for finding in only(running).findings] == [
        "a pod that runs already has a node: gpupolicy audit judges it"
    ]


def test_a_denied_pod_says_why_and_where() -> None:
    entry = only(pod(3))

    assert entry.verdict is Verdict.DENY
    assert lines(entry) == [
        "m.yaml:1:144: error: the pod asks for 3 GPUs; admitted are 1, 2, 4, 8 (policy); ask for 2 or 4 "
        "[request-size-not-admitted]"
    ]


def test_the_reason_of_a_denial_names_the_rule() -> None:
    assert only(pod(3)).reason == (
        "the pod asks for 3 GPUs; admitted are 1, 2, 4, 8 (policy) [request-size-not-admitted]"
    )


def test_a_finding_in_a_workload_has_the_workload_s_field() -> None:
    (finding,) = only(workload("Deployment", 3)).findings

    assert finding.field == ("spec", "template", "spec", "containers", 0, "resources", "limits", GPU)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param(pod(0), "the pod asks for no GPU", id="no-gpu"),
        pytest.param(pod(3, "{name: a, namespace: kube-system}"), "exempt: part of the cluster (policy)", id="exempt"),
        pytest.param("{apiVersion: v1, kind: Namespace, metadata: {name: a}}", "no pod in it", id="no-pod"),
        pytest.param(
            f"{{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {{name: a}}, spec: {{limits: {{{GPU}: 64}}}}}}",
            "no pod in it",
            id="node-pool",
        ),
        pytest.param(
            "{apiVersion: kustomize.config.k8s.io/v1beta1, kind: Kustomization}",
            "no pod in it: kustomize reads it",
            id="kustomization",
        ),
    ],
)
def test_what_is_not_judged_is_skipped_with_the_reason(text: str, reason: str) -> None:
    entry = only(text)

    assert (entry.verdict, entry.reason, entry.findings) == (Verdict.SKIP, reason, ())


def test_an_object_without_a_pod_has_no_pod_spec() -> None:
    assert only("{apiVersion: v1, kind: Namespace, metadata: {name: a}}").pod_spec is None


def test_each_pod_of_a_workload_has_an_entry_of_its_own() -> None:
    spec = "{containers: [{name: c, resources: {limits: {nvidia.com/gpu: %d}}}]}"
    text = f"""\
        apiVersion: kubeflow.org/v1
        kind: PyTorchJob
        metadata: {{name: a}}
        spec:
          pytorchReplicaSpecs:
            Master: {{template: {{spec: {spec % 8}}}}}
            Worker: {{template: {{spec: {spec % 3}}}}}
        """

    report = check(text)

    assert [(e.verdict, e.gpus[GPU], e.pod_spec and e.pod_spec[2]) for e in report.objects] == [
        (Verdict.ALLOW, 8, "Master"),
        (Verdict.DENY, 3, "Worker"),
    ]
    assert (report.object_count, report.pods, report.denied) == (1, 2, 1)


def test_the_namespace_of_an_object_without_one_is_the_one_given() -> None:
    assert only(pod(3, "{name: a}"), namespace="kube-system").verdict is Verdict.SKIP


def test_an_exemption_that_is_over_no_longer_helps() -> None:
    admission = Admission(exemptions=(exemption("team", expires=date(2026, 1, 31)),))
    documents = read_documents(pod(3), "m.yaml")

    report = check_documents(
        policy(admission=admission), documents, files=1, surroundings=Surroundings(now=datetime(2026, 2, 1, tzinfo=UTC))
    )

    assert report.denied == 1


def test_a_label_that_is_no_text_is_quoted_as_it_is_written() -> None:
    entry = only(
        f"""\
        apiVersion: v1
        kind: Pod
        metadata:
          name: a
          labels:
            cuda: 3.10
        spec:
          containers:
          - {{name: c, image: x, resources: {{limits: {{{GPU}: 4}}}}}}
        """
    )

    assert lines(entry) == [
        'm.yaml:6:11: error: the value of label cuda is the number 3.1, a text is expected; write "3.10" '
        "[label-value-not-string]"
    ]
    assert (entry.verdict, entry.gpus) == (Verdict.DENY, {GPU: 4})


def test_a_node_selector_that_is_no_text_is_told_once() -> None:
    entry = only(pod(4, more="nodeSelector: {zone: true}, "))

    assert [finding.rule for finding in entry.findings] == ["label-value-not-string"]


def test_a_node_selector_without_a_value_wants_the_empty_one() -> None:
    entry = only(pod(4, more="nodeSelector: {node-role.kubernetes.io/gpu: null}, "))

    assert entry.verdict is Verdict.WARN
    assert lines(entry) == [
        "m.yaml:1:118: warning: the value of node selector node-role.kubernetes.io/gpu is null, which the API server "
        'reads as an empty text; write "" for an empty text [label-value-not-string]'
    ]


def test_what_the_yaml_reader_found_counts_for_its_object() -> None:
    entry = only(
        f"""\
        kind: Pod
        apiVersion: v1
        kind: Pod
        spec:
          containers: [{{name: c, resources: {{limits: {{{GPU}: 4}}}}}}]
        """
    )

    assert (entry.verdict, entry.findings[0].rule, entry.findings[0].line) == (Verdict.DENY, "duplicate-key", 3)


def test_what_the_yaml_reader_found_in_a_list_counts_for_the_item_it_lies_in() -> None:
    report = check(
        f"""\
        apiVersion: v1
        kind: List
        items:
        - {pod(4)}
        - apiVersion: v1
          kind: ConfigMap
          data: {{a: x, a: y}}
        """
    )

    assert [entry.verdict for entry in report.objects] == [Verdict.ALLOW, Verdict.DENY]
    assert report.objects[1].findings[0].field == ("data", "a")


def test_an_unknown_kind_with_a_pod_warns_and_never_denies() -> None:
    entry = only(workload("Sweep", 5, "ml.example.org/v1"))

    assert entry.verdict is Verdict.WARN
    assert [(finding.rule, finding.severity) for finding in entry.findings] == [
        ("kind-not-known", Severity.WARNING),
        ("request-size-not-admitted", Severity.WARNING),
    ]


def test_an_unknown_kind_whose_pods_ask_for_nothing_is_only_noted() -> None:
    """Many operators let users write containers, and few of them have to do with GPUs."""
    (entry,) = check(
        "{apiVersion: monitoring.coreos.com/v1, kind: Prometheus, metadata: {name: a}, "
        "spec: {containers: [{name: c, image: x}]}}"
    ).objects

    assert [(finding.rule, finding.severity) for finding in entry.findings] == [("kind-not-known", Severity.INFO)]
    assert (entry.verdict, entry.reason) == (Verdict.SKIP, "the pod asks for no GPU")


def test_pods_that_cannot_be_seen_are_named() -> None:
    entry = only("{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, spec: {runtimeRef: {name: torch}}}")

    assert lines(entry) == [
        "m.yaml:1:80: warning: the GPUs of this TrainJob were not evaluated: the pod template stands in the runtime "
        "that spec.runtimeRef names [gpus-not-visible]"
    ]
    assert entry.reason == "not evaluated: the pod template stands in the runtime that spec.runtimeRef names"


def test_an_unreadable_document_does_not_hide_the_others() -> None:
    report = check(f"{pod(3)}\n---\na: [\n---\n{pod(5)}\n")

    assert (report.unreadable, report.denied, len(report.findings)) == (1, 2, 1)


def test_what_the_yaml_reader_found_in_other_files_is_only_noted() -> None:
    """A site's configuration or a CI file never comes to the API server."""
    report = check("on: push\nfont: !!python/name:a.b\n")

    assert [(finding.rule, finding.severity) for finding in report.findings] == [
        ("not-an-object", Severity.INFO),
        ("yaml-boolean-word", Severity.INFO),
        ("yaml-unknown-tag", Severity.INFO),
    ]


def test_what_the_yaml_reader_found_beside_an_item_that_is_no_object_counts() -> None:
    report = check("kind: List\nitems: [hello]\na: 1\na: 2\n")

    assert [(finding.rule, finding.severity) for finding in report.findings] == [
        ("not-an-object", Severity.ERROR),
        ("duplicate-key", Severity.ERROR),
    ]


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        pytest.param(f"--- {pod(4)}", (1, 5), "a value stands on the line of ---", id="flow"),
        pytest.param(f"# c\n---  !!map\n{pod(4)}", (2, 6), "a value stands on the line of ---", id="tag"),
        pytest.param(f"%YAML 1.1\n---\n{pod(4)}", (1, 1), "a directive stands before ---", id="directive"),
        pytest.param(
            f"--- {{kind: List, apiVersion: v1, items: [{pod(4)}]}}",
            (1, 5),
            "a value stands on the line of ---",
            id="list",
        ),
    ],
)
def test_a_start_of_a_document_that_kubectl_refuses_is_told(text: str, place: tuple[int, int], words: str) -> None:
    """Measured with kubectl 1.37.2: it splits a text at --- by itself, with nothing but a comment on that line."""
    (finding,) = only(text).findings

    assert (finding.rule, finding.severity) == ("document-start-refused", Severity.ERROR)
    assert (finding.line, finding.column) == place
    assert finding.message == f"{words}, where kubectl takes nothing but comments"


@pytest.mark.parametrize("start", ["---\n", "--- # c\n", "---\t# c\n", "---  \r\n", "", "# c\n\n---\n"])
def test_a_start_of_a_document_that_kubectl_takes_is_fine(start: str) -> None:
    assert only(start + pod(4)).findings == ()


def test_an_empty_document_is_nothing() -> None:
    assert check(f"---\n# only a comment\n---\n---\n{pod(4)}\n").object_count == 1


def test_a_pod_of_the_wrong_shape_is_denied() -> None:
    entry = only("{apiVersion: v1, kind: Pod, spec: {containers: {}}}")

    assert [(finding.rule, finding.field) for finding in entry.findings] == [
        ("pod-not-readable", ("spec", "containers"))
    ]


@pytest.mark.parametrize(
    ("api_version", "kind", "hint"),
    [
        ("apps/v1", "Deploymnt", "did you mean Deployment"),
        ("apps/v1", "deployment", "did you mean Deployment"),
        ("v1", "Deployment", "did you mean the group apps"),
        ("apps/v1", "Pod", "did you mean apiVersion: v1"),
        ("example.org/v1", "Deployment", "name the kind and its paths in spec.workloads of the policy"),
    ],
)
def test_a_slip_in_a_kind_is_told(api_version: str, kind: str, hint: str) -> None:
    text = (
        f"{{apiVersion: {api_version}, kind: {kind}, metadata: {{name: a}}, "
        "spec: {template: {spec: {containers: [{name: c, resources: {limits: {nvidia.com/gpu: 4}}}]}}}}"
    )

    report = check_documents(policy(), read_documents(text, "m.yaml"), files=1)

    assert [f.hint for entry in report.objects for f in entry.findings if f.rule == "kind-not-known"] == [hint]

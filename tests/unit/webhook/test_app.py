"""The application: real reviews of a real API server, and what a hostile or broken client gets."""

from __future__ import annotations

from copy import deepcopy

import pytest
from builders import pod, policy
from reviewing import ask, client, groups_of, patch_of, review

from gpupolicy.labels import LabelSelector
from gpupolicy.model import Admission, Exemption, NamespaceMatch, Policy
from gpupolicy.patch import apply_patch
from gpupolicy.webhook import create_app
from gpupolicy.webhook.namespaces import NamespaceLabels
from gpupolicy.webhook.watchers import Watchers


def test_the_answer_is_in_the_version_that_was_asked():
    answer = client().post("/mutate", json=review(pod("1"), version="v1beta1")).get_json()

    assert (answer["apiVersion"], answer["kind"]) == ("admission.k8s.io/v1beta1", "AdmissionReview")


def test_a_patch_is_standard_base64_of_a_json_array():
    response = ask(review(pod("8")))

    assert response["patchType"] == "JSONPatch"
    assert [operation["op"] for operation in patch_of(response)] == ["add", "add", "add"]


def test_a_key_with_a_slash_is_escaped_in_a_pointer():
    subject = pod("4")
    subject["metadata"]["annotations"] = {"team.example/cost": "a"}
    asked = review(subject)
    apply_patch(asked["request"]["object"], patch_of(ask(asked)))

    assert asked["request"]["object"]["metadata"]["annotations"]["team.example/cost"] == "a"


def test_a_denial_names_the_pod_that_has_no_name_yet_and_the_namespace_of_the_request():
    subject = pod("3")
    subject["metadata"] = {"generateName": "train-7f9c-"}

    assert ask(review(subject))["status"] == {
        "code": 403,
        "reason": "Forbidden",
        "message": "pod train-7f9c-* in namespace team-a: the pod asks for 3 GPUs; admitted are 1, 2, 4, 8 (policy); "
        "ask for 2 or 4 [request-size-not-admitted]",
    }


def test_a_dry_run_gets_the_same_answer():
    asked = review(pod("3"))

    assert ask({**asked, "request": {**asked["request"], "dryRun": True}}) == ask(asked)


def test_a_container_that_another_webhook_put_first_changes_nothing():
    subject = pod(None, "2")

    assert groups_of(ask(review(subject))) == "SLOT-2"


def test_a_second_call_after_another_webhook_added_a_container_has_nothing_to_do():
    asked = review(pod("4"))
    apply_patch(asked["request"]["object"], patch_of(ask(asked)))
    asked["request"]["object"]["spec"]["containers"].append({"name": "proxy", "image": "example/proxy:1"})

    assert "patch" not in ask(asked)


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"operation": "DELETE", "object": None, "oldObject": pod("3")}, id="delete"),
        pytest.param({"operation": "DELETE", "object": pod("3")}, id="delete-with-an-object"),
        pytest.param({"operation": "CONNECT", "object": pod("3")}, id="connect"),
        pytest.param({"operation": "SOMETHING", "object": pod("3")}, id="unknown-operation"),
        pytest.param({"object": None}, id="no-object"),
        pytest.param({"subResource": "status", "operation": "UPDATE", "object": pod("3")}, id="status"),
        pytest.param({"subResource": "ephemeralcontainers", "operation": "UPDATE", "object": pod("3")}, id="debug"),
        pytest.param({"subResource": "binding", "kind": {"version": "v1", "kind": "Binding"}}, id="binding"),
        pytest.param({"subResource": "eviction", "kind": {"group": "policy", "kind": "Eviction"}}, id="eviction"),
        pytest.param({"kind": {"group": "apps", "version": "v1", "kind": "Deployment"}}, id="deployment"),
        pytest.param({"kind": {"group": "example.com", "version": "v1", "kind": "Pod"}}, id="foreign-pod"),
    ],
)
@pytest.mark.parametrize("path", ["/mutate", "/validate", "/validate/final"])
def test_what_is_not_ours_to_judge_is_allowed_and_left_as_it_is(path, fields):
    response = ask(review(pod("3"), **fields), path)

    assert response["allowed"] is True
    assert not {"patch", "patchType", "status", "warnings"} & set(response)


@pytest.mark.parametrize(
    ("subject", "message"),
    [
        pytest.param(
            {"kind": "Pod", "metadata": None, "spec": {"containers": "train"}},
            "pod without a name in namespace team-a: spec.containers is a string, a list is expected "
            "[pod-not-readable]",
            id="containers-a-string",
        ),
        pytest.param(
            {"kind": "Pod", "spec": {"containers": [None]}},
            "pod without a name in namespace team-a: spec.containers[0] is missing, a mapping is expected "
            "[pod-not-readable]",
            id="container-null",
        ),
        pytest.param(
            {"metadata": {"name": "job-a"}},
            "pod job-a in namespace team-a: spec is missing, a mapping is expected [pod-not-readable]",
            id="no-spec",
        ),
        pytest.param(
            {"metadata": "job-a", "spec": {"containers": []}},
            "pod without a name in namespace team-a: metadata is a string, a mapping is expected [pod-not-readable]",
            id="metadata-a-string",
        ),
    ],
)
@pytest.mark.parametrize("path", ["/mutate", "/validate"])
def test_a_pod_of_the_wrong_shape_is_denied_and_told_why(path, subject, message):
    response = ask(review(subject), path)

    assert response["allowed"] is False
    assert response["status"] == {"code": 400, "reason": "BadRequest", "message": message}


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"containers": [{"resources": []}]}, id="resources-a-list"),
        pytest.param({"containers": [{"resources": {"limits": "8"}}]}, id="limits-a-string"),
        pytest.param({"containers": [{"resources": {"limits": {"nvidia.com/gpu": {}}}}]}, id="amount-a-mapping"),
        pytest.param({"containers": [{"resources": {"limits": {"nvidia.com/gpu": True}}}]}, id="amount-true"),
        pytest.param({"containers": [{"resources": {"limits": {"nvidia.com/gpu": "many"}}}]}, id="amount-a-word"),
        pytest.param({**pod("1")["spec"], "affinity": [1]}, id="affinity-a-list"),
        pytest.param({**pod("1")["spec"], "affinity": {"nodeAffinity": "x"}}, id="node-affinity-a-string"),
        pytest.param({**pod("1")["spec"], "nodeSelector": {"a": 1}}, id="selector-a-number"),
        pytest.param({**pod("1")["spec"], "schedulerName": ["x"]}, id="scheduler-a-list"),
        pytest.param({**pod("1")["spec"], "tolerations": {"a": 1}}, id="tolerations-a-mapping"),
        pytest.param({**pod("1")["spec"], "initContainers": "x"}, id="init-a-string"),
        pytest.param({**pod("1")["spec"], "nodeName": 7}, id="node-name-a-number"),
    ],
)
def test_no_wrong_value_in_a_pod_is_approved_or_ends_in_an_error(spec):
    assert ask(review({"metadata": {"name": "job-a"}, "spec": spec}))["allowed"] is False


@pytest.mark.parametrize("path", ["/mutate", "/validate", "/validate/final"])
def test_keys_as_the_python_client_spells_them_are_fields_that_nobody_knows(path):
    """The API server drops unknown fields, so only somebody else sends them; ``gpupolicy.admit`` refuses them."""
    odd = {"api_version": "v1", **pod("3"), "spec": {**pod("3")["spec"], "node_name": "gpu-1"}}

    assert "3 GPUs" in ask(review(odd), path)["status"]["message"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(b"", "the body is no JSON: Expecting value: line 1 column 1 (char 0)", id="empty"),
        pytest.param(b'{"kind": "Pod"}', 'kind is "Pod", AdmissionReview is expected', id="a-pod"),
    ],
)
def test_what_is_no_review_is_answered_by_http_400(body, message):
    answer = client().post("/mutate", data=body)

    assert answer.status_code == 400
    assert answer.get_json() == {
        "apiVersion": "v1",
        "kind": "Status",
        "status": "Failure",
        "message": message,
        "reason": "BadRequest",
        "code": 400,
    }


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        pytest.param("GET", "/mutate", 405, id="get"),
        pytest.param("PUT", "/validate", 405, id="put"),
        pytest.param("POST", "/", 404, id="root"),
        pytest.param("POST", "/mutate/", 404, id="slash-behind"),
        pytest.param("POST", "/healthz", 404, id="probe-on-the-review-port"),
        pytest.param("GET", "/static/x", 404, id="static"),
    ],
)
def test_other_methods_and_paths_are_refused_in_json(method, path, code):
    answer = client().open(path, method=method)

    assert (answer.status_code, answer.get_json()["code"]) == (code, code)


def test_a_refused_method_is_told_which_one_is_allowed():
    assert client().get("/mutate").headers["Allow"] == "POST"


def test_the_timeout_in_the_url_is_no_part_of_the_path():
    assert client().post("/mutate?timeout=3s", json=review(pod("1"))).status_code == 200


def test_a_defect_of_ours_is_http_500_so_that_failure_policy_decides(caplog):
    def broken() -> object:
        raise RuntimeError("defect")

    answer = create_app(broken).test_client().post("/mutate", json=review(pod("1")))

    assert answer.status_code == 500
    assert "defect" not in answer.get_data(as_text=True)
    assert "defect" in caplog.text


def test_the_policy_is_asked_for_at_each_review():
    policies = [policy(), policy(admission=Admission(request_sizes=(3,)))]
    app = create_app(lambda: policies[-1]).test_client()
    before = app.post("/validate", json=review(pod("1"))).get_json()["response"]["allowed"]
    policies.pop()
    after = app.post("/validate", json=review(pod("1"))).get_json()["response"]["allowed"]

    assert (before, after) == (False, True)


def selecting(*names: str) -> Policy:
    """A policy that exempts namespaces by a label, all or some."""
    match = NamespaceMatch(names=names, selector=LabelSelector(match_labels={"gpu": "free"}))
    return policy(admission=Admission(exemptions=(Exemption(namespaces=match, reason="playground"),)))


def test_labels_of_the_namespace_reach_the_policy():
    app = create_app(
        selecting,
        namespace_labels={"team-a": {"gpu": "free"}}.__getitem__,
    )

    response = app.test_client().post("/validate", json=review(pod("3"))).get_json()["response"]

    assert response["allowed"] is True


@pytest.mark.parametrize(
    ("chosen", "subject", "status"),
    [
        pytest.param(selecting("team-a"), pod("3"), 503, id="a-selector-has-to-look"),
        pytest.param(selecting("other-team"), pod("3"), 200, id="the-name-is-another"),
        pytest.param(
            selecting("team-a"), {**pod("3"), "metadata": {"deletionTimestamp": "now"}}, 200, id="being-deleted"
        ),
        pytest.param(policy(), pod("3"), 200, id="no-selector"),
        pytest.param(selecting("team-a"), pod(), 200, id="no-gpu"),
        pytest.param(selecting("team-a"), pod("0"), 200, id="zero-gpus"),
        pytest.param(selecting("team-a"), pod("1"), 200, id="as-it-was"),
    ],
)
def test_only_a_decision_that_takes_labels_waits_until_they_are_known(chosen, subject, status):
    labels = NamespaceLabels(lambda: None, print, print, Watchers())
    app = create_app(lambda: chosen, namespace_labels=labels.labels_of).test_client()
    asked = review(subject, operation="UPDATE", oldObject=pod("1"))

    assert app.post("/validate", json=asked).status_code == status


def test_a_new_pod_without_gpus_does_not_wait_for_the_labels_of_its_namespace():
    labels = NamespaceLabels(lambda: None, print, print, Watchers())
    app = create_app(lambda: selecting("team-a"), namespace_labels=labels.labels_of).test_client()

    assert app.post("/mutate", json=review(pod())).status_code == 200


def test_each_review_is_observed_with_its_verdict():
    seen: list[tuple[str, str]] = []
    app = client(observe=lambda asked, verdict: seen.append((asked.operation, verdict)))
    for subject in (pod("1"), pod("3"), pod()):
        app.post("/mutate", json=review(subject))

    assert seen == [("CREATE", "allow"), ("CREATE", "deny"), ("CREATE", "skip")]


def test_a_review_is_not_changed_by_answering_it():
    asked = review(pod("4"))
    before = deepcopy(asked)
    ask(asked)

    assert asked == before

"""Who is exempt: by namespace, owner, service account and labels, and never by an owner that was made up."""

from datetime import UTC, date, datetime

import pytest
from builders import described, exemption, owned, pod, policy

from gpupolicy.admission.scope import Request, find_exemption, find_owner_kind, is_mirror
from gpupolicy.labels import LabelSelector
from gpupolicy.model import Admission, Exemption, NamespaceMatch
from gpupolicy.pod import PodView

CONTROLLER = "system:serviceaccount:kube-system:daemon-set-controller"
MIRROR = {"kubernetes.io/config.mirror": "5f0c"}


def request(namespace="team-a", labels=None, **fields):
    return Request(namespace=namespace, namespace_labels=labels or {}, **fields)


def match(*exemptions, document=None, **fields):
    found = policy(admission=Admission(exemptions=exemptions))
    return find_exemption(found, PodView(document or pod(1)), request(**fields))


def is_exempt(*exemptions, document=None, **fields):
    return match(*exemptions, document=document, **fields).exemption is not None


@pytest.mark.parametrize(
    ("namespace", "exempt"),
    [
        pytest.param("kube-system", True, id="name"),
        pytest.param("gpu-operator", True, id="glob"),
        pytest.param("team-a", False, id="other"),
    ],
)
def test_exempt_by_namespace(namespace, exempt):
    assert is_exempt(exemption("kube-system", "gpu-*"), namespace=namespace) is exempt


@pytest.mark.parametrize(("labels", "exempt"), [({"tier": "infra"}, True), ({}, False)], ids=["labelled", "bare"])
def test_exempt_by_namespace_labels(labels, exempt):
    selector = NamespaceMatch(selector=LabelSelector(match_labels={"tier": "infra"}))

    assert is_exempt(Exemption(reason="infra", namespaces=selector), labels=labels) is exempt


@pytest.mark.parametrize(
    ("account", "exempt"),
    [
        pytest.param({"serviceAccountName": "builder"}, True, id="account"),
        pytest.param({"serviceAccountName": "other"}, False, id="other-account"),
        pytest.param({"serviceAccount": "builder"}, True, id="old-name-of-the-field"),
        pytest.param({"serviceAccount": "builder", "serviceAccountName": "other"}, False, id="new-name-before-the-old"),
        pytest.param({}, False, id="default-account"),
    ],
)
def test_exempt_by_service_account(account, exempt):
    assert is_exempt(exemption(service_accounts=("team-*/builder",)), document=pod(1, **account)) is exempt


@pytest.mark.parametrize(("labels", "exempt"), [({"app": "probe"}, True), ({}, False)], ids=["labelled", "bare"])
def test_exempt_by_pod_labels(labels, exempt):
    rule = exemption(pod_selector=LabelSelector(match_labels={"app": "probe"}))

    assert is_exempt(rule, document=described(pod(1), labels=labels)) is exempt


def test_all_parts_of_an_exemption_must_match():
    rule = exemption("team-b", owner_kinds=("DaemonSet",))

    assert is_exempt(rule, document=owned(pod(1), "DaemonSet")) is False


@pytest.mark.parametrize(
    ("kind", "username", "exempt"),
    [
        pytest.param("DaemonSet", CONTROLLER, True, id="made-by-the-controller"),
        pytest.param("DaemonSet", "system:kube-controller-manager", True, id="made-by-the-controller-manager"),
        pytest.param("DaemonSet", "dev-1", False, id="forged"),
        pytest.param("DaemonSet", "system:serviceaccount:team-a:default", False, id="forged-by-a-service-account"),
        pytest.param("DaemonSet", "system:serviceaccount:kube-systematic:x", False, id="namespace-with-that-beginning"),
        pytest.param("DaemonSet", None, True, id="offline-it-is-believed"),
        pytest.param("Node", "system:node:gpu-01", True, id="made-by-a-kubelet"),
        pytest.param("Node", "dev-1", False, id="forged-node"),
        pytest.param("Node", CONTROLLER, False, id="a-controller-is-no-kubelet"),
        pytest.param("Workspace", "dev-1", True, id="a-custom-kind-is-the-authors-word"),
        pytest.param("Job", CONTROLLER, False, id="another-kind"),
    ],
)
def test_exempt_by_owner_only_if_the_owner_is_real(kind, username, exempt):
    rule = exemption(owner_kinds=("DaemonSet", "Node", "Workspace"))

    assert is_exempt(rule, document=owned(pod(1), kind), username=username) is exempt


def test_the_owner_of_a_template_is_its_workload():
    assert find_owner_kind(PodView(pod(1)), request(owner_kind="DaemonSet")) == "DaemonSet"


def at(*date_and_time):
    return datetime(*date_and_time, tzinfo=UTC)


@pytest.mark.parametrize(
    ("now", "exempt"),
    [
        pytest.param(at(2027, 1, 31, 23, 59), True, id="on-the-last-day"),
        pytest.param(at(2027, 2, 1), False, id="the-day-after"),
        pytest.param(None, True, id="without-a-clock"),
    ],
)
def test_an_exemption_holds_through_its_last_day(now, exempt):
    assert is_exempt(exemption("team-a", expires=date(2027, 1, 31)), now=now) is exempt


def test_expired_exemptions_are_named_and_later_ones_still_hold():
    old = exemption("team-a", expires=date(2026, 1, 1))
    found = match(old, exemption("team-b"), exemption("team-*"), now=at(2027, 1, 1))

    assert (found.index, found.expired) == (2, (0,))


def test_the_first_exemption_that_matches_is_used():
    assert match(exemption("team-b"), exemption("team-a"), exemption("team-*")).index == 1


@pytest.mark.parametrize(
    ("annotations", "username", "mirror"),
    [
        pytest.param(MIRROR, "system:node:gpu-01", True, id="made-by-a-kubelet"),
        pytest.param(MIRROR, "dev-1", False, id="forged"),
        pytest.param(MIRROR, None, True, id="offline-it-is-believed"),
        pytest.param({}, "system:node:gpu-01", False, id="no-annotation"),
    ],
)
def test_a_mirror_pod_is_one_that_a_kubelet_made(annotations, username, mirror):
    document = described(pod(1), annotations=annotations)

    assert is_mirror(PodView(document), request(username=username)) is mirror

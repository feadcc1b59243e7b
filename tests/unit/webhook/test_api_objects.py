"""The Secret and the registrations of a real API server: what is sent, and what refusals mean."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from fake_api_server import kubeconfig, to_status
from fake_objects import Server, table_server

from gpupolicy.errors import ClusterError, UsageError
from gpupolicy.webhook.api_objects import ANSWER_SECONDS, ApiObjects
from gpupolicy.webhook.api_server import find_api
from gpupolicy.webhook.managed_objects import ConflictError

SECRETS = "/api/v1/namespaces/gpu-system/secrets"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
MUTATING = f"{ADMISSION}/mutatingwebhookconfigurations/gpupolicy-p"
VALIDATING = f"{ADMISSION}/validatingwebhookconfigurations/gpupolicy-p"


@pytest.fixture
def server() -> Iterator[tuple[Server, str]]:
    with table_server() as server:
        yield server


@pytest.fixture
def state(server: tuple[Server, str]) -> Server:
    return server[0]


@pytest.fixture
def objects(server: tuple[Server, str], tmp_path: Path) -> ApiObjects:
    return to_objects(kubeconfig(tmp_path, server[1]))


def to_objects(kubeconfig: Path) -> ApiObjects:
    api = find_api(kubeconfig, answer_seconds=ANSWER_SECONDS)
    return ApiObjects(api, namespace="gpu-system", secret="tls", registration="gpupolicy-p")


def test_a_secret_is_read(state, objects):
    state.answers["GET", f"{SECRETS}/tls"] = 200, {"data": {"ca.crt": "eA=="}}

    assert objects.read_secret() == {"data": {"ca.crt": "eA=="}}


def test_an_answer_brings_the_time_of_the_api_server(objects):
    before = objects.find_time()
    began = datetime.now(UTC).replace(microsecond=0)
    objects.read_secret()

    assert before is None
    assert began <= objects.find_time() <= datetime.now(UTC)


def test_a_secret_that_is_not_there_is_none(objects):
    assert objects.read_secret() is None


def test_a_secret_is_made(state, objects):
    state.answers["POST", SECRETS] = 201, {}
    objects.create_secret({"kind": "Secret", "data": {"ca.crt": "eA=="}})

    ((method, path, _, body),) = state.asked
    assert (method, path, body) == ("POST", SECRETS, {"kind": "Secret", "data": {"ca.crt": "eA=="}})


def test_a_secret_that_others_have_made_is_a_conflict(state, objects):
    state.answers["POST", SECRETS] = 409, to_status(409, 'secrets "tls" already exists')

    with pytest.raises(ConflictError, match="already exists"):
        objects.create_secret({})


def test_a_secret_that_must_not_be_made_has_to_be_applied(state, objects):
    state.answers["POST", SECRETS] = 403, to_status(403, "secrets is forbidden")

    with pytest.raises(UsageError) as caught:
        objects.create_secret({})

    assert str(caught.value) == (
        "there is no Secret gpu-system/tls, and it cannot be made (apply it empty): "
        "context test: secrets is forbidden (403)"
    )


def test_a_secret_that_cannot_be_made_for_another_reason_may_be_made_later(state, objects):
    """Its namespace may be on the way, and a busy API server is not busy for ever."""
    with pytest.raises(ClusterError) as caught:
        objects.create_secret({})

    assert str(caught.value) == "context test: not found (404)"
    assert not isinstance(caught.value, ConflictError)


def test_nothing_is_sent_twice(state, objects):
    """Who looks after certificates tries again by itself, and more slowly each time."""
    state.answers["GET", f"{SECRETS}/tls"] = 503, to_status(503, "shutting down")

    with pytest.raises(ClusterError, match=r"shutting down"):
        objects.read_secret()
    assert len(state.asked) == 1


def test_a_secret_is_replaced(state, objects):
    state.answers["PUT", f"{SECRETS}/tls"] = 200, {}
    objects.replace_secret({"metadata": {"resourceVersion": "7"}})

    assert state.asked[0][3] == {"metadata": {"resourceVersion": "7"}}


@pytest.mark.parametrize("code", [404, 409])
def test_a_secret_that_has_changed_or_gone_is_a_conflict(code, state, objects):
    state.answers["PUT", f"{SECRETS}/tls"] = code, to_status(code, "changed")

    with pytest.raises(ConflictError, match="changed"):
        objects.replace_secret({})


def test_the_registrations_that_there_are_are_read_with_their_kinds(state, objects):
    state.answers["GET", VALIDATING] = 200, {"metadata": {"name": "gpupolicy-p"}}

    assert objects.read_registrations() == [
        {"kind": "ValidatingWebhookConfiguration", "metadata": {"name": "gpupolicy-p"}}
    ]


@pytest.mark.parametrize(
    ("kind", "path"),
    [("MutatingWebhookConfiguration", MUTATING), ("ValidatingWebhookConfiguration", VALIDATING)],
)
def test_a_registration_is_changed_by_a_json_patch(kind, path, state, objects):
    state.answers["PATCH", path] = 200, {}
    patch = [{"op": "test", "path": "/metadata/resourceVersion", "value": "7"}]
    objects.patch_registration(kind, patch)

    assert state.asked == [("PATCH", path, "application/json-patch+json", patch)]


def test_a_patch_whose_test_fails_is_a_conflict(state, objects):
    state.answers["PATCH", MUTATING] = 422, to_status(422, "the server rejected our request")

    with pytest.raises(ConflictError):
        objects.patch_registration("MutatingWebhookConfiguration", [])


def test_a_refusal_is_told_in_the_words_of_the_api_server(state, objects):
    state.answers["GET", f"{SECRETS}/tls"] = 403, to_status(403, 'secrets "tls" is forbidden')

    with pytest.raises(ClusterError) as caught:
        objects.read_secret()

    assert str(caught.value) == 'context test: secrets "tls" is forbidden (403)'


def test_an_answer_that_is_no_object_is_told(state, objects):
    state.answers["GET", f"{SECRETS}/tls"] = 200, b"welcome to the proxy"

    with pytest.raises(ClusterError, match=r"^what answers for context test is no API server: its /api/v1/namespaces"):
        objects.read_secret()


def test_a_server_that_does_not_answer_is_told(tmp_path):
    with pytest.raises(ClusterError, match="Connection refused"):
        to_objects(kubeconfig(tmp_path, "http://127.0.0.1:9")).read_registrations()

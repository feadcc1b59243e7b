"""Namespaces as an API server tells them, and the ways to one."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_api_server import FakeApiServer, fake_api_server, kubeconfig
from serving import write_pair

from gpupolicy.errors import ClusterError, InputError, MissingExtraError
from gpupolicy.webhook import api_server
from gpupolicy.webhook.api_server import LIST_SECONDS, PAGE, ApiServer, find_api
from gpupolicy.webhook.namespace_source import Change, ExpiredError


@pytest.fixture
def server() -> Iterator[FakeApiServer]:
    with fake_api_server() as server:
        yield server


@pytest.fixture
def source(server: FakeApiServer, tmp_path: Path) -> ApiServer:
    return connect(kubeconfig(tmp_path, server.address))


def connect(kubeconfig: Path | None, **where: Any) -> ApiServer:
    return ApiServer(find_api(kubeconfig, answer_seconds=LIST_SECONDS, **where))


def test_every_namespace_is_listed_with_its_labels_and_the_version(server, source):
    server.put("team-a", stage="trial")
    server.put("team-b")

    assert source.list() == ({"team-a": {"stage": "trial"}, "team-b": {}}, "2")


def test_a_long_list_is_read_page_by_page(server, source):
    """A namespace may carry 256 KiB of annotations: the list of thousands must not stand in memory as a whole."""
    for number in range(PAGE + 1):
        server.put(f"team-{number:03}")

    found, _ = source.list()

    assert len(found) == PAGE + 1
    assert [query.get("continue") for query in server.asked] == [None, str(PAGE)]


def test_a_watch_says_that_it_is_open_before_anything_happens(source):
    assert next(source.watch("0")) == Change(version="0")


def test_a_watch_tells_what_comes_after_its_version(server, source):
    server.put("team-a", stage="trial")
    changes = source.watch("1")
    opened = next(changes)
    server.put("team-b", stage="done")
    server.put("team-a")
    server.bookmark()
    server.delete("team-b")

    assert (opened, *(next(changes) for _ in range(4))) == (
        Change(version="1"),
        Change(version="2", name="team-b", labels={"stage": "done"}),
        Change(version="3", name="team-a", labels={}),
        Change(version="4"),
        Change(version="5", name="team-b"),
    )
    changes.close()


def test_a_watch_asks_for_bookmarks_and_an_end(server, source):
    next(source.watch("0"))

    (query,) = server.asked
    assert {key: value.lower() for key, value in query.items()} == {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": "0",
        "timeoutSeconds": "300",
    }


def test_a_watch_that_the_server_ends_ends_in_order(server, source):
    changes = source.watch("0")
    next(changes)
    server.end_watches()

    assert list(changes) == []


def test_an_expired_version_is_told_apart_at_the_start(server, source):
    server.oldest = 5

    with pytest.raises(ExpiredError, match=r"^context test: too old resource version \(410\)$"):
        next(source.watch("4"))


def test_an_expired_version_is_told_apart_in_the_middle(server, source):
    changes = source.watch("0")
    next(changes)
    server.fail(410, "too old resource version")

    with pytest.raises(ExpiredError, match=r"^context test: too old resource version \(410\)$"):
        next(changes)


@pytest.mark.parametrize(
    ("ask", "verb"),
    [
        pytest.param(lambda s: s.list(), "list", id="list"),
        pytest.param(lambda s: next(s.watch("0")), "watch", id="watch"),
    ],
)
def test_a_refusal_names_the_rule_that_is_missing(ask, verb, server, source):
    server.refuse = (403, 'namespaces is forbidden: User "jane" cannot list resource "namespaces"')

    with pytest.raises(ClusterError) as caught:
        ask(source)

    assert not isinstance(caught.value, ExpiredError)
    assert str(caught.value) == (
        f"context test: user jane may not {verb} namespaces (403); missing is the RBAC rule "
        f'{{apiGroups: [""], resources: [namespaces], verbs: [{verb}]}} in a ClusterRole (see docs/cluster-access.md)'
    )


def test_a_busy_server_is_asked_once(server, source):
    """Who follows namespaces tries again by itself, and more slowly each time."""
    server.refuse = (503, "shutting down")

    with pytest.raises(ClusterError, match=r"shutting down"):
        source.list()
    assert len(server.asked) == 1


def test_who_is_impersonated_goes_along(server, tmp_path):
    """The client passes over it, and would ask with the rights of the one who may impersonate."""
    file = kubeconfig(tmp_path, server.address)
    config = json.loads(file.read_text())
    config["users"][0]["user"]["as"] = "jane"
    file.write_text(json.dumps(config))
    source = connect(file)
    source.list()
    next(source.watch("0"))

    assert server.impersonated == ["jane", "jane"]


def test_a_credential_plugin_that_fails_is_told(server, tmp_path):
    """The client goes on without credentials."""
    file = kubeconfig(tmp_path, server.address)
    config = json.loads(file.read_text())
    config["users"][0]["user"] = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "not-here"}}
    file.write_text(json.dumps(config))

    with pytest.raises(ClusterError, match=r"^no credentials from the plugin not-here: "):
        connect(file)


def test_an_answer_that_holds_no_namespaces_is_no_end_of_the_watching(server, source):
    server.refuse = (200, "welcome to the proxy")

    with pytest.raises(ClusterError, match=r"^what answers for context test is no API server: "):
        source.list()


def test_another_error_in_the_middle_is_no_expired_version(server, source):
    changes = source.watch("0")
    next(changes)
    server.fail(500, "etcd has no leader")

    with pytest.raises(ClusterError) as caught:
        next(changes)

    assert not isinstance(caught.value, ExpiredError)
    assert str(caught.value) == "context test: etcd has no leader (500)"


def test_a_watch_on_which_nothing_comes_is_given_up(source, monkeypatch):
    """A firewall may drop a connection without a word; a living API server sends a bookmark each minute."""
    monkeypatch.setattr(api_server, "SILENCE_SECONDS", 0.2)
    changes = source.watch("0")
    next(changes)

    with pytest.raises(ClusterError, match=r"gave no answer within 0\.2 s$"):
        next(changes)


def test_a_server_that_does_not_answer_is_told_with_its_address(tmp_path):
    with fake_api_server() as server:
        source = connect(kubeconfig(tmp_path, server.address))
    port = server.address.rpartition(":")[2]

    with pytest.raises(ClusterError, match=rf"127\.0\.0\.1.*{port}.*Connection refused"):
        source.list()


def test_a_pod_asks_as_its_service_account(tmp_path):
    """The token is read again when it is renewed: the client looks at the file once a minute."""
    folder = write_pair(tmp_path)
    (folder / "token").write_text("from-the-kubelet")
    with fake_api_server(tls=folder) as server:
        environ = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": server.address.rpartition(":")[2]}
        server.put("team-a", stage="trial")

        found, _ = connect(None, environ=environ, service_account=folder).list()

    assert found == {"team-a": {"stage": "trial"}}
    assert server.tokens == ["bearer from-the-kubelet"]


@pytest.mark.parametrize(
    ("environ", "told"),
    [
        pytest.param({}, "service host/port is not set", id="no-pod"),
        pytest.param(
            {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"},
            "service token file does not exist",
            id="no-token",
        ),
    ],
)
def test_without_a_way_to_the_cluster_it_is_said_which_two_there_are(tmp_path, environ, told):
    with pytest.raises(ClusterError) as caught:
        connect(None, environ=environ, service_account=tmp_path)

    assert str(caught.value) == (
        f"there is no way to the cluster: no --kubeconfig is given, and this is no pod with a token ({told})"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("", "is no kubeconfig", id="empty"),
        pytest.param("a", "is no kubeconfig", id="a-word"),
        pytest.param("clusters: [", "is no kubeconfig: expected the node content", id="broken"),
        pytest.param("clusters: []", "has no current-context: ", id="no-context"),
    ],
)
def test_a_kubeconfig_that_cannot_be_used_is_named(tmp_path, text, message):
    file = tmp_path / "kubeconfig"
    file.write_text(text)

    with pytest.raises(InputError) as caught:
        connect(file)

    assert caught.value.file == str(file)
    assert caught.value.message.startswith(message)


def test_a_kubeconfig_that_is_not_there_is_named(tmp_path):
    with pytest.raises(InputError) as caught:
        connect(tmp_path / "gone")

    assert (caught.value.file, caught.value.message) == (
        str(tmp_path / "gone"),
        "is not there",
    )


WITHOUT_A_CLUSTER = """
import sys
from pathlib import Path
import gpupolicy.webhook.server
from gpupolicy.webhook.parts import ServeOptions, assemble

policy, folder = map(Path, sys.argv[1:])
with assemble(ServeOptions(policy=policy, certificate=folder / "tls.crt", key=folder / "tls.key"), print) as parts:
    assert parts.find_obstacle() is None
print(*(name for name in sys.modules if name.startswith(("kubernetes", "gpupolicy.cluster"))))
"""


def test_a_policy_that_needs_no_cluster_loads_nothing_that_knows_one(tmp_path):
    """The client takes 20 MB and a third of a second."""
    policy = Path(__file__).parents[3] / "policies" / "classic.yaml"
    arguments = [sys.executable, "-c", WITHOUT_A_CLUSTER, str(policy), str(write_pair(tmp_path))]

    run = subprocess.run(arguments, capture_output=True, text=True)

    assert (run.stdout, run.stderr) == ("\n", "")


def test_the_client_is_asked_for_only_when_it_is_needed(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "kubernetes", None)

    with pytest.raises(MissingExtraError, match=r"^kubernetes is not installed: .*'CHECKOUT\[cluster\]'\)$"):
        connect(tmp_path / "kubeconfig")

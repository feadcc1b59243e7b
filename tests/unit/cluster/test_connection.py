"""The ways to a cluster, and what is said where there is none."""

from __future__ import annotations

import json
import logging
import os
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_api_server import fake_api_server
from fake_cluster import FakeCluster, fake_cluster, kubeconfig, named
from serving import write_pair

from gpupolicy.cluster.connection import connect
from gpupolicy.cluster.errors import ConnectionFailedError
from gpupolicy.cluster.transport import errors_heard
from gpupolicy.errors import ClusterError, InputError, MissingExtraError

NO_WAY = (
    "no way to a cluster is known: there is no kubeconfig (--kubeconfig, KUBECONFIG, ~/.kube/config) and this is no "
    "pod with a token (service host/port is not set)"
)


@pytest.fixture
def server() -> Iterator[FakeCluster]:
    with fake_cluster() as server:
        server.lists["/api/v1/nodes"] = [named("a")]
        yield server


def write(folder: Path, name: str = "config", **fields: Any) -> str:
    """A kubeconfig with the contexts prod and staging, whose fields a test may replace."""
    file = folder / name
    config = {
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {"token": "secret"}}],
        "contexts": [{"name": name, "context": {"cluster": "c", "user": "u"}} for name in ("prod", "staging")],
        "current-context": "prod",
    }
    file.write_text(json.dumps({**config, **fields}))
    return str(file)


def headers_sent(server: FakeCluster, file: str) -> Any:
    list(connect(kubeconfig=file, environ={}).nodes())
    return server.asked[0].headers


class TestFound:
    def test_the_file_that_is_named_comes_first(self, server, tmp_path):
        named_file = kubeconfig(tmp_path, server.address)
        live = connect(kubeconfig=named_file, environ={"KUBECONFIG": write(tmp_path)}, home=tmp_path)

        assert (live.name, [node["metadata"]["name"] for node in live.nodes()]) == ("context test", ["a"])

    def test_then_those_of_the_environment_merged(self, tmp_path):
        """The first one's current-context is overridden by the client's merging; contexts of both are known."""
        one = write(tmp_path, "one", contexts=[{"name": "first", "context": {"cluster": "c", "user": "u"}}])
        environ = {"KUBECONFIG": f"{one}:{tmp_path / 'not-there'}:{write(tmp_path, 'two')}"}

        assert connect(context="first", environ=environ, home=tmp_path).name == "context first"
        assert connect(context="staging", environ=environ, home=tmp_path).name == "context staging"

    def test_then_the_usual_one(self, tmp_path):
        (tmp_path / ".kube").mkdir()
        write(tmp_path / ".kube")

        assert connect(environ={}, home=tmp_path).name == "context prod"

    def test_then_the_account_of_the_pod(self, tmp_path):
        (tmp_path / "token").write_text("abc")
        (tmp_path / "ca.crt").write_text("a certificate")
        with fake_api_server() as server:  # never asked: a pod's API server speaks TLS
            environ = {"KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": server.address[-5:]}
            live = connect(environ=environ, home=tmp_path, service_account=tmp_path)

        assert live.name == "the cluster of this pod"

    def test_the_context_that_is_named_is_taken(self, tmp_path):
        assert connect(kubeconfig=write(tmp_path), context="staging", environ={}).name == "context staging"

    def test_the_token_goes_along(self, server, tmp_path):
        assert headers_sent(server, kubeconfig(tmp_path, server.address))["Authorization"] == "Bearer secret"

    def test_a_context_without_a_user_sends_no_credentials(self, server, tmp_path):
        contexts = [{"name": "prod", "context": {"cluster": "c"}}]
        clusters = [{"name": "c", "cluster": {"server": server.address}}]
        sent = headers_sent(server, write(tmp_path, contexts=contexts, clusters=clusters))

        assert sent["Authorization"] is None

    def test_who_is_impersonated_goes_along(self, server, tmp_path):
        """The client passes over it, and would act with the rights of the one who may impersonate."""
        user = {
            "token": "secret",
            "as": "jane",
            "as-uid": "7",
            "as-groups": ["team-a", "team-b"],
            "as-user-extra": {"example.com/scope": ["x"]},
        }
        sent = headers_sent(server, kubeconfig(tmp_path, server.address, user))

        assert (sent["Impersonate-User"], sent["Impersonate-Uid"]) == ("jane", "7")
        assert sent["Impersonate-Extra-example.com%2Fscope"] == "x"
        assert ",".join(sent.get_all("Impersonate-Group")).replace(" ", "") == "team-a,team-b"


class TestNotFound:
    def test_without_any_way_all_of_them_are_named(self, tmp_path):
        with pytest.raises(ClusterError) as caught:
            connect(environ={}, home=tmp_path, service_account=tmp_path)
        assert str(caught.value) == NO_WAY

    def test_what_to_do_instead_stands_behind(self, tmp_path):
        with pytest.raises(ClusterError, match=r"; read a dump$"):
            connect(environ={}, home=tmp_path, service_account=tmp_path, instead="read a dump")

    def test_a_context_needs_a_kubeconfig(self, tmp_path):
        with pytest.raises(ClusterError, match=r"^there is no context prod: no kubeconfig is there"):
            connect(context="prod", environ={}, home=tmp_path)

    @pytest.mark.parametrize(
        ("named", "message"),
        [
            pytest.param("not-there", "cannot be read: no such file or directory", id="missing"),
            pytest.param(".", "cannot be read: is a directory", id="folder"),
            pytest.param("a\0b", "no file has such a name", id="nul"),
        ],
    )
    def test_a_file_that_is_named_has_to_be_there(self, named, message, tmp_path):
        with pytest.raises(InputError) as caught:
            connect(kubeconfig=f"{tmp_path}/{named}", environ={})
        assert caught.value.message == message

    def test_so_has_one_of_the_environment(self, tmp_path):
        with pytest.raises(InputError) as caught:
            connect(environ={"KUBECONFIG": "/not/there"}, home=tmp_path)
        assert (caught.value.message, caught.value.file) == ("KUBECONFIG names what is not there", "/not/there")

    @pytest.mark.parametrize(
        ("fields", "context", "message"),
        [
            pytest.param({}, "prd", "has no context prd: did you mean prod? there are: prod, staging", id="unknown"),
            pytest.param({}, "zzz", "has no context zzz: there are: prod, staging", id="unlike-any"),
            pytest.param(
                {"current-context": ""},
                None,
                "has no current-context: set it, or name a context; there are: prod, staging",
                id="none-is-current",
            ),
            pytest.param({"users": []}, None, "context prod names the user u, which is not there", id="no-user"),
            pytest.param(
                {"clusters": []}, None, "context prod names the cluster c, which is not there", id="no-cluster"
            ),
            pytest.param({"contexts": []}, None, "has no context prod: there are: none", id="no-contexts"),
            pytest.param({"contexts": 7}, None, "is no kubeconfig", id="shape"),
            pytest.param({"contexts": ["x"]}, None, "is no kubeconfig", id="shape-inside"),
        ],
    )
    def test_what_is_wrong_with_a_kubeconfig_is_said(self, fields, context, message, tmp_path):
        file = write(tmp_path, **fields)

        with pytest.raises(InputError) as caught:
            connect(kubeconfig=file, context=context, environ={})
        assert (caught.value.message, caught.value.file) == (message, file)

    @pytest.mark.parametrize("text", ["", "just text", "a: [", "[]"])
    def test_a_file_that_is_none_is_said_to_be_none(self, text, tmp_path):
        (tmp_path / "config").write_text(text)

        with pytest.raises(InputError) as caught:
            connect(kubeconfig=str(tmp_path / "config"), environ={})
        assert caught.value.message.startswith("is no kubeconfig")

    def test_the_file_among_several_that_is_broken_is_named_with_the_line(self, tmp_path):
        write(tmp_path)
        (tmp_path / "broken").write_text("a: [\n")

        with pytest.raises(InputError) as caught:
            connect(environ={"KUBECONFIG": f"{tmp_path / 'config'}{os.pathsep}{tmp_path / 'broken'}"})
        assert (caught.value.file, caught.value.line) == (str(tmp_path / "broken"), 2)

    def test_a_certificate_that_is_not_there_is_named(self, tmp_path):
        cluster = {"server": "https://127.0.0.1:1", "certificate-authority": "/not/there.crt"}
        file = write(tmp_path, clusters=[{"name": "c", "cluster": cluster}])

        with pytest.raises(InputError) as caught:
            connect(kubeconfig=file, environ={})
        assert caught.value.message == "is no kubeconfig that can be used: file does not exist: /not/there.crt"

    def test_a_token_file_that_is_not_there_is_named(self, tmp_path):
        file = write(tmp_path, users=[{"name": "u", "user": {"tokenFile": "/not/there"}}])

        with pytest.raises(InputError) as caught:
            connect(kubeconfig=file, environ={})
        assert (caught.value.message, caught.value.file) == ("cannot be read: no such file or directory", "/not/there")

    def test_a_missing_client_is_told_with_the_extra(self, monkeypatch, tmp_path):
        monkeypatch.setitem(sys.modules, "kubernetes", None)

        with pytest.raises(MissingExtraError, match=r"pip install 'CHECKOUT\[cluster\]'\)$"):
            connect(environ={}, home=tmp_path)


def plugin(tmp_path: Path, script: str, **fields: Any) -> str:
    """A kubeconfig whose user gets credentials from a plugin."""
    file = tmp_path / "plugin"
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o700)
    told = {"apiVersion": "client.authentication.k8s.io/v1", "command": str(file), **fields}
    return write(tmp_path, users=[{"name": "u", "user": {"exec": told}}])


class TestPlugins:
    def test_a_plugin_that_fails_is_named_with_what_it_says(self, tmp_path, capfd):
        """The client logs it and goes on without credentials."""
        file = plugin(tmp_path, "echo 'session expired: log in' >&2; exit 3", installHint="run sso login")

        with pytest.raises(ClusterError) as caught:
            connect(kubeconfig=file, environ={})
        assert str(caught.value) == (
            f"no credentials from the plugin {tmp_path}/plugin: process returned 3. session expired: log in; "
            "run sso login"
        )
        assert capfd.readouterr() == ("", "")

    def test_one_that_is_not_installed_is_named(self, tmp_path):
        with pytest.raises(ClusterError, match=r"^no credentials from the plugin not-installed-here: .*No such file"):
            connect(kubeconfig=plugin(tmp_path, "", command="not-installed-here"), environ={})

    def test_one_that_says_nonsense_is_named(self, tmp_path):
        with pytest.raises(ClusterError, match=r"failed to decode process output"):
            connect(kubeconfig=plugin(tmp_path, "echo hello"), environ={})

    def test_the_token_of_one_that_works_is_sent(self, server, tmp_path):
        credential = {
            "apiVersion": "client.authentication.k8s.io/v1",
            "kind": "ExecCredential",
            "status": {"token": "fresh"},
        }
        file = plugin(tmp_path, f"echo '{json.dumps(credential)}'")
        config = json.loads(Path(file).read_text())
        config["clusters"][0]["cluster"]["server"] = server.address
        Path(file).write_text(json.dumps(config))

        assert headers_sent(server, file)["Authorization"] == "Bearer fresh"

    def test_one_that_fails_when_the_token_has_to_be_renewed_is_told_and_logs_nothing(self, server, tmp_path, capfd):
        credential = {
            "apiVersion": "client.authentication.k8s.io/v1",
            "kind": "ExecCredential",
            "status": {"token": "short-lived", "expirationTimestamp": "2020-01-01T00:00:00Z"},
        }
        used = tmp_path / "used"
        script = (
            f"if [ -e {used} ]; then echo 'log in again' >&2; exit 1; fi; touch {used}; echo '{json.dumps(credential)}'"
        )

        with pytest.raises(ClusterError) as caught:
            list(connect(kubeconfig=plugin(tmp_path, script), environ={}).nodes())
        assert str(caught.value) == "no new credentials for context prod: exec: process returned 1. log in again"
        assert capfd.readouterr() == ("", "")

    def test_what_other_threads_log_is_not_taken_for_the_plugins(self):
        with errors_heard() as heard:
            other = threading.Thread(target=lambda: logging.error("of a request"))
            other.start()
            other.join()

        assert heard == []

    def test_nothing_is_left_at_the_root_logger(self, tmp_path):
        before = list(logging.getLogger().handlers)
        with pytest.raises(ClusterError):
            connect(kubeconfig=plugin(tmp_path, "exit 1"), environ={})

        assert logging.getLogger().handlers == before


class TestReached:
    def test_a_server_that_is_not_there_is_named_with_the_context(self, tmp_path):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = f"http://127.0.0.1:{free.getsockname()[1]}"

        with pytest.raises(ConnectionFailedError) as caught:
            list(connect(kubeconfig=kubeconfig(tmp_path, address), environ={}).nodes())
        assert str(caught.value) == (
            f"{address} (context test) cannot be reached: failed to establish a new connection: Connection refused"
        )

    def test_a_name_that_nobody_knows_is_said_so(self, tmp_path):
        with pytest.raises(ConnectionFailedError, match=r"cannot be reached: failed to resolve 'nowhere\.invalid'"):
            list(connect(kubeconfig=kubeconfig(tmp_path, "http://nowhere.invalid"), environ={}).nodes())

    def test_a_certificate_of_somebody_else_is_not_trusted(self, tmp_path):
        write_pair(tmp_path)
        with fake_api_server(tmp_path) as server, pytest.raises(ConnectionFailedError) as caught:
            list(connect(kubeconfig=kubeconfig(tmp_path, server.address), environ={}).nodes())

        assert str(caught.value).startswith(
            f"no trusted connection to {server.address} (context test): certificate verify"
        )
        assert "_ssl.c" not in str(caught.value)

    def test_without_tls_verification_nothing_is_warned_of(self, tmp_path, recwarn):
        """The kubeconfig asks for it; pytest makes an error of the warning."""
        write_pair(tmp_path)
        with fake_api_server(tmp_path) as server:
            server.put("team-a")
            cluster = {"server": server.address, "insecure-skip-tls-verify": True}
            file = write(tmp_path, clusters=[{"name": "c", "cluster": cluster}])
            found = [each["metadata"]["name"] for each in connect(kubeconfig=file, environ={}).namespaces()]

        assert found == ["team-a"]

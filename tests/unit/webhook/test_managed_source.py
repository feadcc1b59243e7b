"""Self-managed certificates as the server sees them: what is served, and the clients' authority beside it."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import pytest
from fake_api_server import kubeconfig
from fake_objects import table_server

from gpupolicy.certificates import create_authority
from gpupolicy.certificates.authority import names_of
from gpupolicy.certificates.keyring import Keyring
from gpupolicy.certificates.rotation import Plan, next_step
from gpupolicy.errors import InputError, UsageError
from gpupolicy.webhook.managed_source import ManagedSource
from gpupolicy.webhook.parts import ServeOptions, assemble

NOW = datetime.now(UTC)
POLICY = Path(__file__).parents[3] / "policies" / "classic.yaml"


def keyring() -> Keyring:
    found = next_step(None, Plan(names=("localhost",)), now=NOW, trusted=False)
    assert found is not None
    return found[1]


class Heard:
    def __init__(self) -> None:
        self.lines: list[tuple[bool, str]] = []
        self.ends: list[tuple[float, float]] = []

    def tell(self, taken: bool, line: str) -> None:
        self.lines.append((taken, line))

    def expires(self, serving: float, authority: float) -> None:
        self.ends.append((serving, authority))


def test_what_is_taken_last_is_served_and_its_end_is_told():
    heard = Heard()
    source = ManagedSource(heard.tell, heard.expires)
    first, second = keyring(), keyring()
    source.take(first)
    context = source.context
    source.take(second)

    assert source.served.pair == second.serving
    assert source.context is context
    assert len(heard.ends) == 2
    assert heard.ends[0][0] < heard.ends[0][1]


def test_nothing_can_be_served_before_something_was_taken():
    heard = Heard()

    with pytest.raises(RuntimeError):
        _ = ManagedSource(heard.tell, heard.expires).served


def test_the_clients_authority_is_read_again(tmp_path):
    heard = Heard()
    file = tmp_path / "clients.crt"
    file.write_bytes(create_authority(now=NOW).certificate)
    source = ManagedSource(heard.tell, heard.expires, client_authority=file)
    source.take(keyring())
    asyncio.run(source.reload())
    file.write_bytes(b"half")
    asyncio.run(source.reload())

    assert heard.lines == [
        (True, "the certificate was read again"),
        (False, f"the changed certificate is not taken, the old one goes on: {file}: is no PEM certificate"),
    ]


def test_an_authority_that_the_machine_could_not_read_is_told_once_and_read_again(tmp_path):
    """A folder in its place stands for whatever the system refuses, such as a lack of descriptors."""
    heard = Heard()
    file = tmp_path / "clients.crt"
    file.write_bytes(create_authority(now=NOW).certificate)
    source = ManagedSource(heard.tell, heard.expires, client_authority=file)
    source.take(keyring())
    file.rename(tmp_path / "aside")
    file.mkdir()
    asyncio.run(source.reload())
    asyncio.run(source.reload())

    assert [taken for taken, _ in heard.lines] == [False]
    assert source.seen == ()


def test_a_broken_authority_of_clients_is_no_start(tmp_path):
    heard = Heard()

    with pytest.raises(InputError):
        ManagedSource(heard.tell, heard.expires, client_authority=tmp_path / "gone")


def test_half_a_pair_of_files_is_no_order_to_manage_certificates():
    options = ServeOptions(policy=POLICY, certificate=Path("tls.crt"))

    with pytest.raises(UsageError, match="given together or not at all"), assemble(options, lambda _line: None):
        pass


def test_the_server_begins_with_what_the_policy_names(tmp_path):
    """The Secret is there and empty, as compiled; nothing is registered yet."""
    policy_file = tmp_path / "policy.yaml"
    managed = "  webhook: {certificates: {mode: selfManaged, secretName: kept-here}}\n"
    policy_file.write_text(POLICY.read_text().rstrip() + "\n" + managed)
    path = "/api/v1/namespaces/gpu-system/secrets/kept-here"
    lines: list[str] = []
    with table_server() as (server, address):
        server.answers["GET", path] = 200, {"metadata": {"name": "kept-here", "resourceVersion": "1"}}
        server.answers["PUT", path] = 200, {}
        options = ServeOptions(policy=policy_file, kubeconfig=kubeconfig(tmp_path, address), extra_names=("localhost",))
        with assemble(options, lines.append) as parts:
            names = names_of(parts.certificates.served.pair.certificate)
            metrics = parts.metrics.render()[0].decode()
        (written,) = [body for method, _, _, body in server.asked if method == "PUT"][:1]

    assert names == ("gpupolicy-webhook.gpu-system.svc", "gpupolicy-webhook.gpu-system.svc.cluster.local", "localhost")
    assert set(written["data"]) == {"ca.crt", "ca.key", "tls.crt", "tls.key"}
    assert "gpupolicy_authority_expiry_timestamp_seconds NaN" not in metrics

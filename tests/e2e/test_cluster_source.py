"""Nodes and pods as the real API server lists them: pages, versions that expire, rights, and who is not let in."""

from __future__ import annotations

import http.client
import json
import re
import socket
from base64 import b64encode, urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from e2e.controlplane import ControlPlane
from e2e.identities import Identity, kubeconfig_text
from e2e.objects import pod
from e2e.processes import wait_for

from gpupolicy.cluster.api import PatchKind
from gpupolicy.cluster.connection import connect
from gpupolicy.cluster.dumps import Dumps
from gpupolicy.cluster.errors import ConnectionFailedError, ForbiddenError, TooManyRequestsError, UnauthorizedError
from gpupolicy.cluster.live import LiveCluster

PAGE = Path(__file__).parents[2] / "docs" / "cluster-access.md"
ACCOUNT = "gpupolicy-source"
NODES = 40


@pytest.fixture(scope="class")
def live(control_plane: ControlPlane) -> LiveCluster:
    return connect(kubeconfig=str(control_plane.kubeconfig()), environ={}, page=7)


@pytest.fixture
def nodes(control_plane: ControlPlane) -> list[str]:
    return sorted(control_plane.add_nodes(NODES, gpus=8))


def names(objects: Iterator[Mapping[str, Any]]) -> list[str]:
    return [each["metadata"]["name"] for each in objects]


class TestLists:
    def test_all_nodes_come_page_by_page(self, live, nodes):
        assert names(live.nodes()) == nodes

    def test_a_list_whose_version_has_expired_goes_on_where_it_was(self, control_plane, live, nodes):
        """As after five minutes: etcd forgets the version of the first page, the API server answers 410."""
        found = live.nodes()
        first = [next(found)["metadata"]["name"] for _ in range(7)]
        token = live.api.get("/api/v1/nodes", {"limit": "7"})["metadata"]["continue"]
        control_plane.apply({**node_manifest(nodes[0]), "metadata": {"name": nodes[0], "labels": {"touched": "yes"}}})
        compact(control_plane)
        wait_for(lambda: status_of_page(control_plane, token) == 410, message="410 for what has expired")

        assert [*first, *names(found)] == nodes

    def test_a_dump_by_kubectl_gives_the_same_objects(self, control_plane, live, nodes, namespace, tmp_path):
        control_plane.create(pod("p", 1), namespace)
        for form in ("json", "yaml"):
            told = control_plane.kubectl("get", "nodes,pods", "-A", "-o", form, "--show-managed-fields")
            (tmp_path / f"dump.{form}").write_text(told.stdout)
            dump = Dumps([str(tmp_path / f"dump.{form}")])

            assert [sorted_by_name(dump.nodes()), sorted_by_name(dump.pods(namespace=namespace))] == [
                sorted_by_name(live.nodes()),
                sorted_by_name(live.pods(namespace=namespace)),
            ]

    def test_a_raw_list_gives_the_same_objects(self, control_plane, live, nodes):
        told = control_plane.kubectl("get", "--raw", "/api/v1/nodes").stdout

        assert list(Dumps(["-"], told.encode()).nodes()) == list(live.nodes())


def sorted_by_name(objects: Iterator[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return sorted(objects, key=lambda each: each["metadata"]["name"])


def node_manifest(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}


class UnixConnection(http.client.HTTPConnection):
    """HTTP to a socket in a folder."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost")
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(self._path))


def etcd(control_plane: ControlPlane, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
    """Asks etcd through its JSON gateway."""
    connection = UnixConnection(control_plane.folder / "etcd.sock")
    connection.request("POST", path, json.dumps(body))
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    assert answer.status == 200, text
    found: dict[str, Any] = json.loads(text)
    return found


def compact(control_plane: ControlPlane) -> None:
    """Lets etcd forget every version but the last, and the API server hear of it: it keeps versions, too."""
    revision = etcd(control_plane, "/v3/kv/range", {"key": base64("x")})["header"]["revision"]
    etcd(control_plane, "/v3/kv/put", {"key": base64("compact_rev_key"), "value": base64(revision)})
    etcd(control_plane, "/v3/kv/compaction", {"revision": revision, "physical": True})


def base64(text: str) -> str:
    return b64encode(text.encode()).decode()


def status_of_page(control_plane: ControlPlane, token: str) -> int:
    return control_plane.api().request("GET", "/api/v1/nodes", query={"limit": "7", "continue": token}).status


def documented_roles() -> dict[str, dict[str, Any]]:
    """The roles of the docs by name."""
    blocks = re.findall(r"^```yaml\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    documents = [document for block in blocks for document in yaml.safe_load_all(block)]
    return {each["metadata"]["name"]: each for each in documents if each["kind"] == "ClusterRole"}


def rules(role: str, *, without: str = "") -> list[dict[str, Any]]:
    """The rules of a documented role, one right each, less one ("verb resource")."""
    return [
        {"apiGroups": rule["apiGroups"], "resources": [resource], "verbs": [verb]}
        for rule in documented_roles()[role]["rules"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        if f"{verb} {resource}" != without
    ]


@pytest.fixture(scope="module")
def account(control_plane: ControlPlane) -> Iterator[Identity]:
    """A service account in a namespace of its own, as it proves itself in a pod."""
    control_plane.add_namespace(ACCOUNT)
    metadata = {"name": ACCOUNT, "namespace": ACCOUNT}
    control_plane.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    path = f"/api/v1/namespaces/{ACCOUNT}/serviceaccounts/{ACCOUNT}/token"
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    answer = control_plane.api().request("POST", path, request)
    assert answer.accepted, answer.message
    yield Identity(user=f"system:serviceaccount:{ACCOUNT}:{ACCOUNT}", token=answer.body["status"]["token"])
    control_plane.delete_namespace(ACCOUNT)


@contextmanager
def granted(control_plane: ControlPlane, granted_rules: list[dict[str, Any]]) -> Iterator[None]:
    """Lets the account do what the rules allow, and no more."""
    header = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": {"name": ACCOUNT}}
    role = {**header, "kind": "ClusterRole", "rules": granted_rules}
    binding = {
        **header,
        "kind": "ClusterRoleBinding",
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": ACCOUNT},
        "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": ACCOUNT}],
    }
    control_plane.apply([role, binding])
    try:
        yield
    finally:
        control_plane.api().delete(binding)
        control_plane.api().delete(role)


def as_account(control_plane: ControlPlane, identity: Identity, folder: Path) -> LiveCluster:
    file = folder / "kubeconfig"
    file.write_text(kubeconfig_text(identity, control_plane.server, control_plane.certificate_authority))
    return connect(kubeconfig=str(file), environ={})


def read_all(live: LiveCluster) -> None:
    list(live.nodes()), list(live.pods()), list(live.namespaces())


def change(live: LiveCluster) -> None:
    live.api.get("/api/v1/nodes/gpu-001")
    patch = {"metadata": {"labels": {"touched": "yes"}}}
    live.api.patch("/api/v1/nodes/gpu-001", patch, PatchKind.MERGE, {"dryRun": "All"})
    applied = {**node_manifest("gpu-001"), **patch, "metadata": {"name": "gpu-001", **patch["metadata"]}}
    query = {"dryRun": "All", "fieldManager": "gpupolicy", "force": "true"}
    live.api.patch("/api/v1/nodes/gpu-001", applied, PatchKind.APPLY, query)


class TestRights:
    @pytest.fixture(autouse=True)
    def _one_node(self, control_plane: ControlPlane) -> None:
        control_plane.add_nodes(1, gpus=8)

    def test_the_documented_roles_suffice(self, control_plane, account, namespace, tmp_path):
        control_plane.create(pod("p", 1), namespace)
        every = [rule for role in ("gpupolicy-view", "gpupolicy-nodes", "gpupolicy-drain") for rule in rules(role)]
        live = as_account(control_plane, account, tmp_path)
        with granted(control_plane, every):
            wait_for(lambda: is_let_in(live, "pods/eviction"), message="the rights in force")
            read_all(live)
            change(live)
            live.api.get(f"/api/v1/namespaces/{namespace}/pods/p")
            live.api.post(f"/api/v1/namespaces/{namespace}/pods/p/eviction", eviction("p", namespace))

    def test_the_documented_role_for_workloads_suffices(self, control_plane, account, tmp_path):
        live = as_account(control_plane, account, tmp_path)
        every = rules("gpupolicy-audit")
        with granted(control_plane, every):
            wait_for(
                lambda: is_let_in(live, "resourceclaimtemplates", "resource.k8s.io"), message="the rights in force"
            )
            for rule in every:
                list(live.api.list(f"/apis/{rule['apiGroups'][0]}/v1/{rule['resources'][0]}"))

    @pytest.mark.parametrize(
        ("role", "missing"),
        [
            ("gpupolicy-view", "list nodes"),
            ("gpupolicy-view", "list pods"),
            ("gpupolicy-view", "list namespaces"),
            ("gpupolicy-nodes", "get nodes"),
            ("gpupolicy-nodes", "patch nodes"),
        ],
    )
    def test_a_missing_right_is_named_as_the_rule_to_add(self, role, missing, control_plane, account, tmp_path):
        verb, resource = missing.split()
        live = as_account(control_plane, account, tmp_path)
        left = rules(role, without=missing)
        with granted(control_plane, left):
            other = left[-1]["resources"][0], left[-1]["verbs"][0]
            wait_for(lambda: is_let_in(live, other[0], verb=other[1]), message="the rights in force")
            with pytest.raises(ForbiddenError) as caught:
                read_all(live) if role == "gpupolicy-view" else change(live)

        assert str(caught.value) == (
            f"context test: user system:serviceaccount:{ACCOUNT}:{ACCOUNT} may not {missing} (403); missing is the "
            f'RBAC rule {{apiGroups: [""], resources: [{resource}], verbs: [{verb}]}} in a ClusterRole '
            "(see docs/cluster-access.md)"
        )

    def test_impersonation_of_a_kubeconfig_is_kept_to(self, control_plane):
        """A kubelet's rights, though the token is the administrator's."""
        live = connect(kubeconfig=str(control_plane.kubeconfig("system:node:gpu-001")), environ={})

        with pytest.raises(ForbiddenError, match=r"user system:node:gpu-001 may not list namespaces \(403\)"):
            list(live.namespaces())


def eviction(name: str, namespace: str) -> dict[str, Any]:
    return {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": namespace}}


def is_let_in(live: LiveCluster, resource: str, group: str = "", verb: str = "") -> bool:
    """Whether the API server has heard of the rights: it answers by a cache."""
    name, _, subresource = resource.partition("/")
    attributes = {"group": group, "resource": name, "verb": verb or ("create" if subresource else "list")}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {**attributes, "subresource": subresource}},
    }
    answer: Any = live.api.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", review)
    return bool(answer["status"]["allowed"])


def signed(control_plane: ControlPlane, claims: Mapping[str, Any]) -> str:
    """A token of a service account with these claims, as the API server signs them (JWT, ES256)."""
    key = load_pem_private_key((control_plane.folder / "service-accounts.key").read_bytes(), None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    text = b".".join(unpadded(json.dumps(part).encode()) for part in ({"alg": "ES256", "typ": "JWT"}, claims))
    numbers = decode_dss_signature(key.sign(text, ec.ECDSA(hashes.SHA256())))
    signature = b"".join(number.to_bytes(32, "big") for number in numbers)
    return (text + b"." + unpadded(signature)).decode()


def unpadded(data: bytes) -> bytes:
    return urlsafe_b64encode(data).rstrip(b"=")


class TestNotLetIn:
    def test_an_unknown_token_is_told_as_such(self, control_plane, tmp_path):
        live = as_account(control_plane, Identity(user="x", token="expired-long-ago"), tmp_path)

        with pytest.raises(UnauthorizedError, match=r"^context test: the API server does not know who asks \(401\)"):
            list(live.nodes())

    def test_a_token_that_has_expired_too(self, control_plane, account, tmp_path):
        """Signed by the API server's own key, and good until an hour ago."""
        payload = account.token.split(".")[1]
        claims = json.loads(urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        moved = {key: claims[key] - 7200 for key in ("exp", "iat", "nbf")}
        token = signed(control_plane, {**claims, **moved})
        live = as_account(control_plane, Identity(user="x", token=token), tmp_path)

        with pytest.raises(UnauthorizedError, match=r"the credentials are missing, wrong or expired$"):
            list(live.nodes())
        with pytest.raises(ForbiddenError):
            list(as_account(control_plane, Identity(user="x", token=signed(control_plane, claims)), tmp_path).nodes())

    def test_who_shows_nothing_is_told_that_no_credentials_were_sent(self, control_plane, tmp_path):
        config = json.loads(control_plane.kubeconfig().read_text())
        config["users"][0]["user"] = {}
        (tmp_path / "kubeconfig").write_text(json.dumps(config))

        with pytest.raises((ForbiddenError, UnauthorizedError), match=r"no credentials were sent|\(401\)"):
            list(connect(kubeconfig=str(tmp_path / "kubeconfig"), environ={}).nodes())

    def test_a_certificate_of_another_authority_is_not_trusted(self, control_plane, tmp_path):
        config = json.loads(control_plane.kubeconfig().read_text())
        del config["clusters"][0]["cluster"]["certificate-authority"]
        (tmp_path / "kubeconfig").write_text(json.dumps(config))

        with pytest.raises(ConnectionFailedError, match=r"^no trusted connection to https://127\.0\.0\.1:\d+ "):
            list(connect(kubeconfig=str(tmp_path / "kubeconfig"), environ={}).nodes())


def test_a_budget_that_allows_no_eviction_is_told_as_such(control_plane, live, namespace):
    control_plane.add_nodes(1, gpus=8)
    control_plane.create({**pod("p", 1, labels={"app": "x"}, nodeName="gpu-001")}, namespace)
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "all", "namespace": namespace},
        "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "x"}}},
    }
    control_plane.apply(budget)
    control_plane.act_as_kubelets(namespace)  # a pod that does not run is evicted whatever a budget says

    with pytest.raises(TooManyRequestsError, match=r"(?i)disruption budget"):
        live.api.post(f"/api/v1/namespaces/{namespace}/pods/p/eviction", eviction("p", namespace))

"""Who talks to the test control plane: tokens of the fixed users, impersonation for everybody else."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kubernetes import client as kubernetes_client

ADMIN = "admin"
CONTROLLER_MANAGER = "system:kube-controller-manager"
SCHEDULER = "system:kube-scheduler"

FIXED_USERS: Mapping[str, Sequence[str]] = {
    ADMIN: ("system:masters",),
    CONTROLLER_MANAGER: ("system:masters",),
    SCHEDULER: (),  # what Kubernetes' own roles give it, no more: so a missing role of ours is seen
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """How one user proves who they are."""

    user: str
    token: str
    impersonates: bool = False
    groups: Sequence[str] = ()  # of an impersonated user; the API server adds those of service accounts itself


@dataclass
class Identities:
    """The users of one control plane."""

    users: Mapping[str, Sequence[str]] = field(default_factory=dict)  # more users with tokens: name -> groups

    def __post_init__(self) -> None:
        self._groups = {**FIXED_USERS, **self.users}
        self._tokens = {user: secrets.token_hex(16) for user in self._groups}

    def write_token_file(self, path: Path) -> None:
        """Write kube-apiserver's --token-auth-file."""
        path.touch(mode=0o600)
        path.write_text("".join(f"{self._token_line(user)}\n" for user in self._tokens))

    def _token_line(self, user: str) -> str:
        """Token, name, uid and, only if there are any, groups."""
        groups = ",".join(self._groups[user])
        return f"{self._tokens[user]},{user},{user}" + (f',"{groups}"' if groups else "")

    def identity(self, user: str) -> Identity:
        """The identity of any user: a fixed one's token, else the administrator's with impersonation.

        A kubelet ``system:node:<name>`` is in ``system:nodes``. Users with other groups are given to ControlPlane.
        """
        if user in self._tokens:
            return Identity(user=user, token=self._tokens[user])
        groups = ("system:nodes",) if user.startswith("system:node:") else ()
        return Identity(user=user, token=self._tokens[ADMIN], impersonates=True, groups=groups)


def kubeconfig_text(identity: Identity, server: str, certificate_authority: Path) -> str:
    """A kubeconfig for kubectl and the servers (JSON, which is YAML)."""
    user: dict[str, object] = {"token": identity.token}
    if identity.impersonates:
        user |= {"as": identity.user, "as-groups": list(identity.groups)}
    cluster = {"server": server, "certificate-authority": str(certificate_authority)}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": cluster}],
        "users": [{"name": identity.user, "user": user}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": identity.user}}],
        "current-context": "test",
    }
    return json.dumps(config, indent=2)


def api_client(identity: Identity, server: str, certificate_authority: Path) -> kubernetes_client.ApiClient:
    """The official client as this user, for its typed APIs."""
    configuration = kubernetes_client.Configuration()
    configuration.host = server
    configuration.ssl_ca_cert = str(certificate_authority)
    configuration.proxy = None
    client = kubernetes_client.ApiClient(configuration)
    for name, value in headers(identity).items():
        client.set_default_header(name, value)
    return client


def headers(identity: Identity) -> dict[str, str]:
    """The request headers that make a request this user's."""
    found = {"Authorization": f"Bearer {identity.token}"}
    if identity.impersonates:
        found["Impersonate-User"] = identity.user
        if identity.groups:
            (found["Impersonate-Group"],) = identity.groups  # a second one would need a second header line
    return found

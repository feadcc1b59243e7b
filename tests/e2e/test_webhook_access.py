"""What the webhook's account may do: what is compiled, and nothing else that anybody could think of."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from e2e.controlplane import ControlPlane
from e2e.governed import of_kinds
from e2e.product import variant

from gpupolicy import compile, load

VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "bind", "escalate", "use")
ADMISSION, RBAC = "admissionregistration.k8s.io", "rbac.authorization.k8s.io"
OWN, OTHER, EVERYWHERE = "own", "kube-system", ""
SECRET, CONFIGURATION = "webhook-certificates", "gpupolicy-classic"

# group, resource, subresource, namespace, name ("": all of them)
THINGS: tuple[tuple[str, str, str, str, str], ...] = (
    ("", "secrets", "", OWN, SECRET),
    ("", "secrets", "", OWN, "another"),
    ("", "secrets", "", OWN, ""),
    ("", "secrets", "", OTHER, SECRET),
    ("", "secrets", "", EVERYWHERE, ""),
    ("", "configmaps", "", OWN, ""),
    ("", "configmaps", "", OWN, "gpupolicy-webhook"),
    ("", "serviceaccounts", "", OWN, ""),
    ("", "serviceaccounts", "token", OWN, "gpupolicy-webhook"),
    ("", "pods", "", OWN, ""),
    ("", "pods", "", EVERYWHERE, ""),
    ("", "pods", "exec", OWN, ""),
    ("", "pods", "eviction", EVERYWHERE, ""),
    ("", "nodes", "", EVERYWHERE, ""),
    ("", "nodes", "proxy", EVERYWHERE, ""),
    ("", "namespaces", "", EVERYWHERE, ""),
    ("", "namespaces", "", EVERYWHERE, "default"),
    ("", "events", "", OWN, ""),
    ("apps", "deployments", "", OWN, ""),
    ("coordination.k8s.io", "leases", "", OWN, ""),
    ("certificates.k8s.io", "certificatesigningrequests", "", EVERYWHERE, ""),
    ("authentication.k8s.io", "tokenreviews", "", EVERYWHERE, ""),
    ("authorization.k8s.io", "subjectaccessreviews", "", EVERYWHERE, ""),
    ("apiextensions.k8s.io", "customresourcedefinitions", "", EVERYWHERE, ""),
    (RBAC, "roles", "", OWN, ""),
    (RBAC, "clusterroles", "", EVERYWHERE, ""),
    (RBAC, "clusterrolebindings", "", EVERYWHERE, ""),
    *(
        (ADMISSION, f"{kind}webhookconfigurations", "", EVERYWHERE, CONFIGURATION)
        for kind in ("mutating", "validating")
    ),
    *((ADMISSION, f"{kind}webhookconfigurations", "", EVERYWHERE, "another") for kind in ("mutating", "validating")),
    *((ADMISSION, f"{kind}webhookconfigurations", "", EVERYWHERE, "") for kind in ("mutating", "validating")),
    (ADMISSION, "validatingadmissionpolicies", "", EVERYWHERE, ""),
    ("*", "*", "", EVERYWHERE, ""),
)

Allowed = set[tuple[str, str, str]]
FOLLOWS_NAMESPACES: Allowed = {(verb, "namespaces", name) for verb in ("list", "watch") for name in ("", "default")}
MANAGES_CERTIFICATES: Allowed = {
    *((verb, f"{OWN}/secrets", SECRET) for verb in ("get", "update")),
    *(
        (verb, f"{kind}webhookconfigurations", CONFIGURATION)
        for kind in ("mutating", "validating")
        for verb in ("get", "patch")
    ),
}


def plain(spec: dict[str, Any]) -> None:
    """The account of a policy that needs nothing of the cluster."""


def by_labels(spec: dict[str, Any]) -> None:
    selector = {"matchLabels": {"team": "drivers"}}
    spec["admission"]["exemptions"].append({"namespaceSelector": selector, "reason": "they test odd sizes"})


def managed(spec: dict[str, Any]) -> None:
    spec.setdefault("webhook", {})["certificates"] = {"mode": "selfManaged", "secretName": SECRET}


def both(spec: dict[str, Any]) -> None:
    by_labels(spec)
    managed(spec)


@pytest.fixture
def grant(control_plane: ControlPlane, tmp_path: Path) -> Iterator[Callable[..., tuple[str, str]]]:
    """Applies the compiled account and its rights; gives namespace and user."""
    applied: list[Mapping[str, Any]] = []
    own = f"e2e-system-{secrets.token_hex(4)}"

    def apply(change: Callable[[dict[str, Any]], None]) -> tuple[str, str]:
        def placed(spec: dict[str, Any]) -> None:
            spec["webhook"] = {"namespace": own}
            change(spec)

        policy = load(variant("classic", tmp_path, placed))
        documents = compile(policy, ("webhook",))
        control_plane.apply(of_kinds(documents, "Namespace"))
        control_plane.apply(of_kinds(documents, "ServiceAccount", "Role", "RoleBinding"))
        applied.extend(of_kinds(documents, "ClusterRole", "ClusterRoleBinding"))
        control_plane.apply(applied)
        return own, f"system:serviceaccount:{own}:{policy.webhook.name}"

    yield apply
    for document in applied:
        control_plane.api().delete(document)
    control_plane.delete_namespace(own)


def allowed(plane: ControlPlane, own: str, user: str) -> Allowed:
    """What the API server says the account may do, of all that is asked."""
    found: Allowed = set()
    for group, resource, subresource, place, name in THINGS:
        for verb in VERBS:
            namespace = own if place == OWN else place
            attributes = {
                "verb": verb,
                "group": group,
                "resource": resource,
                "subresource": subresource,
                "namespace": namespace,
                "name": name,
            }
            groups = ["system:serviceaccounts", f"system:serviceaccounts:{own}", "system:authenticated"]
            review = {
                "apiVersion": "authorization.k8s.io/v1",
                "kind": "SubjectAccessReview",
                "spec": {"user": user, "groups": groups, "resourceAttributes": attributes},
            }
            answer = plane.api().request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
            assert answer.accepted, answer.message
            if answer.body["status"]["allowed"]:
                found.add((verb, f"{place}/{resource}" if place else resource, name))
    return found


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(plain, set(), id="plain"),
        pytest.param(by_labels, FOLLOWS_NAMESPACES, id="follows-namespaces"),
        pytest.param(managed, MANAGES_CERTIFICATES, id="manages-certificates"),
        pytest.param(both, FOLLOWS_NAMESPACES | MANAGES_CERTIFICATES, id="both"),
    ],
)
def test_the_account_may_do_what_it_needs_and_nothing_else(
    change: Callable[[dict[str, Any]], None],
    expected: Allowed,
    grant: Callable[..., tuple[str, str]],
    control_plane: ControlPlane,
) -> None:
    own, user = grant(change)

    assert allowed(control_plane, own, user) == expected

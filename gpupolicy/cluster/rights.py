"""Which RBAC rule a request needs, told as the line that is missing in a role."""

from __future__ import annotations

from dataclasses import dataclass

_VERBS = {"WATCH": "watch", "PATCH": "patch", "POST": "create", "PUT": "update", "DELETE": "delete"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Right:
    """What a request asks to be allowed; ``namespace`` is empty for the whole cluster."""

    verb: str
    group: str
    resource: str
    namespace: str = ""

    @property
    def rule(self) -> str:
        """The rule as it stands in a role."""
        group = self.group or '""'
        return f"{{apiGroups: [{group}], resources: [{self.resource}], verbs: [{self.verb}]}}"

    @property
    def where(self) -> str:
        """Which role may hold the rule."""
        return f"a Role in namespace {self.namespace} or a ClusterRole" if self.namespace else "a ClusterRole"


def find_right(method: str, path: str) -> Right | None:
    """Returns the right that a request needs; None for paths that are no resource, such as /version.

    Args:
        method: GET, PATCH, POST, ...; WATCH is a GET that goes on.
        path: such as ``/apis/apps/v1/namespaces/team-a/deployments/web/scale``.

    Source: kubernetes.io/docs/reference/access-authn-authz/authorization, "Determine the request verb".
    """
    parts = [part for part in path.split("/") if part]
    if parts[:1] == ["api"]:
        group, rest = "", parts[2:]
    elif parts[:1] == ["apis"]:
        group, rest = (parts[1] if len(parts) > 1 else ""), parts[3:]
    else:
        return None
    namespace = ""
    if rest[:1] == ["namespaces"] and len(rest) > 2:
        namespace, rest = rest[1], rest[2:]
    if not rest:
        return None
    resource = "/".join([rest[0], *rest[2:3]])
    verb = _VERBS.get(method, "get" if len(rest) > 1 else "list")
    return Right(verb=verb, group=group, resource=resource, namespace=namespace)

"""``admit``: the door for Python programs, which refuses what the Python client makes of pods; then ``decide``."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from gpupolicy.admission.claims import NO_CLAIMS, Claims
from gpupolicy.admission.decision import Decision, decide
from gpupolicy.errors import UsageError
from gpupolicy.model import Policy
from gpupolicy.node import AS_PRINTED
from gpupolicy.pod import JSONMap

OPERATIONS = ("CREATE", "UPDATE", "DELETE", "CONNECT")


def admit(
    policy: Policy,
    pod: JSONMap,
    *,
    operation: str = "CREATE",
    old: JSONMap | None = None,
    namespace: str | None = None,
    namespace_labels: Mapping[str, str] | None = None,
    now: datetime | None = None,
    subresource: str = "",
    username: str | None = None,
    owner_kind: str | None = None,
    final: bool = False,
    claims: Claims = NO_CLAIMS,
) -> Decision:
    """Decides on one pod.

    Args:
        policy: the policy.
        pod: the pod as the API has it; for a template, its metadata and spec.
        operation: CREATE, UPDATE, DELETE or CONNECT; only the first two are judged.
        old: the pod before an UPDATE.
        namespace: the request's namespace; default the pod's own, else ``default``.
        namespace_labels: labels of the namespace.
        now: the moment by which exemptions expire; None: none expires.
        subresource: as in the review; a pod's subresources are never judged.
        username: who asks; None offline, where ownerReferences are believed.
        owner_kind: kind of the workload that a template belongs to.
        final: the pod is in its final form, so a missing routing is a violation.
        claims: the resource claims and claim templates that are known, by kind, namespace and name; devices of others
            are not counted, which is remarked.

    Returns:
        The decision. A pod of the wrong shape is denied.

    Raises:
        UsageError: there is no such operation; or ``pod`` or ``old`` is an object of the Python client, or what its
            ``to_dict()`` makes of one: with names such as ``node_name`` it would be read as if its fields were not
            there.
    """
    if operation not in OPERATIONS:  # it would pass as one that is not judged
        raise UsageError(f'there is no operation "{operation}"; known are {", ".join(OPERATIONS)}')
    _refuse_client_object("pod", pod)
    if old is not None:
        _refuse_client_object("old pod", old)
    return decide(
        policy,
        pod,
        operation=operation,
        old=old,
        namespace=namespace,
        namespace_labels=namespace_labels,
        now=now,
        subresource=subresource,
        username=username,
        owner_kind=owner_kind,
        final=final,
        claims=claims,
    )


def _refuse_client_object(what: str, pod: JSONMap) -> None:
    """Raises UsageError; a ``to_dict()`` has every name of its class, so one of each class tells."""
    if isinstance(pod, (dict, Mapping)):  # dict first: the abstract test is slow
        if "api_version" in pod:
            raise UsageError(f"the {what} has api_version in the place of apiVersion; {AS_PRINTED}")
        spec = pod.get("spec")
        if isinstance(spec, (dict, Mapping)):
            if "node_name" in spec:  # of a template, which has no version
                raise UsageError(f"the {what} has spec.node_name in the place of spec.nodeName; {AS_PRINTED}")
        elif hasattr(spec, "to_dict"):
            raise UsageError(f"the spec of the {what} is of type {type(spec).__name__}; {AS_PRINTED}")
    elif hasattr(pod, "to_dict"):
        raise UsageError(f"the {what} is of type {type(pod).__name__}; {AS_PRINTED}")

"""Objects that make pods, and resource claims: what a dump holds of them, or the built-in ones of a cluster."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from urllib.parse import quote

from gpupolicy.admission.claims import CLAIM, CLAIM_GROUP, TEMPLATE, ClaimKey, index_claims
from gpupolicy.cluster.dumps import Dumps
from gpupolicy.cluster.errors import ForbiddenError, NotFoundError
from gpupolicy.cluster.live import LiveCluster
from gpupolicy.cluster.source import OnNote, ignore_note
from gpupolicy.node import JSONMap

# Kind to the path of its list, below /apis/. ReplicaSets are left out: there are many, and their names say enough.
_BUILT_IN = {
    "Deployment": ("apps/v1", "deployments"),
    "StatefulSet": ("apps/v1", "statefulsets"),
    "DaemonSet": ("apps/v1", "daemonsets"),
    "CronJob": ("batch/v1", "cronjobs"),
    "Job": ("batch/v1", "jobs"),
    CLAIM: ("resource.k8s.io/v1", "resourceclaims"),
    TEMPLATE: ("resource.k8s.io/v1", "resourceclaimtemplates"),
}
CLAIM_KINDS = (CLAIM, TEMPLATE)


def read_workloads(
    source: Dumps | LiveCluster, kinds: Collection[str], *, namespace: str | None = None, on_note: OnNote = ignore_note
) -> Iterator[JSONMap]:
    """Yields objects of some kinds.

    Args:
        source: dumps, or a cluster, which is asked for built-in kinds alone.
        kinds: their names.
        namespace: only objects in it.
        on_note: is told which kinds could not be read, because the rights are missing; the others are.
    """
    if isinstance(source, Dumps):
        for each in source.objects(kinds):
            metadata = each.get("metadata")
            own = metadata.get("namespace") if isinstance(metadata, dict) else None
            if namespace is None or (own or "default") == namespace:
                yield each
        return
    for kind, (version, resource) in _BUILT_IN.items():
        if kind in kinds:
            yield from _list(source, version, resource, namespace, on_note)


def read_claims(
    source: Dumps | LiveCluster, *, namespace: str | None = None, on_note: OnNote = ignore_note
) -> dict[ClaimKey, JSONMap]:
    """Returns the resource claims and claim templates, by what pods call them; arguments as of ``read_workloads``."""
    return index_claims(read_workloads(source, CLAIM_KINDS, namespace=namespace, on_note=on_note))


def _list(
    cluster: LiveCluster, version: str, resource: str, namespace: str | None, on_note: OnNote
) -> Iterator[JSONMap]:
    inside = f"/namespaces/{quote(namespace, safe='')}" if namespace is not None else ""
    try:
        yield from cluster.api.list(f"/apis/{version}{inside}/{resource}")
    except ForbiddenError as error:
        is_claim = version.startswith(CLAIM_GROUP)
        lost = (
            f"the devices of {resource} are not counted" if is_claim else f"{resource} are not judged, only their pods"
        )
        on_note(f"warning: {lost}: {error}")
    except NotFoundError:  # an older Kubernetes, without this API
        return

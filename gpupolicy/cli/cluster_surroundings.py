"""What pods of a cluster do not say, and the verbs that read it have to know: labels, claims, the time."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from gpupolicy.admission.claims import NO_CLAIMS, Claims
from gpupolicy.cli.streams import Streams
from gpupolicy.cluster.dumps import Dumps
from gpupolicy.cluster.live import LiveCluster
from gpupolicy.cluster.workloads import read_claims
from gpupolicy.manifests.namespaces import NamespaceLabels, index_namespace_labels
from gpupolicy.model import Policy

_NO_NAMESPACE = (
    "selects namespaces by their labels, and no Namespace was read, so none has any: dump them as well, as in "
    "kubectl get nodes,pods,namespaces -A -o json"
)


def read_namespace_labels(policy: Policy, source: Dumps | LiveCluster, streams: Streams) -> NamespaceLabels:
    """Returns the labels of namespaces by name; of none where the policy does not ask for them. A lack is told."""
    if not policy.uses_namespace_labels:
        return {}
    found = index_namespace_labels(source.namespaces())
    if not found:
        place = policy.cite(*policy.namespace_label_fields[0])
        streams.tell(f"warning: {place} {_NO_NAMESPACE}")
    return found


def read_known_claims(policy: Policy, source: Dumps | LiveCluster, streams: Streams) -> Claims:
    """Returns the resource claims; none where no GPU type is had through them. A right that is missing is told."""
    return read_claims(source, on_note=streams.tell) if policy.uses_device_classes else NO_CLAIMS


@contextmanager
def garbage_collection_paused() -> Iterator[None]:
    """Lets no search for cycles begin: there are none, and of 150,000 pods each search costs half a second."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()

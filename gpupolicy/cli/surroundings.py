"""What surrounds manifests on the command line: the clock, claims and labels of namespaces in any of the files."""

from __future__ import annotations

from gpupolicy.cli.inputs import Manifests, current_time
from gpupolicy.manifests.claims import find_claims
from gpupolicy.manifests.judgement import Surroundings
from gpupolicy.manifests.namespaces import find_namespace_labels
from gpupolicy.model import Policy


def read_surroundings(policy: Policy, manifests: Manifests, namespace: str) -> Surroundings:
    """Returns what the manifests that arguments name do not say; ``namespace`` is that of objects without one."""
    return Surroundings(
        namespace=namespace,
        now=current_time(),
        claims=find_claims(manifests.files, manifests.standard_input, namespace=namespace),
        namespace_labels=find_namespace_labels(policy, manifests.files, manifests.standard_input),
    )

"""What surrounds manifests on the command line: the clock, and the resource claims that stand in any of the files."""

from __future__ import annotations

from gpupolicy.cli.inputs import Manifests, current_time
from gpupolicy.manifests.claims import find_claims
from gpupolicy.manifests.judgement import Surroundings


def read_surroundings(manifests: Manifests, namespace: str) -> Surroundings:
    """Returns what the manifests that arguments name do not say; ``namespace`` is that of objects without one."""
    claims = find_claims(manifests.files, manifests.standard_input, namespace=namespace)
    return Surroundings(namespace=namespace, now=current_time(), claims=claims)

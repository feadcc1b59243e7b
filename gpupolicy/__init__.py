"""Policy as code for GPU clusters on Kubernetes: lint, compile, admit, foresee.

Heavy rooms (YAML, JSON Schema, Flask) open on first use, so that ``import gpupolicy`` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from gpupolicy.errors import Finding, GPUPolicyError, InputError, LocatedFinding, PolicyError, Severity

if TYPE_CHECKING:
    from gpupolicy.admission import Decision as Decision
    from gpupolicy.admission import Placement as Placement
    from gpupolicy.admission import admit as admit
    from gpupolicy.assignment import assign as assign
    from gpupolicy.compiler import compile as compile
    from gpupolicy.linting import lint as lint
    from gpupolicy.loading import load as load
    from gpupolicy.loading import load_text as load_text
    from gpupolicy.model import Policy as Policy

__all__ = [
    "Decision",
    "Finding",
    "GPUPolicyError",
    "InputError",
    "LocatedFinding",
    "Placement",
    "Policy",
    "PolicyError",
    "Severity",
    "admit",
    "assign",
    "compile",
    "lint",
    "load",
    "load_text",
]

__version__ = "0.1.0"

_HOMES = {
    "Decision": "gpupolicy.admission",
    "Placement": "gpupolicy.admission",
    "Policy": "gpupolicy.model",
    "admit": "gpupolicy.admission",
    "assign": "gpupolicy.assignment",
    "compile": "gpupolicy.compiler",
    "lint": "gpupolicy.linting",
    "load": "gpupolicy.loading",
    "load_text": "gpupolicy.loading",
}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'gpupolicy' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

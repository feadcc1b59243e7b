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
    from gpupolicy.assignment import Change as Change
    from gpupolicy.assignment import Plan as Plan
    from gpupolicy.assignment import assign as assign
    from gpupolicy.auditing import audit as audit
    from gpupolicy.compiler import compile as compile
    from gpupolicy.inventory import Capacity as Capacity
    from gpupolicy.inventory import capacity as capacity
    from gpupolicy.linting import lint as lint
    from gpupolicy.loading import load as load
    from gpupolicy.loading import load_text as load_text
    from gpupolicy.model import Policy as Policy
    from gpupolicy.model import Taint as Taint

__all__ = [
    "Capacity",
    "Change",
    "Decision",
    "Finding",
    "GPUPolicyError",
    "InputError",
    "LocatedFinding",
    "Placement",
    "Plan",
    "Policy",
    "PolicyError",
    "Severity",
    "Taint",
    "admit",
    "assign",
    "audit",
    "capacity",
    "compile",
    "lint",
    "load",
    "load_text",
]

__version__ = "0.1.0"

_HOMES = {
    "Capacity": "gpupolicy.inventory",
    "Change": "gpupolicy.assignment",
    "Decision": "gpupolicy.admission",
    "Placement": "gpupolicy.admission",
    "Plan": "gpupolicy.assignment",
    "Policy": "gpupolicy.model",
    "Taint": "gpupolicy.model",
    "admit": "gpupolicy.admission",
    "assign": "gpupolicy.assignment",
    "audit": "gpupolicy.auditing",
    "capacity": "gpupolicy.inventory",
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

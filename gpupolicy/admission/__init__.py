"""Admission: one decision for one pod. ``admit`` is what every surface asks; the other modules are how it decides.

The way of a pod: ``scope`` (is it judged), ``counting`` (how many GPUs), ``judging`` (number, access, place,
scheduler; with ``placement`` and ``wishes``), ``route`` and ``routing`` (the patch), ``enforcement`` (deny, warn or
audit), ``decision`` (the answer).
"""

from gpupolicy.admission.decision import Decision, Placement, admit
from gpupolicy.admission_rules import ADMISSION_RULES

__all__ = ["ADMISSION_RULES", "Decision", "Placement", "admit"]

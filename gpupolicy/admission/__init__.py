"""Admission: one decision for one pod. ``decide`` is what every surface asks; the other modules are how it decides.

Programs in Python come in through ``admit`` (``door``), which refuses objects of the Python client first.

The way of a pod: ``scope`` (is it judged), ``counting`` (how many GPUs), ``judging`` (number, access, place,
scheduler; with ``placement``, ``wishes`` and ``dead_ends``), ``route`` and ``routing`` (the patch), ``enforcement``
(deny, warn or audit), ``decision`` (the answer).
"""

from gpupolicy.admission.decision import Decision, Placement, decide
from gpupolicy.admission.door import admit
from gpupolicy.admission_rules import ADMISSION_RULES

__all__ = ["ADMISSION_RULES", "Decision", "Placement", "admit", "decide"]

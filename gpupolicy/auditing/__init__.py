"""Judges what runs, by owner: who would be denied, lacks its routing or is misplaced. Takes pods, returns values."""

from gpupolicy.auditing.auditor import Auditor, audit
from gpupolicy.auditing.judging import Surroundings
from gpupolicy.auditing.report import AuditedOwner, AuditReport, AuditVerdict

__all__ = ["AuditReport", "AuditVerdict", "AuditedOwner", "Auditor", "Surroundings", "audit"]

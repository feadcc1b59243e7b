"""All rules about foreign files, for the pages and tests that speak of every one; linting loads what a file needs."""

from __future__ import annotations

from gpupolicy.linting.foreign import nodes, scheduler, webhooks
from gpupolicy.linting.foreign.findings import Rule
from gpupolicy.linting.foreign.shapes import SHAPE_RULES
from gpupolicy.linting.foreign.stream_rules import STREAM_RULES

__all__ = ["RULES", "SHAPE_RULES", "STREAM_RULES"]

RULES: tuple[Rule, ...] = (*scheduler.RULES, *webhooks.RULES, *nodes.RULES)

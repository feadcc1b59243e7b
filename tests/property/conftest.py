"""Settings of the property tests: the same examples every time, and no deadline, because a shared machine may be slow.

HYPOTHESIS_PROFILE=search looks for new examples, many more of them; brief is for a further Python.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

COSTLY = [HealthCheck.too_slow, HealthCheck.filter_too_much]

settings.register_profile("repeatable", derandomize=True, deadline=None, database=None, suppress_health_check=COSTLY)
settings.register_profile("brief", settings.get_profile("repeatable"), max_examples=15)
settings.register_profile("search", max_examples=2000, deadline=None, database=None, suppress_health_check=COSTLY)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))

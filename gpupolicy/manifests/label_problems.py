"""What Kubernetes refuses in the keys and values of labels, remembered: the same few stand in thousands of objects."""

from __future__ import annotations

from functools import lru_cache

from gpupolicy.labels import find_label_key_problem, find_label_value_problem

find_key_problem = lru_cache(maxsize=4096)(find_label_key_problem)
find_value_problem = lru_cache(maxsize=4096)(find_label_value_problem)

"""What policies compile to, byte for byte; regenerate.py beside this file writes it anew."""

from __future__ import annotations

import pytest
from golden.contents import EXPECTED, compiled, expected, policy_files

POLICIES = sorted(policy_files())


@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_compiles_to_its_golden_files(name: str) -> None:
    assert compiled(name) == expected(name)


def test_there_are_golden_files_for_every_policy_and_no_others() -> None:
    assert sorted(path.name for path in EXPECTED.iterdir()) == POLICIES

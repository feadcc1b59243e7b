"""What policies compile to, byte for byte; regenerate.py beside this file writes it anew."""

from __future__ import annotations

import pytest
from golden.contents import DISCOVERED, DISCOVERED_FLEETS, EXPECTED, compiled, discovered, expected, policy_files

POLICIES = sorted(policy_files())


@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_compiles_to_its_golden_files(name: str) -> None:
    assert compiled(name) == expected(name)


def test_there_are_golden_files_for_every_policy_and_no_others() -> None:
    assert sorted(path.name for path in EXPECTED.iterdir()) == POLICIES


@pytest.mark.parametrize("fleet", DISCOVERED_FLEETS)
def test_init_writes_its_golden_file(fleet: str) -> None:
    assert discovered(fleet) == (DISCOVERED / f"{fleet}.yaml").read_text(encoding="utf-8")

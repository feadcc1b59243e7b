"""Reviews that a real API server sent: each is answered as the table beside them says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from reviewing import ask, groups_of, patch_of

from gpupolicy.patch import apply_patch

REVIEWS = Path(__file__).parents[2] / "data" / "reviews"
EXPECTED = yaml.safe_load((REVIEWS / "expected.yaml").read_text())


def captured(name: str) -> dict:
    return json.loads((REVIEWS / f"{name}.json").read_bytes())


def rules_of(response: dict) -> list[str]:
    return [warning.rpartition("[")[2].rstrip("]") for warning in response.get("warnings", [])]


def test_every_captured_review_has_its_expected_answer():
    assert sorted(EXPECTED) == sorted(path.stem for path in REVIEWS.glob("*.json"))


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_captured_review_is_answered_rightly(name):
    expected = EXPECTED[name]

    response = ask(captured(name))

    assert response["uid"] == captured(name)["request"]["uid"]
    assert response["allowed"] is expected["allowed"]
    assert groups_of(response) == expected.get("group")
    assert rules_of(response) == expected.get("warnings", [])
    assert response.get("status", {}).get("message", "").startswith(expected.get("message", ""))


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_the_validating_path_says_the_same_and_never_patches(name):
    response = ask(captured(name), "/validate")

    assert response["allowed"] is EXPECTED[name]["allowed"]
    assert not {"patch", "patchType"} & set(response)


@pytest.mark.parametrize("name", sorted(name for name, expected in EXPECTED.items() if "group" in expected))
def test_a_pod_that_was_patched_is_not_patched_again_and_passes_the_last_check(name):
    asked = captured(name)
    apply_patch(asked["request"]["object"], patch_of(ask(asked)))

    assert "patch" not in ask(asked)
    assert ask(asked, "/validate/final")["allowed"] is True


def test_a_pod_that_nobody_routed_fails_the_last_check():
    response = ask(captured("009-create-pods-train"), "/validate/final")

    assert "[pod-not-routed]" in response["status"]["message"]

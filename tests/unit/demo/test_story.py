"""The story that ``gpupolicy demo`` tells, with a real webhook process behind it."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from gpupolicy.demo import server as demo_server
from gpupolicy.demo import tell


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> str:
    return "\n".join(tell(tmp_path_factory.mktemp("demo")))


def test_the_webhook_is_started_for_real(story: str) -> None:
    assert re.search(r"3\. gpupolicy serve classic\.yaml: https://127\.0\.0\.1:[1-9]\d+, with a CA made", story)


@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_an_admitted_size_goes_to_its_group(story: str, size: int) -> None:
    assert re.search(rf"{size} GPUs? +allowed  to SLOT-{size}, scheduled by gpu-packing", story)


def test_three_gpus_are_denied_with_the_line_of_the_policy(story: str) -> None:
    assert re.search(r"3 GPUs  denied .* admitted are 1, 2, 4, 8 \(classic\.yaml:\d+\)", story)


def test_spreading_leaves_the_large_pod_waiting(story: str) -> None:
    assert "35 GPUs free, the largest request that fits now: 7; waiting: 8 GPUs" in story


def test_packing_leaves_room_for_it(story: str) -> None:
    assert "    gpu-1  [11111···]\n    gpu-2  [88888888]\n" in story


def test_without_the_packages_of_the_webhook_the_decision_function_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A base install has no Flask; nothing else can play a missing package here."""
    monkeypatch.setattr(
        demo_server, "find_spec", lambda name: None if name == "flask" else importlib.util.find_spec(name)
    )

    told = "\n".join(tell(tmp_path))

    assert "left out, flask is not installed: install the extra webhook of gpupolicy" in told
    assert "3 GPUs  denied" in told

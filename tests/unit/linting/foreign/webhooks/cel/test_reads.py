"""What expressions read of pods; each was evaluated by the API server of 1.37.2 for a pod with one bare container."""

from __future__ import annotations

import pytest

from gpupolicy.linting.foreign.webhooks.cel.reads import find_unguarded
from gpupolicy.linting.foreign.webhooks.cel.syntax import Unreadable, read_expression


def unguarded(*expressions: str, mutating: bool = True) -> dict[int, str]:
    """What the conditions of one hook read without a guard."""
    trees = [tree for tree in map(read_expression, expressions) if not isinstance(tree, Unreadable)]
    assert len(trees) == len(expressions)
    return dict(find_unguarded(trees, mutating=mutating))


@pytest.mark.parametrize(
    ("expression", "read"),
    [
        ("object.spec.containers.exists(c, 'nvidia.com/gpu' in c.resources.limits)", "c.resources.limits"),
        ("object.spec.containers[0].resources.limits['a'] == '1'", "object.spec.containers[...].resources.limits"),
        ("object.metadata.labels['a'] == 'b'", "object.metadata.labels"),
        ("has(object.metadata.labels.a)", "object.metadata.labels"),
        ("has(object.metadata.labels) && object.metadata.labels['a'] == 'b'", "object.metadata.labels['a']"),
        ("has(object.metadata.labels) && object.metadata.labels.a == 'b'", "object.metadata.labels.a"),
        ("object.spec.initContainers.exists(c, true)", "object.spec.initContainers"),
        ("object.spec.nodeName == ''", "object.spec.nodeName"),
        ("object.metadata.name.startsWith('a')", "object.metadata.name"),
        ("request.subResource == ''", "request.subResource"),
    ],
)
def test_what_a_pod_may_lack_needs_a_guard(expression: str, read: str) -> None:
    assert unguarded(expression) == {0: read}


@pytest.mark.parametrize(
    "expression",
    [
        "object.spec.containers.exists(c, has(c.resources.limits) && 'nvidia.com/gpu' in c.resources.limits)",
        "object.spec.containers.exists(c, 'nvidia.com/gpu' in c.resources.?limits.orValue({}))",
        "object.spec.containers.filter(c, has(c.resources.limits)).exists(c, 'a' in c.resources.limits)",
        "has(object.metadata.labels) && 'a' in object.metadata.labels && object.metadata.labels['a'] == 'b'",
        "object.metadata.?labels[?'a'].orValue('') == 'b'",
        "has(object.spec.nodeName) && object.spec.nodeName == 'a'",
        "object.spec.tolerations.exists(t, t.key == 'a')",
        "object.spec.containers.exists(c, has(c.resources) && c.image == 'a')",
        "request.?subResource.orValue('') == ''",
        "object.spec.template.metadata.labels['a'] == 'b'",
    ],
)
def test_what_is_asked_for_or_always_there_needs_none(expression: str) -> None:
    assert unguarded(expression) == {}


def test_a_condition_is_guarded_by_another_of_its_hook() -> None:
    assert unguarded("has(object.metadata.labels)", "'a' in object.metadata.labels") == {}


def test_a_name_is_there_when_validating_hooks_are_asked() -> None:
    assert unguarded("object.metadata.name == 'a'", mutating=False) == {}

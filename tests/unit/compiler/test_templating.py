"""Templates: what a value may and may not do to one."""

from __future__ import annotations

import pytest

from gpupolicy.compiler.templating import fill
from gpupolicy.resources import iter_names

VALUES = {"name": "n", "namespace": "ns", "labels": {"a": "b"}, "selector": {"a": "b"}}


def test_a_placeholder_alone_takes_a_value_of_any_kind() -> None:
    (budget,) = fill("disruption-budget", VALUES)

    assert budget["metadata"] == {"name": "n", "namespace": "ns", "labels": {"a": "b"}}


def test_a_placeholder_in_a_text_takes_the_value_as_text() -> None:
    role, _ = fill("lease-access", {**VALUES, "lease": "l", "subject": {"kind": "User"}})

    assert role["metadata"]["name"] == "n-leader-election"  # type: ignore[index]


def test_an_entry_whose_value_is_none_vanishes() -> None:
    (budget,) = fill("disruption-budget", {**VALUES, "labels": None})

    assert budget["metadata"] == {"name": "n", "namespace": "ns"}


def test_a_value_cannot_change_the_structure() -> None:
    (budget,) = fill("disruption-budget", {**VALUES, "name": "x\nkind: Secret\n---\n${namespace}"})

    assert budget["kind"] == "PodDisruptionBudget"
    assert budget["metadata"]["name"] == "x\nkind: Secret\n---\n${namespace}"  # type: ignore[index]


def test_a_forgotten_value_is_an_error_and_not_an_empty_text() -> None:
    with pytest.raises(KeyError, match="selector"):
        fill("disruption-budget", {"name": "n", "namespace": "ns", "labels": {}})


def test_filling_twice_gives_documents_that_share_nothing() -> None:
    (first,), (second,) = fill("disruption-budget", VALUES), fill("disruption-budget", VALUES)
    first["spec"]["minAvailable"] = 5  # type: ignore[index]

    assert second["spec"]["minAvailable"] == 1  # type: ignore[index]


@pytest.mark.parametrize("name", [name.removesuffix(".yaml") for name in iter_names("templates")])
def test_every_template_is_yaml_that_can_be_filled(name: str) -> None:
    class Anything(dict[str, object]):
        def __missing__(self, key: str) -> str:
            return key

    assert all({"apiVersion", "kind", "metadata"} <= set(document) for document in fill(name, Anything()))

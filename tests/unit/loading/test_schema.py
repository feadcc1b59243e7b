from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from gpupolicy.admission_rules import ADMISSION_RULES
from gpupolicy.loading import read_file
from gpupolicy.loading.schema import fits, read_schema
from gpupolicy.model import API_VERSION, KIND, KUBERNETES_VERSIONS, POWER_OF_TWO

POLICIES = Path(__file__).parents[2] / "data" / "policies"
SPEC: Mapping[str, Any] = read_schema()["properties"]["spec"]["properties"]
DEFS: Mapping[str, Any] = read_schema()["$defs"]


def parts(schema: object, path: str = "") -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Every mapping of a schema with the way to it."""
    if isinstance(schema, dict):
        yield path, schema
        for key, value in schema.items():
            yield from parts(value, f"{path}/{key}")
    elif isinstance(schema, list):
        for index, value in enumerate(schema):
            yield from parts(value, f"{path}/{index}")


PROPERTIES = [
    (f"{path}/{name}", {**DEFS.get(entry.get("$ref", "").removeprefix("#/$defs/"), {}), **entry})
    for path, part in parts(read_schema())
    if isinstance(part.get("properties"), dict)
    for name, entry in part["properties"].items()
]


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(read_schema())


@pytest.mark.parametrize(("path", "entry"), PROPERTIES, ids=[path for path, _ in PROPERTIES])
def test_a_field_is_described_for_editors(path: str, entry: Mapping[str, Any]) -> None:
    assert entry.get("description")


OBJECTS = [(path, part) for path, part in parts(read_schema()) if part.get("type") == "object"]


@pytest.mark.parametrize(("path", "part"), OBJECTS, ids=[path for path, _ in OBJECTS])
def test_a_mapping_says_what_else_it_may_hold(path: str, part: Mapping[str, Any]) -> None:
    assert "additionalProperties" in part


def test_the_defaults_of_the_schema_are_those_of_the_model() -> None:
    """A policy that writes every default is the policy that writes none."""
    from gpupolicy.loading import load_text

    text = (POLICIES / "least.yaml").read_text()
    written = {
        name: {key: entry["default"] for key, entry in DEFS[name]["properties"].items() if "default" in entry}
        for name in ("labels", "scheduler", "admission", "webhook")
    }
    certificates = DEFS["webhook"]["properties"]["certificates"]["properties"]
    written["webhook"]["certificates"] = {k: e["default"] for k, e in certificates.items() if "default" in e}
    election = DEFS["leaderElection"]["properties"]
    written["scheduler"]["leaderElection"] = {key: entry["default"] for key, entry in election.items()}
    defaults = {"kubernetesVersion": SPEC["kubernetesVersion"]["default"], **written}
    lines = "".join(f"  {key}: {value!r}\n" for key, value in defaults.items())
    lines = lines.replace("True", "true")

    assert load_text(text + lines) == load_text(text + "  scheduler: {leaderElection: {}}\n")


def test_the_choices_are_those_of_the_model() -> None:
    assert read_schema()["properties"]["apiVersion"]["const"] == API_VERSION
    assert read_schema()["properties"]["kind"]["const"] == KIND
    assert tuple(SPEC["kubernetesVersion"]["enum"]) == KUBERNETES_VERSIONS
    assert DEFS["admission"]["properties"]["requestSizes"]["then"]["enum"] == [POWER_OF_TWO]


@pytest.mark.parametrize("name", ["whole.yaml", "least.yaml"])
def test_a_policy_of_the_right_shape_fits(name: str) -> None:
    (document,) = read_file(POLICIES / name)

    assert fits(document.value)


def test_a_keyword_that_is_not_known_never_fits() -> None:
    """Then jsonschema has the word, which is slower and right."""
    assert not fits({}, {"dependentRequired": {}})


def test_rules_that_the_schema_could_list_are_left_to_lint() -> None:
    """The ids of admission rules grow; a schema that names them would refuse policies for newer releases."""
    assert not [path for path, part in parts(read_schema()) if set(part.get("enum", ())) & set(ADMISSION_RULES)]

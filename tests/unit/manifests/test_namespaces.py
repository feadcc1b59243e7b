"""Labels of Namespaces that stand in the same files as the pods in them."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import run

from gpupolicy import load
from gpupolicy.manifests.namespaces import find_namespace_labels, index_namespace_labels

# Who has access by a label of the namespace alone.
MULTI_TENANT = Path(__file__).resolve().parents[3] / "policies" / "multi-tenant.yaml"
CLASSIC = MULTI_TENANT.with_name("classic.yaml")
NAMESPACE = """\
apiVersion: v1
kind: Namespace
metadata: {name: prod, labels: {example.com/tier: production}}
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: train, namespace: prod}
spec:
  containers: [{name: main, image: train:1, resources: {limits: {nvidia.com/gpu: 8}}}]
"""
ITEMS = "".join("- " + text.replace("\n", "\n  ").rstrip(" ") for text in (POD, NAMESPACE))
RESOURCE_LIST = f"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{ITEMS}"


@pytest.mark.parametrize("verb", ["check", "explain", "mutate"])
def test_a_namespace_beside_the_pod_gives_access_by_its_label(verb: str) -> None:
    assert run(verb, MULTI_TENANT, "-", stdin=f"{POD}---\n{NAMESPACE}").status == 0
    assert run(verb, MULTI_TENANT, "-", stdin=POD).status == 1


def test_a_namespace_in_another_file_does_so_too(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(POD)
    (tmp_path / "b.yaml").write_text(NAMESPACE)

    assert run("check", MULTI_TENANT, tmp_path).status == 0


def test_another_label_gives_none() -> None:
    other = NAMESPACE.replace("production", "trial")

    assert "[access-denied]" in run("check", MULTI_TENANT, "-", stdin=f"{POD}---\n{other}").out


def test_the_krm_function_knows_the_namespaces_among_its_items() -> None:
    assert run("fn", MULTI_TENANT, stdin=RESOURCE_LIST).status == 0
    assert run("fn", MULTI_TENANT, stdin=RESOURCE_LIST.replace("production", "trial")).status == 1


def test_nothing_is_read_for_a_policy_that_asks_for_no_labels(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(NAMESPACE)

    assert find_namespace_labels(load(MULTI_TENANT), [str(file)]) == {"prod": {"example.com/tier": "production"}}
    assert find_namespace_labels(load(CLASSIC), [str(file)]) == {}


def test_what_is_of_another_shape_has_no_labels() -> None:
    named = {"kind": "Namespace", "metadata": {"name": "a", "labels": {"b": 1, "c": "d", "e": None}}}

    assert index_namespace_labels([named, {"kind": "Namespace", "metadata": []}, {"kind": "Pod"}]) == {
        "a": {"c": "d", "e": ""},
        "": {},
    }

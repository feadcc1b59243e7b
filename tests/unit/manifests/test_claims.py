"""Claims that stand in the same files as the pods that name them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from commands import POLICY, run

from gpupolicy.manifests.claims import claims_in, find_claims

CLAIM = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: gpus}
spec: {spec: {devices: {requests: [{name: g, exactly: {deviceClassName: gpu.example.com, count: COUNT}}]}}}
"""
DEPLOYMENT = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: serve}
spec:
  selector: {matchLabels: {app: serve}}
  template:
    metadata: {labels: {app: serve}}
    spec:
      resourceClaims: [{name: gpus, resourceClaimTemplateName: gpus}]
      containers: [{name: main, image: serve:1, resources: {claims: [{name: gpus}]}}]
"""


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    text = Path(POLICY).read_text().replace("gpusPerNode: 8", "gpusPerNode: 8\n      deviceClasses: [gpu.example.com]")
    (tmp_path / "policy.yaml").write_text(text)
    return tmp_path / "policy.yaml"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "apps").mkdir()
    (tmp_path / "apps" / "serve.yaml").write_text(DEPLOYMENT)
    return tmp_path / "apps"


def template(count: int) -> str:
    return CLAIM.replace("COUNT", str(count))


def test_a_template_of_three_devices_beside_a_deployment_is_denied(policy: Path, folder: Path) -> None:
    (folder / "claim.yaml").write_text(template(3))

    outcome = run("check", policy, folder)

    assert outcome.status == 1
    assert outcome.out == (
        f"{folder}/serve.yaml:9:24: error: the pod asks for 3 GPUs; admitted are 1, 2, 4, 8 ({policy}:22); "
        "ask for 2 or 4 [request-size-not-admitted]\n"
    )


def test_one_of_four_devices_is_admitted(policy: Path, folder: Path) -> None:
    (folder / "claim.yaml").write_text(template(4))

    outcome = run("check", policy, folder, "--format", "json")

    assert outcome.status == 0
    assert outcome.json["objects"][1]["gpus"] == {"deviceclass.resource.kubernetes.io/gpu.example.com": 4}
    assert outcome.json["objects"][1]["placement"]["slotGroups"] == ["SLOT-4"]


def test_the_order_of_files_and_documents_is_no_matter(policy: Path) -> None:
    assert run("check", policy, "-", stdin=f"{DEPLOYMENT}---\n{template(3)}").status == 1
    assert run("check", policy, "-", stdin=f"{template(4)}---\n{DEPLOYMENT}").status == 0


def test_without_the_template_only_a_warning_says_that_nothing_was_counted(policy: Path, folder: Path) -> None:
    outcome = run("check", policy, folder)

    assert (outcome.status, outcome.out.count("[device-claim-not-counted]")) == (0, 1)


def test_a_change_of_the_template_alone_is_judged_in_its_deployments(policy: Path, folder: Path) -> None:
    before = folder.parent / "before"
    before.mkdir()
    (before / "serve.yaml").write_text(DEPLOYMENT)
    (before / "claim.yaml").write_text(template(4))
    (folder / "claim.yaml").write_text(template(3))

    assert run("check", policy, folder, "--diff", before).status == 1


def test_mutate_routes_by_the_devices(policy: Path) -> None:
    outcome = run("mutate", policy, "-", "--templates", stdin=f"{template(4)}---\n{DEPLOYMENT}")

    assert (outcome.status, "- SLOT-4" in outcome.out) == (0, True)


def test_explain_tells_which_claim_asks(policy: Path) -> None:
    outcome = run("explain", policy, "-", stdin=f"{template(4)}---\n{DEPLOYMENT}")

    assert (
        "4 deviceclass.resource.kubernetes.io/gpu.example.com in resource claim gpus "
        "(spec.template.spec.resourceClaims[0])"
    ) in outcome.out


def test_the_krm_function_counts_the_claims_among_its_items(policy: Path) -> None:
    items = "".join("- " + text.replace("\n", "\n  ").rstrip(" ") for text in (template(3), DEPLOYMENT))
    listed = f"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{items}"

    assert run("fn", policy, stdin=listed).status == 1


def test_claims_without_a_namespace_are_in_that_of_the_run() -> None:
    assert list(claims_in(template(1).encode(), "x", namespace="team-a")) == [
        ("ResourceClaimTemplate", "team-a", "gpus")
    ]


def test_files_without_claims_are_not_parsed_and_unreadable_ones_are_left_to_others(tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").write_text("{{ resource }}")

    assert find_claims([str(tmp_path / "broken.yaml"), str(tmp_path / "missing.yaml"), "a\0b"]) == {}


def test_a_pipe_is_left_to_those_who_judge_it(tmp_path: Path) -> None:
    """It can be read once only: ``check policy.yaml <(helm template chart)``."""
    os.mkfifo(tmp_path / "pipe")

    assert find_claims([str(tmp_path / "pipe")]) == {}

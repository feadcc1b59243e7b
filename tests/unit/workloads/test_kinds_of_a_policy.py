"""Kinds that a policy names itself, beside those of the table and in place of them."""

from __future__ import annotations

from typing import Any

import pytest
from builders import container, policy

from gpupolicy.errors import format_field
from gpupolicy.model import WorkloadKind
from gpupolicy.workloads import Found, find_pods, rows_of

SPEC = {"containers": [container(4)]}
SWEEP = WorkloadKind(group="ml.example.org", kind="Sweep", templates=("spec.trial.podTemplate", "spec.workers[*].pod"))


def find(*kinds: WorkloadKind, api_version: str = "ml.example.org/v1", kind: str = "Sweep", **body: Any) -> Found:
    return find_pods(policy(workloads=kinds), {"apiVersion": api_version, "kind": kind, **body})


def paths(found: Found) -> list[str]:
    return [format_field(template.path) for template in found.templates]


def test_the_pods_of_a_kind_of_the_policy_s_own_are_known() -> None:
    found = find(SWEEP, spec={"trial": {"podTemplate": {"spec": SPEC}}})

    assert (paths(found), found.is_known, found.templates[0].is_known) == (["spec.trial.podTemplate.spec"], True, True)


def test_a_path_may_lead_to_a_pod_spec_without_a_template_around_it() -> None:
    assert paths(find(SWEEP, spec={"workers": [{"pod": SPEC}, {"pod": SPEC}]})) == [
        "spec.workers[0].pod",
        "spec.workers[1].pod",
    ]


def test_a_path_that_leads_nowhere_finds_nothing() -> None:
    assert find(SWEEP, spec={"trial": {"podTemplate": {"labels": {}}}}) == Found()


def test_the_same_kind_of_another_group_is_searched_by_its_shape() -> None:
    assert not find(SWEEP, api_version="other.example.org/v1", spec={"trial": {"podTemplate": {"spec": SPEC}}}).is_known


def test_a_policy_s_paths_take_the_place_of_the_known_ones() -> None:
    volcano = WorkloadKind(group="batch.volcano.sh", kind="Job", templates=("spec.roles.*.pod",))
    job = {"roles": {"a": {"pod": SPEC}}, "tasks": [{"template": {"spec": SPEC}}]}

    assert paths(find(volcano, api_version="batch.volcano.sh/v1", kind="Job", spec=job)) == ["spec.roles.a.pod"]


@pytest.mark.parametrize(
    ("kind", "owner"),
    [
        pytest.param(SWEEP, "Sweep", id="itself"),
        pytest.param(
            WorkloadKind(group="ml.example.org", kind="Sweep", templates=("spec.trial.podTemplate",), owner_kind="Job"),
            "Job",
            id="as-the-policy-says",
        ),
    ],
)
def test_the_owner_of_the_pods(kind: WorkloadKind, owner: str) -> None:
    found = find(kind, spec={"trial": {"podTemplate": {"spec": SPEC}}})

    assert found.templates[0].owner_kind == owner


def test_what_a_known_kind_is_called_in_the_api_stays_when_its_paths_are_replaced() -> None:
    deployment = WorkloadKind(group="apps", kind="Deployment", templates=("spec.template",))

    (row,) = [row for row in rows_of((deployment,)) if (row.group, row.kind) == ("apps", "Deployment")]

    assert (row.resource, row.owner, row.blind) == ("deployments", "ReplicaSet", ())


def test_the_plural_of_a_new_kind_is_guessed_unless_it_is_given() -> None:
    given = WorkloadKind(group="ml.example.org", kind="Series", templates=("spec",), resource="series")

    rows = {row.kind: row.resource for row in rows_of((SWEEP, given)) if row.group == "ml.example.org"}

    assert rows == {"Sweep": "sweeps", "Series": "series"}

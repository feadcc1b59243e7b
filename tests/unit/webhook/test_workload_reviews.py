"""Reviews of workloads: answered with warnings or a denial, never with a patch."""

from __future__ import annotations

from typing import Any

import pytest
from builders import container, policy
from reviewing import review

from gpupolicy.model import Admission, EarlyAction
from gpupolicy.webhook import create_app

WARNING = (
    "pods of spec.template.spec will be denied: the pod asks for 3 GPUs; admitted are 1, 2, 4, 8 (policy); "
    "ask for 2 or 4 [request-size-not-admitted]"
)


def deployment(gpus: int, **spec: Any) -> dict[str, Any]:
    template = {"spec": {"containers": [container(gpus)]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "serve"},
        "spec": {"template": template, **spec},
    }


def ask(subject: dict[str, Any], path: str = "/validate/workloads", *, action: str = "warn", **fields: Any) -> Any:
    asked = policy(admission=Admission(workloads=EarlyAction(action)))
    kind = {"group": "apps", "version": "v1", "kind": "Deployment"}
    body = review(subject, kind=kind, name="serve", **fields)
    return create_app(lambda: asked).test_client().post(path, json=body).get_json()["response"]


@pytest.mark.parametrize("path", ["/validate", "/validate/workloads"])
def test_a_workload_is_let_in_with_a_warning(path: str) -> None:
    response = ask(deployment(3), path)

    assert (response["allowed"], response["warnings"]) == (True, [WARNING])


def test_a_workload_is_denied_where_the_policy_says_so() -> None:
    response = ask(deployment(3), action="deny")

    assert response["status"] == {
        "code": 403,
        "reason": "Forbidden",
        "message": f"Deployment serve in namespace team-a: {WARNING}",
    }


@pytest.mark.parametrize(
    ("subject", "action"),
    [pytest.param(deployment(3), "off", id="off"), pytest.param(deployment(4), "deny", id="admitted")],
)
def test_there_may_be_nothing_to_say(subject: dict[str, Any], action: str) -> None:
    response = ask(subject, action=action)

    assert (response["allowed"], response.get("warnings"), response.get("patch")) == (True, None, None)


@pytest.mark.parametrize("path", ["/mutate", "/validate/final"])
def test_the_paths_for_pods_let_workloads_pass(path: str) -> None:
    assert ask(deployment(3), path, action="deny") == {"uid": "u-1", "allowed": True}


def test_the_change_of_something_else_is_not_told_again() -> None:
    response = ask(deployment(3, replicas=9), operation="UPDATE", oldObject=deployment(3))

    assert "warnings" not in response


def test_an_object_of_another_kind_than_the_request_names_passes() -> None:
    assert ask({**deployment(3), "kind": "Job"}, action="deny") == {"uid": "u-1", "allowed": True}

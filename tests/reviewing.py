"""Reviews of pods, and what the application says to them."""

from __future__ import annotations

import base64
import json

from builders import policy
from flask.testing import FlaskClient

from gpupolicy.webhook import create_app


def client(**options: object) -> FlaskClient:
    """A client of the application under the usual policy."""
    return create_app(lambda: policy(), **options).test_client()


def review(subject: object, *, version: str = "v1", **fields: object) -> dict:
    """A review of a pod at CREATE, as little as the API server would send."""
    request = {
        "uid": "u-1",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "namespace": "team-a",
        "operation": "CREATE",
        "object": subject,
        **fields,
    }
    return {"apiVersion": f"admission.k8s.io/{version}", "kind": "AdmissionReview", "request": request}


def ask(asked: dict, path: str = "/mutate", **options: object) -> dict:
    """The ``response`` to a review."""
    answer = client(**options).post(path, json=asked)
    assert answer.status_code == 200
    return answer.get_json()["response"]


def patch_of(response: dict) -> list[dict]:
    return json.loads(base64.b64decode(response["patch"], validate=True)) if "patch" in response else []


def groups_of(response: dict) -> str | None:
    """The slot group that a patch routes to."""
    text = json.dumps([operation for operation in patch_of(response) if "affinity" in operation["path"]])
    found = {name for name in ("SLOT-1", "SLOT-2", "SLOT-4", "SLOT-8") if f'"{name}"' in text}
    return found.pop() if found else None

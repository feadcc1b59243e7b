"""The fields of webhook configurations in admissionregistration.k8s.io/v1.

Source: k8s.io/api admissionregistration/v1 of 0.37; the fields are those of 1.34 too.
"""

from __future__ import annotations

from gpupolicy.linting.foreign.kinds import MUTATING, VALIDATING
from gpupolicy.linting.foreign.metadata import METADATA
from gpupolicy.linting.foreign.shapes import BASE64, INT32, TEXT, Fields, ListOf, Shape, TableOf

_SELECTOR = Fields(
    {
        "matchLabels": TableOf(TEXT),
        "matchExpressions": ListOf(Fields({"key": TEXT, "operator": TEXT, "values": ListOf(TEXT)})),
    }
)

_RULE = Fields(
    {
        "apiGroups": ListOf(TEXT),
        "apiVersions": ListOf(TEXT),
        "operations": ListOf(TEXT),
        "resources": ListOf(TEXT),
        "scope": TEXT,
    },
    {"resourceNames": "a webhook has no resourceNames; use a match condition", "kinds": "write resources, in plural"},
)

_HOOK: dict[str, Shape] = {
    "name": TEXT,
    "clientConfig": Fields(
        {
            "url": TEXT,
            "service": Fields({"namespace": TEXT, "name": TEXT, "path": TEXT, "port": INT32}),
            "caBundle": BASE64,
        }
    ),
    "rules": ListOf(_RULE),
    "failurePolicy": TEXT,
    "matchPolicy": TEXT,
    "namespaceSelector": _SELECTOR,
    "objectSelector": _SELECTOR,
    "sideEffects": TEXT,
    "timeoutSeconds": INT32,
    "admissionReviewVersions": ListOf(TEXT),
    "matchConditions": ListOf(Fields({"name": TEXT, "expression": TEXT})),
}

_TOP: dict[str, Shape] = {"apiVersion": TEXT, "kind": TEXT, "metadata": METADATA}
_TOP_REMARKS = {"spec": "a webhook configuration has no spec: webhooks stands at the top"}

SHAPES = {
    VALIDATING: Fields(
        {
            **_TOP,
            "webhooks": ListOf(Fields(_HOOK, {"reinvocationPolicy": "only mutating webhooks are called again"})),
        },
        _TOP_REMARKS,
    ),
    MUTATING: Fields({**_TOP, "webhooks": ListOf(Fields({**_HOOK, "reinvocationPolicy": TEXT}))}, _TOP_REMARKS),
}

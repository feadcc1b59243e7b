"""The chart's files that follow from the compiler: CEL and rules of the registration, defaults of the webhook."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gpupolicy import load_text
from gpupolicy.compiler import Order, compile_manifests
from gpupolicy.compiler.yaml_text import to_yaml
from gpupolicy.model import Webhook

CHART = Path(__file__).resolve().parents[2] / "charts" / "gpupolicy"
HEADER = "# Written by tests/charts/regenerate.py from what gpupolicy compile writes. Do not edit.\n"
PROBE = """\
apiVersion: gpupolicy.dev/v1alpha1
kind: GPUPolicy
metadata: {name: probe}
spec:
  gpuTypes: [{name: T, gpusPerNode: 1, resourceName: example.test/probe}]
  slotGroups: [{name: SLOT-1, sizes: [1], nodes: [{gpuType: T, weight: 1}]}]
"""
_NAMES = "['example.test/probe', 'deviceclass.resource.kubernetes.io/']"
_SHOWN = "request.kind.kind in ["


def generated() -> dict[str, str]:
    """The files by their path below the chart."""
    return {
        "files/defaults.yaml": HEADER + to_yaml(_defaults()),
        "files/registration.yaml": HEADER + to_yaml(_registration()),
    }


def _defaults() -> dict[str, object]:
    webhook = Webhook()
    certificates = {"mode": str(webhook.certificates.mode), "secretName": webhook.certificates.secret_name}
    return {
        "namespace": webhook.namespace,
        "name": webhook.name,
        "image": webhook.image,
        "replicas": webhook.replicas,
        "failurePolicy": str(webhook.failure_policy),
        "timeoutSeconds": webhook.timeout_seconds,
        "certificates": certificates,
    }


def _registration() -> dict[str, object]:
    """What the chart cannot work out; ``${names}`` are the counted names, ``${kinds}`` the policy's kinds."""
    manifests = compile_manifests(Order(policy=load_text(PROBE)), ("webhook",))
    documents: list[Any] = [each.document for each in manifests]
    mutating, validating, workloads = (hook for each in documents for hook in each.get("webhooks", ()))
    return {
        "mutating": _opened(mutating["matchConditions"]),
        "validating": _opened(validating["matchConditions"]),
        "workloads": {"conditions": _opened(workloads["matchConditions"]), "rules": workloads["rules"]},
    }


def _opened(conditions: list[dict[str, str]]) -> list[dict[str, str]]:
    return [
        {**each, "expression": each["expression"].replace(_NAMES, "${names}").replace(_SHOWN, _SHOWN + "${kinds}")}
        for each in conditions
    ]

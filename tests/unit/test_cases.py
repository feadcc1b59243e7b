"""Pods that people met, as data: tests/cases/admission.yaml says what has to become of each."""

from pathlib import Path

import pytest
import yaml
from builders import GPU, exemption, gpu_type, group, owned, patched, policy, terms_of

from gpupolicy.admission import admit
from gpupolicy.model import Admission

TYPES = ("V100", "A100", "H100")
POLICY = policy(
    *(group(f"SLOT-{size}", size, types=TYPES) for size in (1, 2, 4, 8)),
    types=tuple(gpu_type(name) for name in TYPES),
    admission=Admission(
        exemptions=(exemption("kube-system", "gpu-operator"), exemption(owner_kinds=("DaemonSet", "Node"))),
    ),
)
CASES = yaml.safe_load((Path(__file__).parents[1] / "cases" / "admission.yaml").read_text())


def having(field):
    return pytest.mark.parametrize("case", [pytest.param(c, id=c["id"]) for c in CASES if field in c])


def pod_of(case):
    metadata = {"name": "job-a", "namespace": "team-a", "annotations": case.get("annotations", {"a": "b"})}
    document = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": case["spec"]}
    return owned(document, case["owner"]) if "owner" in case else document


def decided(case):
    return admit(POLICY, pod_of(case), namespace=case.get("namespace"), username=case.get("username"))


def mutated(case):
    return patched(pod_of(case), decided(case).patch)


def verdict(decision):
    by_precedence = {"deny": not decision.allowed, "warn": bool(decision.warnings), "skip": not decision.judged}
    return next((name for name, holds in by_precedence.items() if holds), "allow")


def told(expression):
    return f"{expression['key'].rpartition('/')[2]} {expression['operator']} {','.join(expression['values'])}"


@having("verdict")
def test_the_verdict(case):
    assert verdict(decided(case)) == case["verdict"]


@having("gpus")
def test_the_effective_request(case):
    assert decided(case).gpus.get(GPU, 0) == case["gpus"]


@having("terms")
def test_the_required_terms(case):
    assert [[told(e) for e in term["matchExpressions"]] for term in terms_of(mutated(case))] == case["terms"]


@having("scheduler")
def test_the_scheduler(case):
    assert mutated(case)["spec"]["schedulerName"] == case["scheduler"]


@having("says")
def test_the_words(case):
    decision = decided(case)
    findings = (*decision.violations, *decision.warnings)

    assert case["says"] in " ".join(f"{decision.reason} {finding.message} {finding.hint}" for finding in findings)


@pytest.mark.parametrize("case", [pytest.param(c, id=c["id"]) for c in CASES if c["verdict"] in ("skip", "deny")])
def test_what_is_refused_or_not_judged_is_not_changed(case):
    assert mutated(case) == pod_of(case)


@pytest.mark.parametrize("case", [pytest.param(c, id=c["id"]) for c in CASES if "terms" in c])
def test_the_rest_of_the_pod_stays(case):
    before, after = pod_of(case), mutated(case)
    changed = {"affinity", "schedulerName"}

    assert [after["spec"].get(key) for key in before["spec"] if key not in changed] == [
        value for key, value in before["spec"].items() if key not in changed
    ]

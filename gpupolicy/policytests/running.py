"""Runs policy tests: the decision that the webhook would take, compared with the one expected."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from gpupolicy.admission import Decision, decide
from gpupolicy.errors import GPUPolicyError, InputError, LocatedFinding, PolicyError, Severity
from gpupolicy.manifests.report import Verdict, verdict_of
from gpupolicy.model import Policy
from gpupolicy.policytests.coverage import CoverageCounter
from gpupolicy.policytests.mutation import compare_mutated
from gpupolicy.policytests.reading import RULE, read_tests
from gpupolicy.policytests.report import Case, CaseResult, Difference, Expectation, PolicyTest, TestReport
from gpupolicy.workloads import find_pods

Loader = Callable[[str], Policy]


def run_tests(files: Iterable[str], load: Loader) -> TestReport:
    """Runs every policy test of the files.

    Args:
        files: paths; documents of other kinds are left aside.
        load: reads a policy.

    Returns:
        The result of each case, and what kept others from running.
    """
    results: list[CaseResult] = []
    findings: list[LocatedFinding] = []
    counters: dict[str, CoverageCounter] = {}
    tests = 0
    for file in files:
        try:
            reading = read_tests(file)
        except InputError as error:
            findings.append(error.to_finding())
            continue
        findings.extend(reading.findings)
        for test in reading.tests:
            tests += 1
            try:
                if test.policy not in counters:
                    counters[test.policy] = CoverageCounter(load(test.policy))
            except GPUPolicyError as error:
                findings.extend(_policy_findings(test, error))
                continue
            results.extend(run_case(counters[test.policy], test, case) for case in test.cases)
    coverage = tuple(counters[policy].report(policy) for policy in sorted(counters))
    return TestReport(tests=tests, results=tuple(results), findings=tuple(findings), coverage=coverage)


def run_case(counter: CoverageCounter, test: PolicyTest, case: Case) -> CaseResult:
    """Asks the policy one question. A workload is judged for each of its pods, the strictest verdict counts."""
    namespace = case.namespace or _namespace_of(case)
    decisions = tuple(_decide(counter.policy, case, namespace))
    counter.add(case, decisions, namespace or "default")
    differences = (*_compare(case.expect, decisions), *compare_mutated(case, decisions))
    return CaseResult(test=test.name, file=test.file, case=case, differences=differences)


def _decide(policy: Policy, case: Case, namespace: str | None) -> Iterator[Decision]:
    before = find_pods(policy, case.old_object).templates if case.old_object is not None else ()
    for index, template in enumerate(find_pods(policy, case.object).templates):
        yield decide(
            policy,
            template.pod,
            operation=case.operation,
            old=before[index].pod if index < len(before) else None,
            namespace=namespace,
            namespace_labels=case.namespace_labels,
            username=case.username,
            owner_kind=template.owner_kind,
            now=case.now,
            subresource=case.subresource,
            final=case.final,
        )


def _namespace_of(case: Case) -> str | None:
    metadata = case.object.get("metadata")
    namespace = metadata.get("namespace") if isinstance(metadata, Mapping) else None
    return namespace if isinstance(namespace, str) else None


def _compare(expect: Expectation, decisions: tuple[Decision, ...]) -> Iterator[Difference]:
    if expect.verdict is not None and not _is_verdict(expect.verdict, got := _verdict(decisions)):
        yield Difference(what="verdict", expected=expect.verdict, got=f"{got}{_reasons(decisions)}")
    if expect.rules is not None and set(expect.rules) != (rules := _rules(decisions)):
        yield Difference(what="rules", expected=_listed(sorted(expect.rules)), got=_listed(sorted(rules)))
    yield from _compare_placement(expect, decisions)
    if expect.gpus is not None and expect.gpus != (gpus := _gpus(decisions)):
        yield Difference(what="gpus", expected=_shown(expect.gpus), got=_shown(gpus))


def _is_verdict(expected: Verdict, got: Verdict) -> bool:
    """``allow`` also holds for what is not judged at all: nobody stands in its way."""
    return got is expected or (expected is Verdict.ALLOW and got is Verdict.SKIP)


def _verdict(decisions: tuple[Decision, ...]) -> Verdict:
    verdicts = {verdict_of(decision) for decision in decisions}
    return next((v for v in (Verdict.DENY, Verdict.WARN, Verdict.ALLOW) if v in verdicts), Verdict.SKIP)


def _reasons(decisions: tuple[Decision, ...]) -> str:
    reasons = dict.fromkeys(decision.reason for decision in decisions)
    return f" ({'; '.join(reasons)})" if reasons else " (no pod in the object)"


def _rules(decisions: tuple[Decision, ...]) -> set[str]:
    return {finding.rule for decision in decisions for finding in (*decision.violations, *decision.warnings)}


def _compare_placement(expect: Expectation, decisions: tuple[Decision, ...]) -> Iterator[Difference]:
    placement = next((decision.placement for decision in decisions if decision.placement is not None), None)
    if expect.is_unplaced and placement is not None:
        yield Difference(what="placement", expected="none", got=_listed(placement.slot_groups))
    if expect.placement is None:
        return
    got: Mapping[str, object] = (
        {
            "slotGroups": list(placement.slot_groups),
            "gpuTypes": list(placement.gpu_types),
            "schedulerName": placement.scheduler_name,
        }
        if placement is not None
        else {}
    )
    for key, value in expect.placement.items():
        if got.get(key) != value:
            yield Difference(what=f"placement.{key}", expected=_text(value), got=_text(got.get(key)))


def _gpus(decisions: tuple[Decision, ...]) -> Mapping[str, int]:
    return next((decision.gpus for decision in decisions if decision.gpus), {})


def _shown(gpus: Mapping[str, int]) -> str:
    return _listed([f"{amount} {name}" for name, amount in sorted(gpus.items())])


def _text(value: object) -> str:
    return _listed([str(entry) for entry in value]) if isinstance(value, list) else str(value or "none")


def _listed(words: Iterable[str]) -> str:
    return ", ".join(words) or "none"


def _policy_findings(test: PolicyTest, error: GPUPolicyError) -> Iterator[LocatedFinding]:
    if isinstance(error, PolicyError):
        yield from (finding for finding in error.findings if finding.severity is Severity.ERROR)
    else:
        yield LocatedFinding(
            rule=RULE, severity=Severity.ERROR, field=("policy",), message=str(error), file=test.file, line=1, column=1
        )

"""Rules about spec.workloads: the kinds that a policy names itself."""

from __future__ import annotations

from collections.abc import Iterator

from gpupolicy.errors import FieldPath, Finding
from gpupolicy.labels import find_dns_label_problem, find_dns_subdomain_problem
from gpupolicy.model import Policy, WorkloadKind
from gpupolicy.rules.findings import error, info, warning
from gpupolicy.workloads import rows_of
from gpupolicy.workloads.paths import find_path_problem

_WORKLOADS: FieldPath = ("spec", "workloads")


def workload_name_not_valid(policy: Policy) -> Iterator[Finding]:
    """A group, kind, owner kind or resource that Kubernetes cannot have.

    Why: no object ever has that name, so the entry is never used.
    Bad:  workloads: [{group: ml.example.org/v1, kind: Sweep, templates: [spec.template]}]
    Good: workloads: [{group: ml.example.org, kind: Sweep, templates: [spec.template]}]
    Source: apiextensions-apiserver, ValidateCustomResourceDefinitionNames.
    """
    for index, kind in enumerate(policy.workloads):
        for name, text, problem in _name_problems(kind):
            hint = "leave the version out" if name == "group" and "/" in text else None
            message = f'"{text}" is no {name} of Kubernetes: it {problem}'
            yield error("workload-name-not-valid", (*_WORKLOADS, index, name), message, hint)


def _name_problems(kind: WorkloadKind) -> Iterator[tuple[str, str, str]]:
    found = (
        ("group", kind.group, find_dns_subdomain_problem(kind.group)),
        ("kind", kind.kind, _find_kind_problem(kind.kind)),
        ("ownerKind", kind.owner_kind, _find_kind_problem(kind.owner_kind) if kind.owner_kind is not None else None),
        ("resource", kind.resource, find_dns_label_problem(kind.resource) if kind.resource is not None else None),
    )
    yield from ((name, text or "", problem) for name, text, problem in found if problem)


def _find_kind_problem(kind: str) -> str | None:
    return (find_dns_label_problem(kind.lower()) or "").replace("lower case letters", "letters") or None


def workload_path_not_valid(policy: Policy) -> Iterator[Finding]:
    """A path in spec.workloads that leads to no pod.

    Why: the pods of the kind would not be found, and its objects would look as if they made none.
    Bad:  workloads: [{group: ml.example.org, kind: Sweep, templates: [spec.trial.podTemplate.spec.containers]}]
    Good: workloads: [{group: ml.example.org, kind: Sweep, templates: [spec.trial.podTemplate]}]
    Source: docs/workloads.md, Paths.
    """
    for index, kind in enumerate(policy.workloads):
        for position, path in enumerate(kind.templates):
            if problem := find_path_problem(path):
                field = (*_WORKLOADS, index, "templates", position)
                yield error("workload-path-not-valid", field, f'the path "{path}" {problem[0]}', problem[1])


def workload_path_repeated(policy: Policy) -> Iterator[Finding]:
    """A path that a kind of spec.workloads names twice.

    Why: the same pods are judged and told twice.
    Bad:  templates: [spec.template, spec.template]
    Good: templates: [spec.template]
    Source: docs/workloads.md, Paths.
    """
    for index, kind in enumerate(policy.workloads):
        for position, path in enumerate(kind.templates):
            if path in kind.templates[:position]:
                field = (*_WORKLOADS, index, "templates", position)
                yield warning("workload-path-repeated", field, f'the path "{path}" stands here twice')


def workload_kind_repeated(policy: Policy) -> Iterator[Finding]:
    """A kind that stands twice in spec.workloads.

    Why: only one entry can hold, and which one is not for a reader to guess.
    Bad:  workloads: [{group: a.org, kind: Run, templates: [spec.a]}, {group: a.org, kind: Run, templates: [spec.b]}]
    Good: workloads: [{group: a.org, kind: Run, templates: [spec.a, spec.b]}]
    Source: docs/workloads.md, Kinds of your own.
    """
    names = [(kind.group, kind.kind) for kind in policy.workloads]
    for index, name in enumerate(names):
        if name in names[:index]:
            first = names.index(name)
            message = f"{name[1]} of {name[0]} has an entry already, at {policy.cite(*_WORKLOADS, first)}"
            yield error("workload-kind-repeated", (*_WORKLOADS, index), message, "put all paths into one entry")


def workload_known(policy: Policy) -> Iterator[Finding]:
    """A kind in spec.workloads that is known without it.

    Why: the paths here take the place of the known ones, which is right only for another version of the kind.
    Bad:  workloads: [{group: ray.io, kind: RayCluster, templates: [spec.headGroupSpec.template]}]
    Good: no entry for RayCluster
    Source: docs/workloads.md, Kinds of your own.
    """
    known = {(row.group, row.kind): row for row in rows_of(())}
    for index, kind in enumerate(policy.workloads):
        if row := known.get((kind.group, kind.kind)):
            paths = ", ".join(".".join(pods.path) for pods in row.pods) or "no path"
            message = f"{kind.kind} of {kind.group} is known, with {paths}; the paths here take their place"
            yield info("workload-known", (*_WORKLOADS, index), message)

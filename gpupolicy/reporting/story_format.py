"""A decision as a story that a person reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from gpupolicy.errors import format_field
from gpupolicy.manifests.explanation import Explanation
from gpupolicy.manifests.report import CheckedObject, Verdict
from gpupolicy.manifests.yaml_writer import is_block, write_block, write_flow
from gpupolicy.reporting.text_format import format_finding

_OUTCOMES = {
    Verdict.ALLOW: "allowed",
    Verdict.WARN: "allowed, with warnings",
    Verdict.DENY: "denied",
    Verdict.SKIP: "not judged",
}


def format_story(explanations: Iterable[Explanation]) -> str:
    """Returns one paragraph for each pod."""
    return "\n".join("".join(f"{line}\n" for line in _lines(explanation)) for explanation in explanations)


def _lines(explanation: Explanation) -> Iterator[str]:
    entry = explanation.entry
    yield f"{name_of(entry)}: {_OUTCOMES[entry.verdict]}"
    if entry.verdict is Verdict.SKIP:
        yield f"  {entry.reason}"
    yield from _section("asks for", _request(explanation))
    yield from _section("because", _because(explanation))
    yield from _section("goes to", _placement(entry))
    yield from _section("changed in the pod at admission", format_changes(explanation.patch))
    yield from _section("then the scheduler", explanation.scheduling)
    yield from _section("findings", (format_finding(finding) for finding in entry.findings))


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    listed = list(lines)
    if listed:
        yield f"  {title}:"
        yield from (f"    {line}" for line in listed)


def name_of(entry: CheckedObject) -> str:
    """Returns an object's name as messages give it: kind, namespace, name, the path inside a workload, and the line."""
    name = "/".join(part for part in (entry.namespace, entry.name) if part) or "without a name"
    inside = f" {format_field(entry.pod_spec)}" if entry.pod_spec not in (None, ("spec",)) else ""
    return f"{entry.kind or 'object'} {name}{inside} ({entry.file}:{entry.line})"


def _request(explanation: Explanation) -> Iterator[str]:
    shares = [share for share in explanation.shares if share.gpus]
    for share in shares:
        yield f"{_amounts(share.gpus)} in {share.role} {share.name} ({format_field(share.field)})"
    if explanation.counting is not None:
        yield f"{_amounts(explanation.entry.gpus)} in effect: {explanation.counting}"


def _because(explanation: Explanation) -> Iterator[str]:
    for source in explanation.sources:
        yield f"{source.text} ({source.place})"
    entry = explanation.entry
    if entry.verdict is not Verdict.SKIP and not entry.gpus:
        yield entry.reason


def _placement(entry: CheckedObject) -> Iterator[str]:
    placement = entry.placement
    if placement is None:
        return
    if placement.slot_groups:
        yield f"slot group {', then '.join(placement.slot_groups)}"
    yield f"GPU type {' or '.join(placement.gpu_types)}"
    if placement.scheduler_name:
        yield f"scheduler {placement.scheduler_name}"


def format_changes(patch: Iterable[Mapping[str, object]]) -> Iterator[str]:
    """Yields the lines that tell what a patch (RFC 6902) does."""
    for operation in patch:
        path = _field_of(str(operation["path"]))
        value = operation.get("value")
        if operation["op"] == "remove":
            yield f"- {path}"
        elif is_block(value):
            yield f"+ {path}:"
            yield from (f"    {line}" for line in write_block(value, 0).splitlines())
        else:
            yield f"+ {path}: {write_flow(value)}"


def _field_of(pointer: str) -> str:
    """Returns a JSON pointer as a field path: ``spec.affinity``, ``terms[0]``, ``terms[-]`` for a new last entry."""
    steps = [token.replace("~1", "/").replace("~0", "~") for token in pointer[1:].split("/")]
    return format_field(tuple(int(step) if step.isdecimal() else step for step in steps))


def _amounts(gpus: Mapping[str, int]) -> str:
    return ", ".join(f"{amount} {name}" for name, amount in sorted(gpus.items())) or "nothing"

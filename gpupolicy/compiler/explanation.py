"""The dominance proof for people: a table for ``compile --explain``, a few lines for the head of a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from gpupolicy.compiler.dominance import AFFINITY, FIT, OverflowOrder, Proof, Step
from gpupolicy.scoring import MAX_NODE_SCORE

_CLAIM = "of two nodes of one GPU type, the one with more GPUs in use gets the pod"
_WITHIN = ", within one level of preference"


def explain(proof: Proof) -> str:
    """Returns the whole proof of one profile as a table."""
    return "\n".join(_table_lines(proof)) + "\n"


def summarize(proof: Proof) -> tuple[str, ...]:
    """Returns the proof of one profile as lines for the head of a file."""
    return tuple(_summary_lines(proof))


def find_weakness(proof: Proof) -> str | None:
    """Returns why a profile that is meant to pack may not do so, None where it does."""
    if not proof.packs or proof.dominant:
        return None
    worst = min(proof.steps, key=lambda step: step.lead)
    return f"profile {proof.scheduler_name} may not pack: {_judge(worst)}"


def _summary_lines(proof: Proof) -> Iterator[str]:
    if not proof.packs:
        yield f"Profile {proof.scheduler_name} spreads ({proof.strategy.type}), so nothing is proved for it."
    else:
        verb = "packs" if proof.dominant else "MAY NOT PACK"
        yield f"Profile {proof.scheduler_name} {verb} ({proof.strategy.type}): {_claim(proof)}."
        yield from (f"  {step.resource_name}: {_judge(step)}" for step in proof.steps)
        yield f"  {FIT} {_fit_sentence(proof)}"
        yield from (
            f"  {scorer.name} off: it {scorer.why}" for scorer in proof.scorers if scorer.name in proof.disabled
        )
        yield "  PodTopologySpread's built-in constraints off (defaultingType List): they spread the pods of a workload"
    if proof.overflow is not None:
        yield f"  {AFFINITY} {_order_sentence(proof, proof.overflow)}"


def _claim(proof: Proof) -> str:
    return _CLAIM if proof.overflow is None else _CLAIM + _WITHIN


def _judge(step: Step) -> str:
    """Says whether a resource's weight suffices, and which is the smallest that does."""
    given = (
        f"weight {step.weight} beside {step.other_weight} on nodes of {step.gpus_per_node}"
        if step.weight
        else f"not among the profile's resources, beside {step.other_weight} for others"
    )
    if step.lead > 0:
        return f"{given}, {step.smallest_weight} suffices; one more GPU in use leads by {step.lead} of 100 or more"
    if step.smallest_weight is None and step.gpu_step > 0:
        return f"{given}, no weight up to 100 suffices: leave the other resources out of the profile"
    if step.smallest_weight is None:
        return f"{given}, no weight suffices: the strategy does not score every GPU in use higher than the one before"
    tie = f"from {step.unbeaten_weight} on it may tie"
    return f"{given}, but {step.smallest_weight} is the smallest that always wins ({tie})"


def _fit_sentence(proof: Proof) -> str:
    lead = max(1, proof.lead)
    return (
        f"weight {proof.fit_weight}: {proof.fit_weight} x {lead} = {proof.fit_weight * lead} beats {proof.opposition}, "
        f"all scorers that stay together; {proof.fit_weight - 1} would not"
    )


def _order_sentence(proof: Proof, order: OverflowOrder) -> str:
    terms = ", ".join(map(str, order.term_weights))
    against = MAX_NODE_SCORE * proof.fit_weight + proof.opposition
    return (
        f"weight {order.weight} keeps {order.levels} levels in order (terms {terms}): "
        f"{order.weight} x {order.gap} = {order.weight * order.gap} beats {against}, all others together"
    )


def _table_lines(proof: Proof) -> Iterator[str]:
    yield f"profile {proof.scheduler_name}: {proof.strategy.type}"
    yield ""
    if proof.packs:
        yield f"  {'claim' if proof.dominant else 'claim that does NOT hold'}: {_claim(proof)}"
        yield ""
        yield from _indent(_columns(_step_rows(proof.steps)))
        yield ""
        yield from (f"  {step.resource_name}: {_judge(step)}" for step in proof.steps)
        yield ""
    yield from _indent(_columns(_scorer_rows(proof)))
    yield ""
    if proof.packs:
        yield f"  {FIT}: {_fit_sentence(proof)}"
    if proof.overflow is not None:
        yield f"  {AFFINITY}: {_order_sentence(proof, proof.overflow)}"


def _step_rows(steps: Iterable[Step]) -> Iterator[tuple[str, ...]]:
    yield "resource", "GPUs a node", "weight", "others", "smallest weight", "lead of one GPU"
    for step in steps:
        smallest = "none" if step.smallest_weight is None else str(step.smallest_weight)
        numbers = (str(step.gpus_per_node), str(step.weight), str(step.other_weight), smallest, str(step.lead))
        yield step.resource_name, *numbers


def _scorer_rows(proof: Proof) -> Iterator[tuple[str, ...]]:
    yield "scorer", "weight", "reach", "", "why"
    meaning = "GPUs in use" if proof.packs else "free resources"
    yield FIT, str(proof.fit_weight), str(MAX_NODE_SCORE * proof.fit_weight), "set", meaning
    for scorer in proof.scorers:
        raised = proof.overflow if scorer.name == AFFINITY else None
        weight = scorer.weight if raised is None else raised.weight
        reach = scorer.reach if raised is None else MAX_NODE_SCORE * raised.weight
        yield scorer.name, str(weight), str(reach), str(scorer.fate), scorer.why


def _columns(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Sets rows under each other: numbers to the right, words to the left."""
    table = list(rows)
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    numeric = [
        all(row[column].isdigit() or row[column] == "none" for row in table[1:]) for column in range(len(widths))
    ]
    for row in table:
        cells = (
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(row, widths, numeric, strict=True)
        )
        yield "  ".join(cells).rstrip()


def _indent(lines: Iterable[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)

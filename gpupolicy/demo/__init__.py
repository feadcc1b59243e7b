"""The whole story on one machine, without a cluster: lint, compile, admit over TLS, the picture before and after."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

from gpupolicy.admission import decide
from gpupolicy.admission.route import ROUTED_TO
from gpupolicy.assignment import assign
from gpupolicy.compiler import compile
from gpupolicy.demo.picture import draw
from gpupolicy.demo.server import Answer, running_webhook
from gpupolicy.errors import MissingExtraError
from gpupolicy.linting import lint
from gpupolicy.loading import load_text
from gpupolicy.model import Policy
from gpupolicy.reporting.story_format import format_changes
from gpupolicy.resources import read_text
from gpupolicy.simulation import Layout, Strategy, place_pods

POLICY = "classic.yaml"
SIZES = (1, 2, 3, 4, 8)
ARRIVALS = (1, 1, 1, 1, 1, 8)
_NODES = {f"gpu-{number}": 8 for number in range(1, 6)}


@dataclass(frozen=True, slots=True)
class Asked:
    """One review that was sent, and what came back."""

    gpus: int
    answer: Answer


def tell(folder: Path) -> Iterator[str]:
    """Yields the story, one chapter at a time, each as soon as it has happened.

    Args:
        folder: an empty folder for the policy, the CA and the certificate.

    Raises:
        DemoError: the webhook did not come up.
    """
    file = folder / POLICY
    file.write_text(read_text("policies", POLICY), encoding="utf-8")
    yield _tell_lint(file)
    policy = load_text(file.read_text(encoding="utf-8"), POLICY)
    yield _tell_compile(policy)
    yield from _tell_admission(policy, file, folder)
    yield from _tell_fragmentation(policy)


def _tell_lint(file: Path) -> str:
    findings = lint(file)
    return f"1. gpupolicy lint {POLICY}\n    {len(findings)} findings\n"


def _tell_compile(policy: Policy) -> str:
    kinds = Counter(str(document["kind"]) for document in compile(policy))
    listed = "\n".join(f"    {count} {kind}" for kind, count in kinds.items())
    return f"2. gpupolicy compile {POLICY}: one policy stands for\n{listed}\n"


def _tell_admission(policy: Policy, file: Path, folder: Path) -> Iterator[str]:
    """Asks the real webhook; without its packages, the decision function that it would ask."""
    try:
        with running_webhook(file, folder / "certificates") as client:
            yield f"3. gpupolicy serve {POLICY}: https://127.0.0.1:{client.port}, with a CA made a moment ago\n"
            asked = [Asked(gpus, client.ask(_review(gpus))) for gpus in SIZES]
        title = "4. Five pods, posted to /mutate as the API server sends them\n"
    except MissingExtraError as error:
        yield f"3. gpupolicy serve {POLICY}: left out, {error}\n"
        asked = [Asked(gpus, _decide(policy, gpus)) for gpus in SIZES]
        title = "4. Five pods, as the webhook's decision function judges them\n"
    yield title + "\n".join(_tell_answer(item) for item in asked) + "\n"
    yield _tell_patch(asked[0])


def _review(gpus: int) -> dict[str, object]:
    """Returns a review recorded from an API server, for a pod with a number of GPUs."""
    review: dict[str, object] = json.loads(read_text("templates", "demo/create-pod.json"))
    (container,) = review["request"]["object"]["spec"]["containers"]  # type: ignore[index] # our own file
    for amounts in container["resources"].values():
        amounts["nvidia.com/gpu"] = str(gpus)
    return review


def _decide(policy: Policy, gpus: int) -> Answer:
    request: Mapping[str, dict[str, object]] = _review(gpus)["request"]  # type: ignore[assignment] # our own file
    decision = decide(policy, request["object"])
    return Answer(
        allowed=decision.allowed,
        message="" if decision.allowed else decision.reason,
        warnings=tuple(finding.message for finding in decision.warnings),
        patch=tuple(deepcopy(decision.patch)),
    )


def _tell_answer(asked: Asked) -> str:
    title = f"    {asked.gpus} GPU{' ' if asked.gpus == 1 else 's'}  "
    if not asked.answer.allowed:
        return f"{title}denied   {asked.answer.message}"
    values = {operation["path"]: operation.get("value") for operation in asked.answer.patch}
    noted: Mapping[str, str] = values["/metadata/annotations"]  # type: ignore[assignment] # our own patch
    return f"{title}allowed  to {noted[ROUTED_TO]}, scheduled by {values['/spec/schedulerName']}"


def _tell_patch(asked: Asked) -> str:
    changes = "\n".join(f"      {line}" for line in format_changes(asked.answer.patch))
    return f"    What is changed in the {asked.gpus}-GPU pod; what its author wrote stays:\n{changes}\n"


def _tell_fragmentation(policy: Policy) -> Iterator[str]:
    """Draws the same arrivals three times: spread, packed, and in slot groups."""
    yield "5. Five 1-GPU pods arrive on five nodes of 8 GPUs, then one of 8 GPUs (a small model of the scheduler)\n"
    yield _draw("spread, as Kubernetes does by default", place_pods(ARRIVALS, _NODES, Strategy.SPREAD))
    yield _draw("packed, by the compiled profile", place_pods(ARRIVALS, _NODES, Strategy.PACK))
    groups = _groups(policy)

    def may_use(size: int, node: str) -> bool:
        return size in policy.groups_by_name[groups[node]].sizes

    layout = place_pods(ARRIVALS, _NODES, Strategy.PACK, may_use)
    yield _draw(f"in the slot groups of {POLICY}", layout, groups)
    room = sum(free for node, free in layout.free.items() if may_use(1, node))
    yield (
        f"    What slot groups cost: of the {layout.free_gpus} free GPUs, 1-GPU pods may use {room}.\n"
        "    What they buy: the slots left for each size are known at any time, and big jobs keep theirs.\n"
    )


def _draw(title: str, layout: Layout, notes: Mapping[str, str] | None = None) -> str:
    return f"  {title}\n{draw(layout, _NODES, notes)}\n"


def _groups(policy: Policy) -> dict[str, str]:
    """Returns the slot group of each node, as the policy divides them."""
    gpu_type = policy.gpu_types[0]
    labels = dict(gpu_type.node_selector.match_labels) if gpu_type.node_selector else {}
    amounts = {gpu_type.resource_name: "8"}
    nodes = [
        {"metadata": {"name": name, "labels": labels}, "status": {"allocatable": amounts, "capacity": amounts}}
        for name in _NODES
    ]
    return {node: group for node, (_, group) in assign(policy, nodes).groups.items() if group is not None}

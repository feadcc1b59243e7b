"""Paths to pods as policies write them: ``spec.trial.podTemplate``, ``spec.replicas.*.template``, ``spec.tasks[*]``."""

from __future__ import annotations

import re

from gpupolicy.workloads.kinds import Steps

EVERY = "*"
_LONGEST = 32
_STEP = re.compile(r"([A-Za-z_][\w-]*|\*)((?:\[\*\])*)")
_INDEX = re.compile(r"\[[^*\]]*\]")
_NOT_SEARCHED = ("apiVersion", "kind", "metadata", "status")
_CONTAINERS = ("containers", "initContainers", "ephemeralContainers")


def parse_path(text: str) -> Steps:
    """Returns the steps of a path.

    Args:
        text: field names with dots between them; ``*`` as a step, or ``[*]`` behind one, is every entry.

    Raises:
        ValueError: it is no path; ``find_path_problem`` has the words.
    """
    steps: list[str] = []
    for part in text.split("."):
        match = _STEP.fullmatch(part)
        if match is None:
            raise ValueError(f"{part!r} is no step of a path")
        steps += [match[1], *[EVERY] * match[2].count(EVERY)]
    return tuple(steps)


def find_path_problem(text: str) -> tuple[str, str | None] | None:
    """Returns what keeps a text from being a path to pods, and a hint; None where nothing does."""
    if text.startswith(("$", ".", "/")):
        return "does not begin with a field name", f"write {text.lstrip('$./').replace('/', '.') or 'spec.template'}"
    if index := _INDEX.search(text):
        return f"names one entry by {index[0]}", f"write {_INDEX.sub('[*]', text)}, which is every entry"
    try:
        steps = parse_path(text)
    except ValueError:
        return "is not field names with dots between them", "write it as spec.template or spec.tasks[*].template"
    if steps[0] in _NOT_SEARCHED:
        return f"begins with {steps[0]}, where no workload describes its pods", None
    inside = next((position for position, step in enumerate(steps) if step in _CONTAINERS), None)
    if inside is not None:
        shorter = ".".join(steps[:inside]) or "spec"
        return "leads into a pod, not to the pod template or pod spec", f"write {shorter}"
    if len(steps) > _LONGEST:
        return f"has {len(steps)} steps; at most {_LONGEST} are followed", None
    return None

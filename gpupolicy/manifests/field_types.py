"""The types of a pod's fields that people get wrong: what YAML reads as a number or a truth value, and the reverse.

Only what the API server cannot decode is told. What admission reads itself is told there (``pod-not-readable``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gpupolicy.errors import FieldPath, Finding, Part, Severity
from gpupolicy.suggestions import find_slip

IN_QUOTES = "put it in quotes"  # better: as it is written there

_RESOURCES = "resources"
_RESOURCE_KEYS = ("limits", "requests", "claims")
_WORDS = {str: "a text", int: "a whole number", bool: "true or false", list: "a list", dict: "a mapping"}

# The form of a field: a scalar's type, the fields of a mapping, or the form of a list's entries as a tuple of one.
_CONTAINER: Mapping[str, object] = {
    "name": str,
    "image": str,
    "imagePullPolicy": str,
    "workingDir": str,
    "command": (str,),
    "args": (str,),
    "env": ({"name": str, "value": str},),
    "ports": ({"name": str, "containerPort": int, "hostPort": int, "protocol": str},),
    "volumeMounts": ({"name": str, "mountPath": str, "readOnly": bool},),
}
_CONTAINERS = (_CONTAINER,)
_SPEC: Mapping[str, object] = {
    "restartPolicy": str,
    "serviceAccountName": str,
    "priorityClassName": str,
    "runtimeClassName": str,
    "priority": int,
    "activeDeadlineSeconds": int,
    "terminationGracePeriodSeconds": int,
    "hostNetwork": bool,
    "hostPID": bool,
    "hostIPC": bool,
    "tolerations": ({"key": str, "operator": str, "value": str, "effect": str, "tolerationSeconds": int},),
    "volumes": ({"name": str},),
    "imagePullSecrets": ({"name": str},),
    "containers": _CONTAINERS,
    "initContainers": _CONTAINERS,
}
_READ_BY_ADMISSION = ("tolerations", "containers", "initContainers")


def find_type_problems(spec: Mapping[str, object], path: FieldPath) -> Iterator[Finding]:
    """Yields the fields of a pod's spec that have another type than the API gives them; null is none.

    Source: measured on 1.37.2: "json: cannot unmarshal number into Go struct field EnvVar...value of type string".
    """
    for key, value in spec.items():
        form = _SPEC.get(key)
        if form is None or type(value) is form or (key in _READ_BY_ADMISSION and not isinstance(value, list)):
            continue
        if not _fits(value, form):
            yield from _find_problems(value, form, (*path, key))
        if form is _CONTAINERS and isinstance(value, list):
            for index, container in enumerate(value):
                if isinstance(container, Mapping):
                    yield from _find_unread_resources(container, (*path, key, index))


def _fits(value: object, form: object) -> bool:
    """Returns whether a scalar or a list has a form, which is asked of every pod, so in few calls.

    False where it is not plain: where there is a problem ``_find_problems`` finds it.
    """
    if value is None or type(value) is form:
        return True
    if not isinstance(form, tuple) or type(value) is not list:
        return False
    wanted = form[0]
    for entry in value:
        if type(entry) is not wanted:
            if type(entry) is not dict or type(wanted) is not dict:
                return False
            for key, part in entry.items():
                known = wanted.get(key)
                if known is not None and type(part) is not known and not _fits(part, known):
                    return False
    return True


def _find_problems(value: object, form: object, path: FieldPath) -> Iterator[Finding]:
    if value is None:
        return
    if isinstance(form, tuple):
        if not isinstance(value, list):
            yield _wrong(value, list, path)
            return
        for index, entry in enumerate(value):
            yield from _find_problems(entry, form[0], (*path, index))
    elif isinstance(form, Mapping):
        if isinstance(value, Mapping):
            for key in (key for key in form if key in value):
                yield from _find_problems(value[key], form[key], (*path, key))
        elif path[-2] not in _READ_BY_ADMISSION:
            yield _wrong(value, dict, path)
    elif isinstance(form, type) and type(value) is not form:
        yield _wrong(value, form, path)


def _find_unread_resources(container: Mapping[str, object], path: FieldPath) -> Iterator[Finding]:
    """Yields misspelt and misplaced keys by which a container asks for nothing."""
    for key in container:
        if key in _RESOURCE_KEYS[:2]:
            yield _unread((*path, key), f"{key} stands outside of {_RESOURCES}", f"put it below {_RESOURCES}")
        elif key != _RESOURCES and _RESOURCES not in container and find_slip(key, (_RESOURCES,)):
            yield _unread((*path, key), f"a container has no field {key}", f"did you mean {_RESOURCES}")
    resources = container.get(_RESOURCES)
    for key in resources if isinstance(resources, Mapping) else ():
        if key not in _RESOURCE_KEYS:
            near = find_slip(key, _RESOURCE_KEYS)
            hint = f"did you mean {near}" if near else f"known: {', '.join(sorted(_RESOURCE_KEYS))}"
            yield _unread((*path, _RESOURCES, key), f"{_RESOURCES} has no field {key}", hint)


def _unread(field: FieldPath, message: str, hint: str) -> Finding:
    told = f"{message}: kubectl refuses it, and others drop it with the GPUs in it"
    return Finding(
        rule="resources-not-read", severity=Severity.ERROR, field=field, message=told, part=Part.KEY, hint=hint
    )


def _wrong(value: object, expected: type, path: FieldPath) -> Finding:
    name = path[-1] if isinstance(path[-1], str) else f"an entry of {path[-2]}"
    hint = IN_QUOTES if expected is str and isinstance(value, (bool, int, float)) else None
    return Finding(
        rule="field-of-wrong-type",
        severity=Severity.ERROR,
        field=path,
        message=f"{name} is {shape(value)}, {_WORDS[expected]} is expected",
        hint=hint,
    )


def shape(value: object) -> str:
    """Returns what a value is, for messages."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return f"the number {value}" if len(str(value)) <= 40 else "a number"
    if isinstance(value, str):
        return "a text"
    return "a list" if isinstance(value, list) else "a mapping"

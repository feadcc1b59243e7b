"""GPUs that are counted elsewhere than in resources: by arguments of a program, by fields of a kind's own."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from gpupolicy.errors import FieldPath

# vLLM, SGLang, TensorRT-LLM and Ray name GPUs so. One tensor-parallel rank alone may as well be a CPU.
_ARGUMENT = re.compile(
    r"(?<![\w-])(?:(?P<parallel>--tensor[-_]parallel[-_]size|--tp[-_]size|--?tp)|--num[-_]gpus)"
    r"[= ]+(?P<number>\d+)\b"
)
_HINTS = ("tensor", "tp", "gpus")
_FIELD = re.compile(
    r"(?:(?:num(?:ber)?|n)?(?:of)?gpus?(?:count|num(?:ber)?|size|(?:per|each)\w+)?|tensorparallel(?:size|ism|degree)?)",
    re.IGNORECASE,
)

_GIVEN = r"(?:(?<![\w./-])|(?<=limits\.)|(?<=requests\.)){name}[\"']?\s*[:=]\s*[\"']?[1-9]"


def asks_for_devices(pod: object) -> bool:
    """Returns whether a pod asks for any extended resource or claim, whoever counts it."""
    spec = _mapping(_mapping(pod).get("spec"))
    if spec.get("resourceClaims"):
        return True
    return any(
        "/" in name
        for container in _containers(spec)
        for side in ("limits", "requests")
        for name in map(str, _mapping(_mapping(_mapping(container).get("resources")).get(side)))
    )


def find_argument(pod: object) -> tuple[FieldPath, str] | None:
    """Returns the arguments of a container that count GPUs: their field in the pod, and the words."""
    spec = _mapping(_mapping(pod).get("spec"))
    for kind in ("initContainers", "containers"):
        for index, container in enumerate(_list(spec.get(kind))):
            for key in ("args", "command"):
                words = _list(_mapping(container).get(key))
                if found := _find_words(" ".join(word for word in words if isinstance(word, str))):
                    return ("spec", kind, index, key), found
    return None


def is_own_count(key: object, value: object) -> bool:
    """Returns whether an entry of a kind that nobody knows looks like a number of GPUs."""
    if not isinstance(key, str) or isinstance(value, bool):
        return False
    if isinstance(value, str):
        is_positive = value.isdecimal() and value.strip("0") != ""
    else:
        is_positive = isinstance(value, int) and value > 0
    return is_positive and _FIELD.fullmatch(key.replace("-", "").replace("_", "")) is not None


def find_given(text: str, counted: Collection[str]) -> str | None:
    """Returns the counted resource to which a text, such as a chart's values, gives an amount."""
    plain = text.replace("\\", "")  # Helm's --set escapes the dots of a key
    for name in counted:
        if name in plain and re.search(_GIVEN.format(name=re.escape(name)), plain):
            return name
    return None


def _find_words(line: str) -> str | None:
    if not any(hint in line for hint in _HINTS):
        return None
    for match in _ARGUMENT.finditer(line):
        if int(match["number"][:9]) >= (2 if match["parallel"] else 1):
            return " ".join(match[0].split())
    return None


def _containers(spec: Mapping[str, object]) -> Iterator[object]:
    for kind in ("initContainers", "containers"):
        yield from _list(spec.get(kind))


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, (dict, Mapping)) else {}  # dict first: the abstract test is slow


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []

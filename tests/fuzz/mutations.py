"""Changes seeds as a person or an attacker might: cut, doubled, spliced, with odd words put in."""

from __future__ import annotations

import json
from collections.abc import Sequence
from copy import deepcopy
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import yaml

CORPUS = Path(__file__).parent / "corpus"
MOST_BYTES = 4096
_SYNTAX = (
    *("\n", "  ", "\t", "---\n", "...\n", "- ", ": ", "? ", "#", "'", '"', "|\n", ">-\n", ",", "{", "}", "[", "]"),
    *("&a ", "*a", "<<: *a", "!!str ", "!x ", "%YAML 1.2\n", "\r\n", "\u2028", "\x85", "\ufeff", "\x00", "\\u0000"),
    *("null", "~", "true", "no", "010", "0x8", "1e30", "-1", "9" * 30, "1:30", ".inf", "2027-02-30", "Infinity"),
)
_NAMES = """
apiVersion kind metadata spec template containers initContainers resources limits nvidia.com/gpu resourceClaims affinity
nodeAffinity nodeSelectorTerms matchExpressions operator In values my.gpu.cluster/node-group tolerations nodeName items
List ResourceList functionConfig data policy annotations ownerReferences request object oldObject operation CREATE
UPDATE uid subResource namespace gpuTypes slotGroups sizes nodes overflow exemptions workloads templates {{.Values}}
"""
_NO_TEXT = (b"\xff", b"\xfe\xff", b"\xc3", b"\xed\xa0\x80")
WORDS = (*(word.encode() for word in (*_SYNTAX, *_NAMES.split())), *_NO_TEXT)

_VALUES = (None, True, 0, -1, 3, 2**63, 1.5, "", "x", "é\u0000", "1e30", "3", [], {}, [None], {"": None}, "x" * 300)


def seeds() -> tuple[bytes, ...]:
    """The corpus, in the order of its names."""
    return tuple(path.read_bytes() for path in sorted(CORPUS.iterdir()))


def mutate(random: Random, corpus: Sequence[bytes]) -> bytes:
    """Returns a seed with some changes, every other time of its values rather than of its bytes."""
    return mutate_value(random, corpus) if random.random() < 0.5 else mutate_bytes(random, corpus)


def mutate_value(random: Random, corpus: Sequence[bytes]) -> bytes:
    """Returns the values of a seed as JSON, with one to four of them replaced, removed or doubled."""
    trees = [_read(seed) for seed in corpus]
    value = deepcopy(random.choice(trees))
    for _ in range(random.randint(1, 4)):
        parent, key = _choose(random, value)
        other = deepcopy(random.choice((*_VALUES, _choose_value(random, random.choice(trees)))))
        if parent is None:
            value = other
        elif random.random() < 0.2 and isinstance(parent, dict):
            del parent[key]
        elif random.random() < 0.2 and isinstance(parent, list):
            parent.insert(key, deepcopy(parent[key]))
        else:
            parent[key] = other
    return json.dumps(value).encode()[:MOST_BYTES]


@cache
def _read(seed: bytes) -> Any:
    """The first document of a seed; a text where it has none that JSON could hold."""
    try:
        return json.loads(json.dumps(next(iter(yaml.safe_load_all(seed)), None)))
    except (ValueError, TypeError, yaml.YAMLError, RecursionError):
        return seed.decode(errors="replace")


def _choose(random: Random, value: Any) -> tuple[Any, Any]:
    """A place in a value, chosen by a walk from its root: what holds it, and its key there."""
    parent, key = None, None
    while isinstance(value, (dict, list)) and value and (parent is None or random.random() < 0.8):
        parent, key = value, random.choice(list(value) if isinstance(value, dict) else range(len(value)))
        value = parent[key]
    return parent, key


def _choose_value(random: Random, value: Any) -> Any:
    parent, key = _choose(random, value)
    return value if parent is None else parent[key]


def mutate_bytes(random: Random, corpus: Sequence[bytes]) -> bytes:
    """Returns a seed with one to eight changes of its bytes."""
    data = bytearray(random.choice(corpus))
    for _ in range(random.randint(1, 8)):
        start = random.randrange(len(data) + 1)
        end = min(len(data), start + random.choice((0, 1, 2, 8, 64)))
        match random.randrange(5):
            case 0:
                del data[start:end]
            case 1:
                data[start:end] = random.choice(WORDS)
            case 2:
                data[start:start] = data[start:end] * random.randint(1, 4)
            case 3:
                other = random.choice(corpus)
                position = random.randrange(len(other) + 1)
                data[start:end] = other[position : position + 64]
            case _:
                data[start:end] = random.randbytes(end - start)
    return bytes(data[:MOST_BYTES])

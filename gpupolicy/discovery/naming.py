"""Names of GPU types: label values from whatever a product is called, and short names that people say."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import sha256

LONGEST = 63

_ODD = re.compile(r"[^A-Za-z0-9_.-]+")
_EDGES = "-_."
_MODEL = re.compile(
    r"(?<![A-Za-z0-9])(?:tesla[-_ ]?)?("
    r"GB[23]00|GH200|[HB][123]00|A(?:2|10G?|16|30|40|100|4000|4500|5000|6000|800)|H20|H800|V100S?|P100|P40|P4|P6|K80|M60|M40|"
    r"L2|L4|L20|L40S?|T4G?|RTX[-_ ]?(?:PRO[-_ ]?)?[0-9]{4}|MI[0-9]{2,3}[AX]?|Max[-_ ][0-9]{4}|"
    r"Flex[-_ ][0-9]{3}|Gaudi[0-9]?"
    r")(?![A-Za-z0-9])",
    re.IGNORECASE,
)
_MEMORY = re.compile(r"(?<![A-Za-z0-9])([0-9]{1,3}) ?GB(?![A-Za-z0-9])", re.IGNORECASE)
_MIG = re.compile(r"MIG-([0-9]g\.[0-9]+gb)", re.IGNORECASE)


def to_name(text: str) -> str:
    """Returns a product's name as a label can hold it: odd characters become ``-``, long ones are cut in the middle.

    What tells models apart stands at the ends, so a digest takes the place of the middle.
    """
    name = _ODD.sub("-", text).strip(_EDGES) or "GPU"
    if len(name) <= LONGEST:
        return name
    digest = sha256(text.encode()).hexdigest()[:6]
    return f"{name[:27].rstrip(_EDGES)}-{digest}-{name[-27:].lstrip(_EDGES)}"


def propose_aliases(types: Sequence[tuple[str, int, bool]]) -> tuple[str | None, ...]:
    """Returns a short name for each type, None where no name is short and nobody else's.

    Args:
        types: (name, GPUs a node, whether its unit is a part of a device), in the order of the policy.
    """
    ladders = [tuple(_short_names(*entry)) for entry in types]
    taken = {name for name, _, _ in types}
    aliases: list[str | None] = [None] * len(types)
    for rung in range(max((len(ladder) for ladder in ladders), default=0)):
        open_ = [i for i, ladder in enumerate(ladders) if aliases[i] is None and rung < len(ladder)]
        wanted = Counter(ladder[rung] for ladder in ladders if rung < len(ladder))
        for index in open_:
            alias = ladders[index][rung]
            if alias == types[index][0]:
                aliases[index] = ""  # it is called so already
            elif wanted[alias] == 1 and alias not in taken:
                aliases[index] = alias
                taken.add(alias)
    return tuple(alias or None for alias in aliases)


def _short_names(name: str, gpus: int, is_slice: bool) -> Iterator[str]:
    """Yields what people might call a type, the shortest first."""
    found = _MODEL.search(name.replace("_", "-"))
    if found is None:
        return
    model = found[1].lower().replace(" ", "-")
    mig, memory = _MIG.search(name), _MEMORY.search(name)
    if mig or is_slice:
        yield f"{model}-{mig[1].lower() if mig else 'shared'}"
        return
    yield model
    if memory:
        yield f"{model}-{memory[1]}gb"
    yield f"{model}-x{gpus}"
    if memory:
        yield f"{model}-{memory[1]}gb-x{gpus}"

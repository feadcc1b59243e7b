"""Sources of template engines: text with {{ }} in it that is no YAML until Helm or its like has rendered it."""

from __future__ import annotations

import re

# An expression outside of quotes: inside of them it is YAML already, as Argo has it.
_EXPRESSION = re.compile(r"""^[^"'#\n]*?(\{\{|\{%)""", re.MULTILINE)
_NEXT_DOCUMENT = re.compile(r"^---(?=\s|\Z)", re.MULTILINE)


def find_expression(text: str) -> int | None:
    """Returns where the first expression of the first document of a text starts; None where there is none."""
    following = _NEXT_DOCUMENT.search(text, 3)
    matched = _EXPRESSION.search(text, 0, following.start() if following else len(text))
    return matched.start(1) if matched else None

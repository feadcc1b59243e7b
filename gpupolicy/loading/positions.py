"""Where a field stands in a text: a second pass, made only when somebody asks."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from gpupolicy.errors import FieldPath, Part

if TYPE_CHECKING:  # loads libyaml
    from gpupolicy.loading.node_positions import NodePositions


class Positions:
    """Lines and columns, counted from 1, of one document; columns count characters.

    Attributes:
        text: the document, from the start of its first line.
        line: the number of that line in the file.
    """

    def __init__(self, text: str, line: int) -> None:
        self.text = text
        self.line = line

    def find(self, path: FieldPath, part: Part = Part.VALUE) -> tuple[int, int]:
        """Returns the place of a field, or of the nearest one above it that is there.

        A missing field is looked for in the mapping that lacks it; a merged one where it was written.
        """
        return self._nodes.find(path, part)

    def find_first_key(self, path: FieldPath) -> tuple[int, int] | None:
        """Returns where a key that may be repeated stands first in its mapping."""
        return self._nodes.find_first_key(path)

    def find_all(self) -> dict[FieldPath, tuple[int, int]]:
        """Returns the places of all values, by path; the document itself stands under ()."""
        return self._nodes.find_all()

    @cached_property
    def _nodes(self) -> NodePositions:
        from gpupolicy.loading.node_positions import NodePositions

        return NodePositions(self.text, self.line)

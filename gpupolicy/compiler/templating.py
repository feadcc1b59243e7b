"""Fills the manifest texts in templates/: they hold text, what is decided stands in the values."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from string import Template
from typing import cast

import yaml

from gpupolicy.compiler.manifest import Document
from gpupolicy.resources import read_text


def fill(name: str, values: Mapping[str, object]) -> list[Document]:
    """Returns the documents of a template with its ``${names}`` replaced.

    A scalar that is one placeholder takes the value as it is, a number or a list too; with None its entry vanishes.
    Inside a longer text the value stands as text. The text is parsed first, so no value can change the structure.

    Args:
        name: a file in templates/, without ``.yaml``.
        values: what each placeholder stands for.

    Raises:
        KeyError: a placeholder has no value.
    """
    return [cast(Document, _fill(document, values)) for document in _parse(name)]


@cache
def _parse(name: str) -> tuple[object, ...]:
    return tuple(yaml.load_all(read_text("templates", f"{name}.yaml"), Loader=yaml.CSafeLoader))


def _fill(value: object, values: Mapping[str, object]) -> object:
    if isinstance(value, str):
        return _fill_text(value, values)
    if isinstance(value, dict):
        entries = ((_fill(key, values), _fill(entry, values)) for key, entry in value.items())
        return {key: entry for key, entry in entries if entry is not None}
    if isinstance(value, list):
        return [entry for entry in (_fill(entry, values) for entry in value) if entry is not None]
    return value


def _fill_text(text: str, values: Mapping[str, object]) -> object:
    if text.startswith("${") and text.endswith("}") and text.count("${") == 1:
        return values[text[2:-1]]
    return Template(text).substitute(values) if "$" in text else text

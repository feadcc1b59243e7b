"""The fields in docs/policy-format.md, made of the schema: ``python tests/format_page.py`` writes them anew."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from gpupolicy.loading.schema import read_schema

PAGE = Path(__file__).parents[1] / "docs" / "policy-format.md"
START = "<!-- fields: made by python tests/format_page.py -->\n"
END = "<!-- end of fields -->\n"
PLURALS = {"text": "texts", "mapping": "mappings", "number 1..1024": "numbers 1..1024"}
WORDS = {"string": "text", "integer": "number", "boolean": "true or false", "object": "mapping"}

Schema = Mapping[str, Any]


def render() -> str:
    """The tables, one for each mapping of the format."""
    return "\n".join(_tables("spec", read_schema()["properties"]["spec"], set()))


def written() -> str:
    """The tables as the page has them."""
    return PAGE.read_text().partition(START)[2].partition(END)[0]


def _tables(path: str, schema: Schema, seen: set[str]) -> Iterator[str]:
    required = schema.get("required", ())
    yield f"### {path}\n"
    yield "| field | value | default | |\n| --- | --- | --- | --- |"
    inner: list[tuple[str, Schema]] = []
    for name, entry in schema["properties"].items():
        target = _resolve(entry)
        default = f"`{_shown(target['default'])}`" if "default" in target else ""
        star = "*" if name in required else ""
        yield f"| `{name}`{star} | {_value(target)} | {default} | {target['description']} |"
        inner += [(f"{path}.{name}{suffix}", below) for suffix, below in _below(target)]
    yield ""
    for place, below in inner:
        key = str(sorted(below["properties"]))
        if key not in seen:
            seen.add(key)
            yield from _tables(place, below, seen)


def _resolve(entry: Schema) -> Schema:
    """The entry with what it refers to; its own description and default win."""
    if "$ref" not in entry:
        return entry
    return {**_resolve(read_schema()["$defs"][entry["$ref"].removeprefix("#/$defs/")]), **entry}


def _below(entry: Schema) -> Iterator[tuple[str, Schema]]:
    """The mappings inside of an entry."""
    if "properties" in entry:
        yield "", entry
    if "items" in entry:
        yield from ((f"[]{suffix}", below) for suffix, below in _below(_resolve(entry["items"])))
    if "else" in entry:
        yield from _below(_resolve(entry["else"]))


def _value(entry: Schema) -> str:
    if "enum" in entry:
        return ", ".join(f"`{word}`" for word in entry["enum"])
    if "then" in entry:
        return f"{_value(_resolve(entry['then']))} or {_value(_resolve(entry['else']))}"
    if "items" in entry:
        value = _value(_resolve(entry["items"]))
        return f"list of {PLURALS.get(value, value)}"
    if "x-form" in entry:
        return str(entry["x-form"])
    bounds = f" {entry['minimum']}..{entry['maximum']}" if "minimum" in entry else ""
    return WORDS[entry["type"]] + bounds


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


if __name__ == "__main__":
    before, _, rest = PAGE.read_text().partition(START)
    PAGE.write_text(before + START + "\n" + render() + END + rest.partition(END)[2])

"""The JSON Schema of the policy format, and a quick look whether a value fits it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from gpupolicy.resources import read_text

Schema = Mapping[str, Any]

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "boolean": (bool,),
}
_ANNOTATIONS = frozenset(("$schema", "$id", "$defs", "title", "description", "default", "x-form"))


@cache
def read_schema() -> Schema:
    """Returns the schema that ships with the package."""
    schema: Schema = json.loads(read_text("loading", "policy.schema.json"))
    return schema


def fits(value: object, schema: Schema | None = None) -> bool:
    """Returns whether a value surely fits the schema.

    jsonschema decides and names what is wrong; this look spares importing it (60 ms, three times the start of Python)
    where nothing is wrong. It knows only the keywords that our schema uses: at any other it says no, and jsonschema
    has the word. A property test holds the two together.

    Args:
        value: plain dicts, lists and scalars.
        schema: a part of the policy schema; the whole where it is left out.
    """
    return _fits(read_schema() if schema is None else schema, value)


def _fits(schema: Schema, value: Any) -> bool:
    return all(
        keyword in _ANNOTATIONS or (keyword in _KEYWORDS and _KEYWORDS[keyword](schema, value)) for keyword in schema
    )


def _ref(schema: Schema, value: Any) -> bool:
    return _fits(read_schema()["$defs"][schema["$ref"].removeprefix("#/$defs/")], value)


def _type(schema: Schema, value: Any) -> bool:
    names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return any(type(value) in _TYPES[name] for name in names)


def _properties(schema: Schema, value: Any) -> bool:
    parts: Schema = schema["properties"]
    return not isinstance(value, dict) or all(_fits(parts[key], value[key]) for key in parts.keys() & value.keys())


def _additional(schema: Schema, value: Any) -> bool:
    if not isinstance(value, dict):
        return True
    others = value.keys() - schema.get("properties", {}).keys()
    rest = schema["additionalProperties"]
    return not others if rest is False else all(_fits(rest, value[key]) for key in others)


def _if(schema: Schema, value: Any) -> bool:
    branch = "then" if _fits(schema["if"], value) else "else"
    return _fits(schema.get(branch, {}), value)


_KEYWORDS: dict[str, Callable[[Schema, Any], bool]] = {
    "$ref": _ref,
    "type": _type,
    "const": lambda schema, value: type(value) is str and value == schema["const"],
    "enum": lambda schema, value: type(value) is str and value in schema["enum"],
    "properties": _properties,
    "required": lambda schema, value: not isinstance(value, dict) or value.keys() >= set(schema["required"]),
    "additionalProperties": _additional,
    "items": lambda schema, value: not isinstance(value, list) or all(_fits(schema["items"], v) for v in value),
    "minItems": lambda schema, value: not isinstance(value, list) or len(value) >= schema["minItems"],
    "minLength": lambda schema, value: not isinstance(value, str) or len(value) >= schema["minLength"],
    "minimum": lambda schema, value: type(value) is not int or value >= schema["minimum"],
    "maximum": lambda schema, value: type(value) is not int or value <= schema["maximum"],
    "pattern": lambda schema, value: not isinstance(value, str) or bool(re.search(schema["pattern"], value)),
    "anyOf": lambda schema, value: any(_fits(part, value) for part in schema["anyOf"]),
    "if": _if,
    "then": lambda schema, value: True,  # judged with "if"
    "else": lambda schema, value: True,
}

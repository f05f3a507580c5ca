"""JSON in the answers of language models: strict schemas, and the objects of an answer.

Imports no library, because the web process loads modules that use it.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from models_runtime.backends.llm.asking import THOUGHT

_DECODER: Final = json.JSONDecoder()


def object_schema(properties: Mapping[str, Any]) -> dict[str, Any]:
    """A strict JSON schema of an object: all properties are required, and no others are allowed."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def list_schema(key: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    """A strict JSON schema of an object whose only property `key` is a list of objects with these properties."""
    return object_schema({key: {"type": "array", "items": object_schema(properties)}})


def objects_in(answer: str) -> Iterator[Any]:
    """The JSON objects of an answer after a reasoning model's thoughts. The answer may be fenced or have other text."""
    at = answer.find("{", max(answer.rfind(THOUGHT), 0))
    while at >= 0:
        try:
            found = _DECODER.raw_decode(answer, at)[0]
        except (ValueError, RecursionError):
            pass
        else:
            yield found
        at = answer.find("{", at + 1)

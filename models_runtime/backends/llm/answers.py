"""Parse answers that should be JSON of a schema, as far as possible. Unreadable entries are counted, not repaired."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from models_runtime.backends.base import BackendError
from models_runtime.backends.llm.asking import THOUGHT
from models_runtime.backends.llm.prompts import NOTHING
from models_runtime.backends.llm.structured import list_schema

KEY: Final = "entities"
_DECODER: Final = json.JSONDecoder()
_LIST: Final = re.compile(rf'"{KEY}"\s*:\s*\[')

M = TypeVar("M", bound=BaseModel)


class Mention(BaseModel):
    """A mention: its exact text, its type, and a few words of context around it (Singh et al. 2025, section 3.1)."""

    model_config = ConfigDict(extra="ignore", strict=True)

    text: str = Field(min_length=1)
    type: str
    context: str = ""


@dataclass(frozen=True)
class Listed(Generic[M]):
    """The entries of an answer, and the number of unreadable ones."""

    entries: list[M]
    broken: int


def schema_of(model: type[BaseModel], choices: dict[str, list[str]]) -> dict[str, Any]:
    """A strict JSON schema for {"entities": [model]}. `choices`: the allowed values of fields."""
    entry = model.model_json_schema()
    properties = {
        name: {"type": field["type"]} | ({"enum": choices[name]} if name in choices else {})
        for name, field in entry["properties"].items()
    }
    return list_schema(KEY, properties)


def listed(text: str, model: type[M]) -> Listed[M]:
    """The entries of an answer. It may be fenced, surrounded by text, or cut off.

    Raises BackendError for an answer without a list, which doesn't count as “nothing found”.
    """
    begin = _LIST.search(text, max(text.find(THOUGHT), 0)) or _LIST.search(text)
    if begin is None:
        raise BackendError("The model's answer is not the requested JSON.", permanent=False)
    entries: list[M] = []
    broken, at = 0, begin.end()
    while (at := _next(text, at)) < len(text) and text[at] != "]":
        try:
            value, at = _DECODER.raw_decode(text, at)
            entries.append(model.model_validate(value))
        except ValidationError:
            broken += 1
        except (json.JSONDecodeError, RecursionError):
            broken += 1
            found = text.find("{", at + 1)
            at = found if found >= 0 else len(text)
    return Listed(entries, broken)


def lines_of(text: str, kinds: Iterable[str]) -> Listed[Mention]:
    """The entries of an answer in lines, each with one of the types and the words (Xu et al. 2026, appendix A.1).

    Raises BackendError for an answer without an entry that doesn't say that there is none.
    """
    entries: list[Mention] = []
    entry = re.compile(rf"[-*•\s]*({'|'.join(map(re.escape, kinds))})\s*[:|\t–-]\s*(\S.*?)\s*", re.IGNORECASE)
    lines = [line for line in text.rpartition(THOUGHT)[2].splitlines() if line.strip()]
    for line in lines:
        found = entry.fullmatch(line)
        if found:
            entries.append(Mention(text=found[2], type=found[1]))
    nothing = sum(NOTHING in line.upper() for line in lines)
    if not entries and not nothing:
        raise BackendError("The model's answer has none of the requested lines.", permanent=False)
    return Listed(entries, len(lines) - len(entries) - nothing)


def _next(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n,":
        at += 1
    return at

"""What an agent's answer does: calls of tools, by the server's own tool calls or as JSON in the text of the answer."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from models_runtime.backends.llm.asking import Answer, ToolCall
from models_runtime.backends.llm.structured import list_schema, objects_in
from models_runtime.backends.refining.tools import Tool

KEY: Final = "calls"
MOST_CALLS: Final = 50
"""Calls of one answer that are carried out; the others are refused."""


@dataclass(frozen=True)
class Action:
    """A call of a tool. `id` is that of the server's tool call, empty for a JSON action."""

    id: str
    name: str
    arguments: object


def functions(tools: Iterable[Tool]) -> tuple[Mapping[str, Any], ...]:
    """The tools in the form of chat completions."""
    return tuple(
        {
            "type": "function",
            "function": {"name": tool.name, "description": tool.description, "parameters": tool.schema()},
        }
        for tool in tools
    )


def described(tools: Iterable[Tool]) -> str:
    """The tools as text, with the form of an answer, for servers without tool calls."""
    rows = []
    for tool in tools:
        arguments = "; ".join(
            f"{each.name} ({each.kind}{', required' if each.required else ''}): {each.description}"
            for each in tool.arguments
        )
        rows.append(f"- {tool.name}: {tool.description}{f' Arguments: {arguments}' if arguments else ''}")
    form = json.dumps({KEY: [{"tool": "keep", "number": 1, "reason": "…"}]}, ensure_ascii=False)
    return "\n".join([*rows, "", form])


def action_schema(tools: Sequence[Tool]) -> dict[str, Any]:
    """A strict JSON schema of an answer: calls, each with the name of a tool and all arguments that any tool has."""
    kinds: dict[str, str] = {argument.name: argument.kind for tool in tools for argument in tool.arguments}
    properties: dict[str, Any] = {"tool": {"type": "string", "enum": [tool.name for tool in tools]}}
    properties |= {name: {"type": [kind, "null"]} for name, kind in kinds.items()}
    return list_schema(KEY, properties)


def actions(answer: Answer) -> list[Action]:
    """The calls of an answer, in order; empty if there is none that can be read."""
    if answer.calls:
        return [Action(call.id, call.name, _arguments(call.arguments)) for call in answer.calls]
    read = next(objects_in(answer.text), None)
    rows = read.get(KEY) if isinstance(read, Mapping) and KEY in read else [read]
    return [
        Action("", row["tool"], {name: value for name, value in row.items() if name != "tool"})
        for row in (rows if isinstance(rows, list) else [])
        if isinstance(row, Mapping) and isinstance(row.get("tool"), str)
    ]


def written(answer: Answer) -> str:
    """An answer as a string of ASCII, for the store of answers: an answer may hold what databases reject."""
    return json.dumps(asdict(answer))


def read_again(stored: str) -> Answer:
    """The answer of `written`."""
    found = json.loads(stored)
    return Answer(**{**found, "calls": tuple(ToolCall(**call) for call in found["calls"])})


def _arguments(text: str) -> object:
    """The arguments of a tool call; a string that no tool accepts if they are no JSON."""
    try:
        return json.loads(text or "{}")
    except (ValueError, RecursionError):
        return text

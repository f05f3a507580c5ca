"""The tools of an agent that refines a note: pure functions that take a state and return the next one with an answer.

A tool sees and changes the annotations of this one note, and nothing else. An answer is a JSON object; an impossible
call gives `{"refused": "…"}` and leaves the to-do list as it is.
"""

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from pathlib import Path
from typing import Any, Final

from annotations.text.names import unkeepable
from annotations.text.spans import covered, tokenize
from models_runtime.backends.llm.asking import object_schema
from models_runtime.backends.refining.correcting import anchored
from models_runtime.backends.refining.state import Component, RefinementState, earlier
from models_runtime.backends.refining.todo import Action, DecisionRefused, Item, Todo, faults, still_open

# Arguments of tools: their JSON schema, and the check of what an agent sends.


LONGEST_TEXT: Final = 2000
"""Characters of a string among the arguments."""


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of a tool. `kind` is `integer` or `string`; `least` and `most` are bounds of an integer."""

    name: str
    kind: str
    description: str
    required: bool = False
    least: int = 0
    most: int | None = None
    choices: Sequence[str] = ()

    def schema(self) -> dict[str, Any]:
        found: dict[str, Any] = {"type": self.kind, "description": self.description}
        if self.kind == "integer":
            found["minimum"] = self.least
        if self.most is not None:
            found["maximum"] = self.most
        if self.choices:
            found["enum"] = list(self.choices)
        return found

    def checked(self, value: object) -> int | str:
        """The value, if it fits. Raises Refused."""
        if self.kind == "integer":
            limit = "" if self.most is None else f" and at most {self.most}"
            most = inf if self.most is None else self.most
            if isinstance(value, bool) or not isinstance(value, int) or not self.least <= value <= most:
                raise DecisionRefused(f"“{self.name}” must be a whole number, at least {self.least}{limit}.")
            return value
        if not isinstance(value, str):
            raise DecisionRefused(f"“{self.name}” must be a string.")
        if len(value) > LONGEST_TEXT:
            raise DecisionRefused(f"“{self.name}” can have at most {LONGEST_TEXT} characters.")
        if unkeepable(value):
            raise DecisionRefused(f"“{self.name}” contains NUL or an unpaired surrogate, which can't be stored.")
        if self.required and not value.strip():
            raise DecisionRefused(f"“{self.name}” is empty.")
        if self.choices and value not in self.choices:
            raise DecisionRefused(f"“{self.name}” must be one of: {', '.join(self.choices)}.")
        return value


def schema(arguments: Sequence[Argument]) -> dict[str, Any]:
    """The JSON schema of all arguments of a tool."""
    required = [argument.name for argument in arguments if argument.required]
    return object_schema({argument.name: argument.schema() for argument in arguments}) | {"required": required}


def checked(arguments: Sequence[Argument], given: object) -> dict[str, Any]:
    """The given arguments, if they fit the schema. An argument that is null counts as absent. Raises Refused."""
    if given is None:
        given = {}
    if not isinstance(given, Mapping):
        raise DecisionRefused("The arguments must be a JSON object.")
    known = {argument.name: argument for argument in arguments}
    unknown = [name for name in given if name not in known]
    if unknown:
        names = ", ".join(known) or "none"
        raise DecisionRefused(f"There is no argument “{str(unknown[0])[:40]}”. Arguments: {names}.")
    present = {str(name): known[name].checked(value) for name, value in given.items() if value is not None}
    for argument in arguments:
        if argument.required and argument.name not in present:
            raise DecisionRefused(f"“{argument.name}” is missing.")
    return present


Answer = dict[str, Any]
AROUND: Final = 30
"""Tokens of context on each side, unless the agent asks for more or fewer."""
MOST_ROWS: Final = 100
"""Annotations in one answer of the list."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool. `needs`: the component that it belongs to. `changes`: it decides about an annotation."""

    name: str
    description: str
    arguments: tuple[Argument, ...]
    run: Callable[[RefinementState, dict[str, Any]], tuple[RefinementState, Answer]]
    needs: Component | None = None
    changes: bool = False

    def schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments."""
        return schema(self.arguments)


def tools(components: frozenset[Component]) -> list[Tool]:
    """The tools that an agent with these components has."""
    return [tool for tool in TOOLS if tool.needs is None or tool.needs in components]


def call(state: RefinementState, name: str, arguments: object) -> tuple[RefinementState, Answer]:
    """Call a tool by its name. Whatever the arguments are, the answer is an object, never an exception."""
    try:
        tool = next((tool for tool in tools(state.components) if tool.name == name), None)
        if tool is None:
            names = ", ".join(each.name for each in tools(state.components))
            raise DecisionRefused(f"There is no tool “{str(name)[:40]}”. Tools: {names}.")
        return tool.run(state, checked(tool.arguments, arguments))
    except DecisionRefused as refused:
        return state, {"refused": str(refused)}


def row(state: RefinementState, item: Item) -> Answer:
    """An annotation as agents see it, with its text and decision."""
    span = item.span
    found: Answer = {
        "number": item.number, "start": span.start, "end": span.end, "text": state.todo.text[span.start : span.end],
        "label": span.label, "state": "open" if item.is_open else "done",
    }  # fmt: skip
    if item.decision is not None:
        found["decision"] = {"action": str(item.decision.action), "reason": item.decision.reason}
        if item.decision.action is Action.UPDATE:
            found["decision"] |= {"start": item.decision.start, "end": item.decision.end, "label": item.decision.label}
    return found


def _list(state: RefinementState, given: dict[str, Any]) -> tuple[RefinementState, Answer]:
    wanted, first = given.get("state", "all"), given.get("first", 1)
    items = [
        item for item in state.todo.items if wanted == "all" or item.is_open == (wanted == "open")
    ]  # by number, which is their order in the note
    shown = [item for item in items if item.number >= first][:MOST_ROWS]
    answer: Answer = {
        "annotations": [row(state, item) for item in shown],
        "total": len(state.todo.items),
        "open": len(state.todo.open()),
        "labels": sorted(state.todo.labels),
    }
    rest = [item.number for item in items if shown and item.number > shown[-1].number]
    return state, answer | ({"next": rest[0]} if rest else {})


def _context(state: RefinementState, given: dict[str, Any]) -> tuple[RefinementState, Answer]:
    item = state.item(given.get("number"))
    span, text = item.span, state.todo.text
    tokens = tokenize(text)
    first, past = covered(tokens, span.start, span.end)
    left = max(0, first - given.get("before", AROUND))
    right = min(len(tokens), past + given.get("after", AROUND))
    start = min(tokens[left].start, span.start) if left < len(tokens) else span.start
    end = max(tokens[right - 1].end, span.end) if right else span.end
    answer = row(state, item) | {
        "before": text[start : span.start],
        "after": text[span.end : end],
        "begins_note": left == 0,
        "ends_note": right == len(tokens),
    }
    if state.has(Component.MEMORY):
        answer["earlier_decisions"] = earlier(state.todo, item)
    return state.at(item.number), answer


def _validate(state: RefinementState, given: dict[str, Any]) -> tuple[RefinementState, Answer]:
    item = state.item(given.get("number"))
    checks = state.validate(state.todo.text, item.span)
    answer = {"checks": [{"check": each.name, "fits": each.fits, "detail": each.detail} for each in checks]}
    return state.at(item.number), {"number": item.number, "label": item.span.label, **answer}


def _skill(state: RefinementState, given: dict[str, Any]) -> tuple[RefinementState, Answer]:
    skill = state.skills.get(given["name"])
    if skill is None:
        raise DecisionRefused(
            f"There is no skill “{given['name'][:40]}”. Skills: {', '.join(sorted(state.skills)) or 'none'}."
        )
    return state, {
        "name": skill.name,
        "version": skill.version,
        "labels": sorted(skill.labels & state.todo.labels),
        "text": skill.text,
    }


def _remember(state: RefinementState, given: dict[str, Any]) -> tuple[RefinementState, Answer]:
    item = state.item(given.get("number"))
    return state.at(item.number), {"number": item.number, "earlier_decisions": earlier(state.todo, item)}


def _keep(state: RefinementState, given: dict[str, Any]) -> tuple[RefinementState, Answer]:
    item = state.item(given.get("number"))
    return _decided(state, item, state.todo.keep(item.number, given["reason"]))


def _remove(state: RefinementState, given: dict[str, Any]) -> tuple[RefinementState, Answer]:
    item = state.item(given.get("number"))
    return _decided(state, item, state.todo.remove(item.number, given["reason"]))


def _ends(state: RefinementState, given: dict[str, Any]) -> tuple[RefinementState, Answer]:
    item = state.item(given.get("number"))
    start, end = given.get("start"), given.get("end")
    if "text" in given:
        if start is not None or end is not None:
            raise DecisionRefused("Give either “text”, or “start” and “end”.")
        start, end = _found(state.todo.text, item, given["text"])
    elif start is None and end is None:
        raise DecisionRefused("Give the new “text”, or “start” and “end”.")
    label = item.decision.label if item.decision else None
    return _decided(state, item, state.todo.update(item.number, given["reason"], start=start, end=end, label=label))


def _class(state: RefinementState, given: dict[str, Any]) -> tuple[RefinementState, Answer]:
    item = state.item(given.get("number"))
    start, end = (item.decision.start, item.decision.end) if item.decision else (None, None)
    todo = state.todo.update(item.number, given["reason"], start=start, end=end, label=given["label"])
    return _decided(state, item, todo)


def _decided(state: RefinementState, item: Item, todo: Todo) -> tuple[RefinementState, Answer]:
    after = state.decided(todo)
    answer = row(after, after.todo.item(item.number))
    if state.has(Component.TODO):
        answer |= {"open": len(after.todo.open())} | ({"next": after.current} if after.current else {})
    return after, answer


def _finish(state: RefinementState, given: dict[str, Any]) -> tuple[RefinementState, Answer]:
    # Without a list, what is open stays as it is.
    found = still_open(state.todo) if state.has(Component.TODO) else []
    if state.has(Component.FINAL_VALIDATION):
        found += faults(state.todo)
    if found:
        return replace(state, finished=False), {"finished": False, "problems": found[:MOST_ROWS]}
    return replace(state, finished=True), {"finished": True, "problems": []}


def _found(text: str, item: Item, wanted: str) -> tuple[int, int]:
    """Where the wanted text is, at the place that is nearest to the annotation. Raises Refused."""
    found = anchored(text, item.span, wanted) if wanted.strip() else None
    if found is None:
        raise DecisionRefused(
            f"The note does not have this text at annotation {item.number}. Copy it exactly from the note."
        )
    return found


_RUN: Final = {
    "list_annotations": _list, "show_context": _context, "validate": _validate, "load_skill": _skill,
    "recall": _remember, "keep": _keep, "change_ends": _ends, "change_class": _class, "remove": _remove,
    "finish": _finish,
}  # fmt: skip


def _tools() -> Iterator[Tool]:
    given = tomllib.loads(Path(__file__).with_name("tools.toml").read_text(encoding="utf-8"))
    arguments = {name: Argument(name, **row) for name, row in given["arguments"].items()}
    for name, row in given["tools"].items():
        own = tuple(arguments[each] for each in row.get("arguments", ()))
        needs = Component(row["needs"]) if "needs" in row else None
        yield Tool(name, row["description"], own, _RUN[name], needs, row.get("changes", False))


TOOLS: Final = tuple(_tools())
"""All tools, in the order in which they are offered."""

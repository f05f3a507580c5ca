"""What an agent knows while it refines one note: the to-do list, the current annotation, and what it has done."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final

from annotations.text.search import folded
from annotations.text.spans import Span
from models_runtime.backends.refining.todo import Item, Refused, Todo


class Component(StrEnum):
    """A part of the agent that can be switched off, to measure what it contributes."""

    TODO = "todo"
    VALIDATORS = "validators"
    CONTEXT = "context"
    SKILLS = "skills"
    MEMORY = "memory"
    FINAL_VALIDATION = "final-validation"


ALL: Final = frozenset(Component)


@dataclass(frozen=True, slots=True)
class Check:
    """What a validator found out. `fits`: whether the text has the form and exists, such as a date of the calendar."""

    name: str
    fits: bool
    detail: str


Validate = Callable[[str, Span], list[Check]]
"""Takes the note's text and a span of it. An empty list: no validator is made for such text."""


def no_checks(text: str, span: Span) -> list[Check]:
    """The validator of a caller without any."""
    return []


@dataclass(frozen=True, slots=True)
class Skill:
    """Guidance for a group of labels, in Markdown. `version`: `shipped-1`, or `own-3` for a project's own text."""

    name: str
    title: str
    labels: frozenset[str]
    text: str
    version: str


@dataclass(frozen=True, slots=True)
class Call:
    """A tool that was called. `refused`: why nothing happened; empty if the tool did its work."""

    tool: str
    number: int | None
    refused: str


@dataclass(frozen=True, slots=True)
class RefinementState:
    """The state of one note. It never changes: a tool returns a new one. It holds nothing but this note.

    `current` is the number of the annotation that a call without a number is about. `finished`: the last check passed.
    """

    todo: Todo
    current: int | None = None
    history: tuple[Call, ...] = ()
    finished: bool = False
    skills: Mapping[str, Skill] = field(default_factory=dict)
    validate: Validate = no_checks
    components: frozenset[Component] = ALL

    @classmethod
    def of(
        cls,
        todo: Todo,
        *,
        skills: Mapping[str, Skill] | None = None,
        validate: Validate = no_checks,
        components: frozenset[Component] = ALL,
    ) -> "RefinementState":
        """A state in which the first open annotation is the current one."""
        return cls(todo, _next(todo), skills=skills or {}, validate=validate, components=components)

    def has(self, component: Component) -> bool:
        return component in self.components

    def item(self, number: int | None) -> Item:
        """The annotation with this number, by default the current one. Raises Refused."""
        if number is None:
            number = self.current
        if number is None:
            raise Refused("No annotation is open. Give the number of one, or finish.")
        return self.todo.item(number)

    def at(self, number: int) -> "RefinementState":
        """This annotation is the current one."""
        return replace(self, current=number)

    def decided(self, todo: Todo) -> "RefinementState":
        """After a decision, the next open annotation is the current one."""
        return replace(self, todo=todo, current=_next(todo), finished=False)

    def called(self, call: Call) -> "RefinementState":
        return replace(self, history=(*self.history, call))


def _next(todo: Todo) -> int | None:
    return next((item.number for item in todo.items if item.is_open), None)


def earlier(todo: Todo, item: Item) -> list[dict[str, Any]]:
    """The memory of a note: decisions about annotations with the same string and label, in their order."""
    same = string_of(todo, item)
    return [
        {
            "number": other.number,
            "action": str(other.decision.action),
            "label": other.decision.label,
            "reason": other.decision.reason,
        }
        for other in todo.done()
        if other.decision is not None
        and other.number != item.number
        and other.span.label == item.span.label
        and string_of(todo, other) == same
    ]


def string_of(todo: Todo, item: Item) -> str:
    """The annotated string, without regard to case and white space."""
    return folded(todo.text[item.span.start : item.span.end])

"""What an agent knows while it refines one note: the to-do list and the current annotation."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

from annotations.text.search import folded
from annotations.text.spans import Span
from annotations.text.wording import NamedValue, gettext_noop
from models_runtime.backends.refining.todo import DecisionRefused, Item, Todo


class Component(NamedValue):
    """A part of the agent that can be switched off, to measure what it contributes."""

    TODO = "todo", gettext_noop("To-do list")
    VALIDATORS = "validators", gettext_noop("Validators")
    CONTEXT = "context", gettext_noop("Context of an annotation, instead of the whole note")
    SKILLS = "skills", gettext_noop("Guidance for groups of labels")
    MEMORY = "memory", gettext_noop("Memory of earlier decisions")
    FINAL_VALIDATION = "final-validation", gettext_noop("Final validation")


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
class RefinementState:
    """The state of one note. It never changes: a tool returns a new one. It holds nothing but this note.

    `current` is the number of the annotation that a call without a number is about. `finished`: the last check passed.
    """

    todo: Todo
    current: int | None = None
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
            raise DecisionRefused("No annotation is open. Give the number of one, or finish.")
        return self.todo.item(number)

    def at(self, number: int) -> "RefinementState":
        """This annotation is the current one."""
        return replace(self, current=number)

    def decided(self, todo: Todo) -> "RefinementState":
        """After a decision, the next open annotation is the current one."""
        return replace(self, todo=todo, current=_next(todo), finished=False)


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


# Skills: guidance for groups of labels as Markdown. Its head has a line with the version and one with the labels, of
# which `*` means every label. The shipped skills lie in `guidance` as NAME.LANGUAGE.md.


LONGEST: Final = 20_000
"""Characters of a skill."""
NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,39}")
DEFAULT_LANGUAGE: Final = "en"
EVERY_LABEL: Final = frozenset({"*"})
_FOLDER: Final = Path(__file__).with_name("guidance")
_HEAD: Final = re.compile(r"Version: ?(?P<version>[0-9]+)\nLabels: ?(?P<labels>[^\n]+)\n")


@cache
def shipped(language: str) -> Mapping[str, Skill]:
    """The skills of this release by name, each in the language, or in English if it has no text in the language.

    A regional language, such as de-AT, has the texts of its language.
    """
    found: dict[str, Skill] = {}
    for one in dict.fromkeys((DEFAULT_LANGUAGE, language.split("-")[0])):
        for file in sorted(_FOLDER.glob(f"*.{one}.md")):
            name = file.name.split(".")[0]
            text = file.read_text(encoding="utf-8")
            head = _HEAD.match(text)
            assert head is not None, file.name
            labels = frozenset(label.strip() for label in head["labels"].split(","))
            body = text[head.end() :].strip()
            found[name] = Skill(name, title_of(name, body), labels, body, f"shipped-{head['version']}")
    return found


def for_project(labels: Iterable[str], language: str, own: Iterable[Skill] = ()) -> dict[str, Skill]:
    """The skills that an agent may load: those for a label of the project, with the project's own texts.

    An own skill replaces the shipped one of its name; one with an empty text removes it.
    """
    codes = frozenset(labels)
    found = dict(shipped(language))
    for skill in own:
        if skill.text.strip():
            found[skill.name] = skill
        else:
            found.pop(skill.name, None)
    return {
        name: replace(skill, labels=codes if skill.labels == EVERY_LABEL else skill.labels & codes)
        for name, skill in sorted(found.items())
        if skill.labels == EVERY_LABEL or skill.labels & codes
    }


def title_of(name: str, text: str) -> str:
    """The first heading of a text, otherwise the name."""
    heading = re.search(r"^#+ +(\S.*)$", text, re.MULTILINE)
    return heading[1].strip() if heading else name

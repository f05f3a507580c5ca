"""A language model that decides about one annotation at a time (Xu et al. 2026, section 3 and appendix A.2).

Each question shows the whole note. The answer concerns one annotation only, so that text in a note can't affect others.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from annotations.text.spans import Bounds, Span
from models_runtime.backends.llm.asking import Question, object_schema, objects_in
from models_runtime.backends.llm.prompts import fenced
from models_runtime.backends.refining.todo import DecisionRefused, Todo

ANSWERS: Final = ("correct", "update", "remove")
# Tokens of an answer: the text, the reason, and the thoughts of a reasoning model.
_TOKENS: Final = 4096
# Characters of a changed text. Longer ones are parts of the note, not entities.
_LONGEST: Final = 300
_WORD: Final = re.compile(r"\w+")
# Characters around a span in which a changed text is looked for, since its white space may be longer in the note.
_AROUND: Final = 1000
UNREADABLE: Final = "The model's answer could not be read, so the annotation stays."
NOT_APPLIED: Final = "The model's change could not be applied, so the annotation stays."


@dataclass(frozen=True)
class Correction:
    """An answer about one annotation. An empty `text` or `type` of an update stays as it is."""

    answer: str
    text: str = ""
    type: str = ""
    reason: str = ""

    @classmethod
    def read(cls, value: object) -> "Correction | None":
        """The answer in a JSON value; None if it doesn't fit the schema. Additional entries are ignored."""
        if not isinstance(value, dict) or value.get("answer") not in list(ANSWERS):
            return None
        found = [value.get(name, "") for name in ("answer", "text", "type", "reason")]
        return cls(*found) if all(isinstance(one, str) for one in found) else None


@dataclass(frozen=True)
class Shot:
    """An annotation of another patient's note, with the right answer. `before` and `after` are a few words around."""

    before: str
    annotated: str
    after: str
    type: str
    right: Correction

    def shown(self) -> dict[str, Any]:
        return {
            "before": self.before, "annotated": self.annotated, "after": self.after, "type": self.type,
            "right": {name: getattr(self.right, name) for name in ("answer", "text", "type")},
        }  # fmt: skip


@dataclass(frozen=True)
class AppliedDecision:
    """A to-do list with one more decision. `unreadable`, `refused`: whether the original stays for this reason."""

    todo: Todo
    unreadable: bool = False
    refused: bool = False


def question_about(prompt: str, todo: Todo, number: int, examples: Sequence[Shot] = ()) -> Question:
    """The question about annotation `number`. `prompt`: the system message."""
    return Question(prompt, fenced(shown_about(todo, number, examples)), _TOKENS, schema_of_answer(todo.labels))


def shown_about(todo: Todo, number: int, examples: Sequence[Shot] = ()) -> str:
    """What the question about annotation `number` shows, as JSON. The fence around it is random in each question."""
    text, span = todo.text, todo.item(number).span
    shown: dict[str, Any] = {
        "before": text[: span.start],
        "annotated": text[span.start : span.end],
        "after": text[span.end :],
        "type": span.label,
    }
    if examples:
        shown["examples"] = [one.shown() for one in examples]
    return json.dumps(shown, ensure_ascii=False)


def schema_of_answer(labels: frozenset[str]) -> dict[str, Any]:
    """The strict JSON schema of an answer. Nothing but a decision about this annotation fits it."""
    text = {"type": "string"}
    properties = {
        "answer": {"type": "string", "enum": list(ANSWERS)},
        "text": text,
        "type": {"type": "string", "enum": ["", *sorted(labels)]},
        "reason": text,
    }
    return object_schema(properties)


def correction_in(answer: str) -> Correction | None:
    """The first valid correction in an answer, which may be fenced or surrounded by text; None without one."""
    return next((found for found in map(Correction.read, objects_in(answer)) if found is not None), None)


def applied(todo: Todo, number: int, answer: str, examples: Sequence[Shot] = ()) -> AppliedDecision:
    """Decide about annotation `number` by the model's answer. What can't be read or applied keeps the original.

    A reason that quotes one of the `examples` of the question is left out.
    """
    found = correction_in(answer)
    if found is None:
        return AppliedDecision(todo.keep(number, UNREADABLE), unreadable=True)
    reason = "" if _quotes(found.reason, examples, todo.text) else found.reason
    if found.answer == "correct":
        return AppliedDecision(todo.keep(number, reason))
    if found.answer == "remove":
        return AppliedDecision(todo.remove(number, reason))
    bounds = anchored(todo.text, todo.item(number).span, found.text)
    if bounds is not None:
        try:
            label = found.type.strip() or None
            return AppliedDecision(todo.update(number, reason, start=bounds[0], end=bounds[1], label=label))
        except DecisionRefused:
            pass
    return AppliedDecision(todo.keep(number, NOT_APPLIED), refused=True)


def _quotes(reason: str, examples: Sequence[Shot], text: str) -> bool:
    """Whether a reason has a capitalized word or a number of an example that the note itself lacks.

    Examples are of other patients, and erasing one of those would not delete a reason about this note.
    """
    theirs = {word for one in examples for word in _names(f"{one.before} {one.annotated} {one.after}")}
    return bool(_names(reason) & (theirs - _names(text)))


def _names(text: str) -> set[str]:
    """The words with a capital letter or a digit, folded."""
    return {word.casefold() for word in _WORD.findall(text) if not word.islower()}


def anchored(text: str, old: Span, words: str) -> Bounds | None:
    """The occurrence of words that overlaps a span and is nearest to it; the span's own bounds for no words.

    Words that are not there exactly are found with other case or white space. None without an occurrence.
    """
    parts = [re.escape(part) for part in words.split()]
    if not parts:
        return old.start, old.end
    if len(words) > _LONGEST:
        return None
    for pattern in (re.compile(re.escape(words.strip())), re.compile(r"\s+".join(parts), re.IGNORECASE)):
        found = [bounds for bounds in _occurrences(pattern, text, old) if bounds[0] < old.end and old.start < bounds[1]]
        if found:
            return min(found, key=lambda one: (abs(one[0] - old.start) + abs(one[1] - old.end), one))
    return None


def _occurrences(pattern: re.Pattern[str], text: str, old: Span) -> list[Bounds]:
    """The occurrences near a span, also those that overlap each other."""
    found, at = [], max(0, old.start - _AROUND)
    while at < old.end and (match := pattern.search(text, at, old.end + _AROUND)):
        found.append(match.span())
        at = match.start() + 1
    return found

"""A language model as a judge of de-identified notes (000, section 3.3 and appendix A).

It is shown a note, its de-identified form and a numbered list of entities, and gives each number a verdict. A verdict
counts for an entity of that list alone, so that nothing that a note says can reach another one.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from annotations.domain.masking import masked
from annotations.domain.scoring.judging import Entity, Verdict
from annotations.domain.spans import Span
from models_runtime.backends.llm.answers import listed, schema_of
from models_runtime.backends.llm.asking import Answer, Completion, Meter, Question
from models_runtime.backends.llm.backend import completion_of
from models_runtime.backends.llm.chunks import chunks
from models_runtime.backends.llm.driver import Talk
from models_runtime.backends.llm.kept import Answers, kept_or_asked
from models_runtime.backends.llm.prompts import VERSION, digest, fenced
from models_runtime.backends.llm.servers import Server

REVISION: Final = "1"
"""Raise it when answers are read in another way: what was kept before is not used any more."""
# A note is shown as a whole up to so many words; and at most so many entities are asked about at once.
WORDS: Final = 1500
AT_ONCE: Final = 40
# So much of the note on either side says which occurrence is meant.
_AROUND: Final = 40
_TOKENS_AN_ENTITY: Final = 40
_TOKENS_BESIDES: Final = 2048


class _Said(BaseModel):
    """A verdict on the entity of this number; `text` repeats it, so that a number that slipped is seen."""

    model_config = ConfigDict(extra="ignore", strict=True)

    id: int
    text: str
    counted_as: str


@dataclass(frozen=True)
class Case:
    """A note to be judged: `hidden` are the spans that its de-identified form has placeholders for."""

    text: str
    hidden: Sequence[Span]
    entities: Sequence[Entity]


Verdicts = list[Verdict | None]
"""One for each entity of a case, in its order; None: the answer says nothing of it that counts."""


class LlmJudge:
    """Asks a model of a listed server. `prompt` is what it is told before each note."""

    def __init__(
        self,
        server: Server,
        model: str,
        prompt: str,
        placeholder_of: Mapping[str, str],
        answers: Answers[dict[str, str]],
        completion: Completion | None = None,
        meter: Meter | None = None,
    ) -> None:
        self.meter = meter or Meter()
        self.completion = completion or completion_of(server, model, self.meter)
        self._asking = digest("judge", REVISION, VERSION, server.name, model, prompt)
        self._prompt, self._placeholder_of, self._answers = prompt, placeholder_of, answers

    def judge(self, case: Case) -> Talk[Verdicts]:
        """The conversation that ends with the verdicts on a case; `completion` answers it."""
        verdicts: Verdicts = [None] * len(case.entities)
        for (start, end), numbers in _pieces(case):
            piece = {
                "note": case.text[start:end],
                "deidentified": masked(case.text[start:end], _clipped(case.hidden, start, end), self._placeholder_of),
            }
            for first in range(0, len(numbers), AT_ONCE):
                asked = numbers[first : first + AT_ONCE]
                said = yield from self._ask(case, piece, asked)
                for number, at in enumerate(asked, start=1):
                    verdicts[at] = Verdict(said[str(number)]) if str(number) in said else None
        return verdicts

    def _ask(self, case: Case, piece: Mapping[str, str], asked: Sequence[int]) -> Talk[dict[str, str]]:
        """Verdicts by number, as they were kept or as they come now."""
        entities = [_shown(number, case, case.entities[at]) for number, at in enumerate(asked, start=1)]
        shown = json.dumps({**piece, "entities": entities}, ensure_ascii=False)
        room = sum(len(entity["text"]) + _TOKENS_AN_ENTITY for entity in entities) + _TOKENS_BESIDES
        schema = schema_of(_Said, {"counted_as": list(Verdict)})
        question = Question(self._prompt, fenced(shown), room, schema)
        key, read = digest(self._asking, shown), partial(self._read, entities)
        return (yield from kept_or_asked(self._answers, key, case.text, question, read, self.meter))

    def _read(self, entities: Sequence[Mapping[str, Any]], answer: Answer) -> dict[str, str]:
        """What counts of an answer. The rest is counted: never guessed at, never repaired."""
        self.meter.add(cut=int(answer.cut))
        said = listed(answer.text, _Said)
        known = {entity["id"]: _names(entity, self._placeholder_of) for entity in entities}
        found: dict[str, str] = {}
        contradicted: set[str] = set()
        invented = unknown = 0
        for one in said.entries:
            number = str(one.id)
            if _squeezed(one.text) not in known.get(one.id, ()):
                invented += 1
            elif one.counted_as not in list(Verdict):
                unknown += 1
            elif found.setdefault(number, one.counted_as) != one.counted_as:
                contradicted.add(number)
        self.meter.add(broken=said.broken, unknown=unknown, hallucinated=invented, ambiguous=len(contradicted))
        return {number: verdict for number, verdict in found.items() if number not in contradicted}


def _pieces(case: Case) -> list[tuple[tuple[int, int], list[int]]]:
    """Pieces of the note, each with the entities that it is asked about: those that lie, or begin, in it first."""
    pieces = chunks(case.text, WORDS) or [(0, len(case.text))]
    numbers: dict[int, list[int]] = {}
    for at, entity in enumerate(case.entities):
        whole = (n for n, (start, end) in enumerate(pieces) if start <= entity.start and entity.end <= end)
        begun = (n for n, (_, end) in enumerate(pieces) if entity.start < end)
        numbers.setdefault(next(whole, next(begun, len(pieces) - 1)), []).append(at)
    return [(pieces[n], numbers[n]) for n in sorted(numbers)]


def _clipped(spans: Sequence[Span], start: int, end: int) -> list[Span]:
    """The spans of a piece, in its own offsets."""
    return [
        Span(max(span.start, start) - start, min(span.end, end) - start, span.label)
        for span in spans
        if span.start < end and start < span.end
    ]


def _shown(number: int, case: Case, entity: Entity) -> dict[str, Any]:
    return {
        "id": number,
        "text": case.text[entity.start : entity.end],
        "type": entity.label,
        "annotated": entity.gold,
        "context": case.text[max(0, entity.start - _AROUND) : entity.end + _AROUND],
    }


def _names(entity: Mapping[str, Any], placeholder_of: Mapping[str, str]) -> set[str]:
    """What an answer may call the entity: its text, or what stands for it."""
    return {_squeezed(str(entity["text"])), _squeezed(placeholder_of.get(str(entity["type"]), ""))} - {""}


def _squeezed(text: str) -> str:
    return " ".join(text.split()).casefold()

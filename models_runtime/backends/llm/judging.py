"""A language model as a judge of de-identified notes (Miranda et al. 2025, section 3.3 and appendix A).

The model gets a note, its de-identified version and a numbered list of entities, and returns a verdict for each number.
A verdict only counts for an entity in the list, so that text in a note can't affect the verdicts on other notes.
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
from models_runtime.backends.llm.cache import AnswerCache, cached_or_asked
from models_runtime.backends.llm.chunks import chunks
from models_runtime.backends.llm.driver import Conversation
from models_runtime.backends.llm.prompts import VERSION, digest, fenced
from models_runtime.backends.llm.servers import Server

REVISION: Final = "1"
"""Increase it when answers are parsed in another way, so that cached answers are no longer used."""
# Words of a note in one question, and entities in one question.
WORDS: Final = 1500
AT_ONCE: Final = 40
# Characters of context on either side of an entity.
_AROUND: Final = 40
_TOKENS_AN_ENTITY: Final = 40
_TOKENS_OVERHEAD: Final = 2048


class _Answered(BaseModel):
    """A verdict on the entity with this number. `text` repeats the entity, so that a wrong number is noticed."""

    model_config = ConfigDict(extra="ignore", strict=True)

    id: int
    text: str
    counted_as: str


@dataclass(frozen=True)
class Case:
    """A note to be judged. `hidden`: the spans that are placeholders in its de-identified version."""

    text: str
    hidden: Sequence[Span]
    entities: Sequence[Entity]


Verdicts = list[Verdict | None]
"""The verdict on each entity of a case, in order; None without a valid verdict."""


class LlmJudge:
    """Asks a model of a listed server. `prompt`: the system message."""

    def __init__(
        self,
        server: Server,
        model: str,
        prompt: str,
        placeholder_of: Mapping[str, str],
        answers: AnswerCache[dict[str, str]],
        completion: Completion | None = None,
        meter: Meter | None = None,
    ) -> None:
        self.meter = meter or Meter()
        self.completion = completion or completion_of(server, model, self.meter)
        self._asking = digest("judge", REVISION, VERSION, server.name, model, prompt)
        self._prompt, self._placeholder_of, self._answers = prompt, placeholder_of, answers

    def judge(self, case: Case) -> Conversation[Verdicts]:
        """A conversation that returns the verdicts on a case. Run it with `completion`."""
        verdicts: Verdicts = [None] * len(case.entities)
        for (start, end), numbers in _pieces(case):
            piece = {
                "note": case.text[start:end],
                "deidentified": masked(case.text[start:end], _clipped(case.hidden, start, end), self._placeholder_of),
            }
            for first in range(0, len(numbers), AT_ONCE):
                asked = numbers[first : first + AT_ONCE]
                found = yield from self._ask(case, piece, asked)
                for number, at in enumerate(asked, start=1):
                    verdicts[at] = Verdict(found[str(number)]) if str(number) in found else None
        return verdicts

    def _ask(self, case: Case, piece: Mapping[str, str], asked: Sequence[int]) -> Conversation[dict[str, str]]:
        """Verdicts by number, from the cache or from the model."""
        entities = [_shown(number, case, case.entities[at]) for number, at in enumerate(asked, start=1)]
        shown = json.dumps({**piece, "entities": entities}, ensure_ascii=False)
        room = sum(len(entity["text"]) + _TOKENS_AN_ENTITY for entity in entities) + _TOKENS_OVERHEAD
        schema = schema_of(_Answered, {"counted_as": list(Verdict)})
        question = Question(self._prompt, fenced(shown), room, schema)
        key, read = digest(self._asking, shown), partial(self._read, entities)
        return (yield from cached_or_asked(self._answers, key, case.text, question, read, self.meter))

    def _read(self, entities: Sequence[Mapping[str, Any]], answer: Answer) -> dict[str, str]:
        """The valid verdicts of an answer. Invalid ones are counted, not repaired."""
        self.meter.add(cut=int(answer.cut))
        answered = listed(answer.text, _Answered)
        known = {entity["id"]: _names(entity, self._placeholder_of) for entity in entities}
        found: dict[str, str] = {}
        contradicted: set[str] = set()
        invented = unknown = 0
        for one in answered.entries:
            number = str(one.id)
            if _squeezed(one.text) not in known.get(one.id, ()):
                invented += 1
            elif one.counted_as not in list(Verdict):
                unknown += 1
            elif found.setdefault(number, one.counted_as) != one.counted_as:
                contradicted.add(number)
        self.meter.add(broken=answered.broken, unknown=unknown, hallucinated=invented, ambiguous=len(contradicted))
        return {number: verdict for number, verdict in found.items() if number not in contradicted}


def _pieces(case: Case) -> list[tuple[tuple[int, int], list[int]]]:
    """Pieces of the note, each with the indexes of its entities. An entity is in the first piece that contains it."""
    pieces = chunks(case.text, WORDS) or [(0, len(case.text))]
    numbers: dict[int, list[int]] = {}
    for at, entity in enumerate(case.entities):
        whole = (n for n, (start, end) in enumerate(pieces) if start <= entity.start and entity.end <= end)
        begun = (n for n, (_, end) in enumerate(pieces) if entity.start < end)
        numbers.setdefault(next(whole, next(begun, len(pieces) - 1)), []).append(at)
    return [(pieces[n], numbers[n]) for n in sorted(numbers)]


def _clipped(spans: Sequence[Span], start: int, end: int) -> list[Span]:
    """The spans in a piece, with offsets in the piece."""
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
    """The texts that an answer may use for the entity: its own text or its placeholder."""
    return {_squeezed(str(entity["text"])), _squeezed(placeholder_of.get(str(entity["type"]), ""))} - {""}


def _squeezed(text: str) -> str:
    return " ".join(text.split()).casefold()

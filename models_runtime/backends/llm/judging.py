"""A language model as a judge of de-identified notes (Miranda et al. 2025, section 3.3 and appendix A).

The model gets a note, its de-identified version and a numbered list of entities, and returns a verdict for each number.
A verdict only counts for an entity in the list, so that text in a note can't affect the verdicts on other notes.
"""

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import partial
from itertools import groupby
from typing import Any, Final, NamedTuple

from pydantic import BaseModel, ConfigDict

from annotations.scores.rules.judging import STANDARD, Entity, Judgement, Rules
from annotations.text.spans import Span, masked
from models_runtime.backends.llm.answers import listed, schema_of
from models_runtime.backends.llm.asking import Answer, Completion, Meter, Question
from models_runtime.backends.llm.backend import completion_of
from models_runtime.backends.llm.driver import AnswerCache, Conversation, cached_or_asked
from models_runtime.backends.llm.extracting import chunks
from models_runtime.backends.llm.prompts import VERSION, digest, fenced
from models_runtime.backends.llm.servers import Server

REVISION: Final = "2"
"""Increase it when answers are parsed in another way, so that cached answers are no longer used."""
# Words of a note in one question, and entities in one question.
WORDS: Final = 1500
AT_ONCE: Final = 40
# Characters of context on either side of an entity.
_AROUND: Final = 40
_TOKENS_AN_ENTITY: Final = 40
_TOKENS_OVERHEAD: Final = 2048


class _AnsweredVerdict(BaseModel):
    """A verdict on the entity with this number. `text` repeats the entity, so that a wrong number is noticed."""

    model_config = ConfigDict(extra="ignore", strict=True)

    id: int
    text: str
    counted_as: str


@dataclass(frozen=True)
class Case:
    """A note to be judged. `hidden`: the spans that are placeholders in its de-identified version.

    `rewritten`: the de-identified version as a model wrote it, if there is one. `answered`: whether the judged model
    gave a usable answer; if not, nothing was found in the note.
    """

    text: str
    hidden: Sequence[Span]
    entities: Sequence[Entity]
    rewritten: str | None = None
    answered: bool = True


Verdicts = list[Judgement | None]
"""The verdict on each entity of a case, in order; None without a valid verdict."""


class _AskedEntity(NamedTuple):
    """An entity in a piece of the note: its index in the case, and where it occurs in the piece."""

    at: int
    label: str
    occurrences: Sequence[tuple[int, int]]


class LlmJudge:
    """Asks a model of a listed server. `prompt`: the system message, which must fit the rules."""

    def __init__(
        self,
        server: Server,
        model: str,
        prompt: str,
        placeholder_of: Mapping[str, str],
        answers: AnswerCache[dict[str, str]],
        completion: Completion | None = None,
        meter: Meter | None = None,
        *,
        rules: Rules = STANDARD,
        temperature: float = 0.0,
        sample: str = "",
    ) -> None:
        """`sample` names this judging: verdicts sampled at a temperature above 0 are only cached for the same name."""
        self.meter = meter or Meter()
        self.completion = completion or completion_of(server, model, self.meter)
        made_of = [rules.key, repr(float(temperature)), server.name, model, prompt]
        if temperature:
            made_of.append(sample)
        self._asking = digest("judge", REVISION, VERSION, *made_of)
        self._prompt, self._placeholder_of, self._answers = prompt, placeholder_of, answers
        self._rules, self._temperature = rules, temperature

    def judge(self, case: Case) -> Conversation[Verdicts]:
        """A conversation that returns the verdicts on a case. Run it with `completion`.

        Nothing is asked about a note without a usable answer of the judged model: all its entities are readable.
        """
        if not case.answered:
            return [Judgement.FN for _ in case.entities]
        verdicts: list[list[Judgement | None]] = [[] for _ in case.entities]
        for (start, end), present in _pieces(case):
            piece = {"note": case.text[start:end], "deidentified": self._deidentified(case, start, end)}
            for asked in self._questions(present):
                found = yield from self._ask(case, piece, asked)
                for number, one in enumerate(asked, start=1):
                    verdicts[one.at].append(Judgement(found[str(number)]) if str(number) in found else None)
        return [_whole(each) for each in verdicts]

    def _deidentified(self, case: Case, start: int, end: int) -> str:
        """The de-identified version of a piece of the note."""
        if case.rewritten is not None:
            return part_of(case.text, case.rewritten, start, end)
        return masked(case.text[start:end], _clipped(case.hidden, start, end), self._placeholder_of)

    def _questions(self, present: Sequence[_AskedEntity]) -> list[Sequence[_AskedEntity]]:
        """The entities of each question: at most AT_ONCE, of one label if the rules want that."""
        groups = [present]
        if self._rules.label_by_label:
            by_label = sorted(present, key=lambda one: one.label)
            groups = [list(group) for _, group in groupby(by_label, key=lambda one: one.label)]
        return [group[first : first + AT_ONCE] for group in groups for first in range(0, len(group), AT_ONCE)]

    def _ask(self, case: Case, piece: Mapping[str, str], asked: Sequence[_AskedEntity]) -> Conversation[dict[str, str]]:
        """Verdicts by number, from the cache or from the model."""
        entities = [_shown(number, case, one) for number, one in enumerate(asked, start=1)]
        shown = json.dumps({**piece, "entities": entities}, ensure_ascii=False)
        room = sum(len(entity["text"]) + _TOKENS_AN_ENTITY for entity in entities) + _TOKENS_OVERHEAD
        schema = schema_of(_AnsweredVerdict, {"counted_as": list(Judgement)})
        question = Question(self._prompt, fenced(shown), room, schema, self._temperature)
        key, read = digest(self._asking, shown), partial(self._read, entities)
        return (yield from cached_or_asked(self._answers, key, case.text, question, read, self.meter))

    def _read(self, entities: Sequence[Mapping[str, Any]], answer: Answer) -> dict[str, str]:
        """The valid verdicts of an answer. Invalid ones are counted, not repaired."""
        self.meter.add(cut=int(answer.cut))
        answered = listed(answer.text, _AnsweredVerdict)
        known = {entity["id"]: _names(entity, self._placeholder_of) for entity in entities}
        found: dict[str, str] = {}
        contradicted: set[str] = set()
        invented = unknown = 0
        for one in answered.entries:
            number = str(one.id)
            if _squeezed(one.text) not in known.get(one.id, ()):
                invented += 1
            elif one.counted_as not in list(Judgement):
                unknown += 1
            elif found.setdefault(number, one.counted_as) != one.counted_as:
                contradicted.add(number)
        self.meter.add(broken=answered.broken, unknown=unknown, hallucinated=invented, ambiguous=len(contradicted))
        return {number: verdict for number, verdict in found.items() if number not in contradicted}


def part_of(text: str, rewritten: str, start: int, end: int) -> str:
    """The part of a rewritten note that corresponds to `text[start:end]`, with all that is new at its ends.

    The words that both texts have in the same order tell where it is.
    """
    if start == 0 and end == len(text):
        return rewritten
    ours, theirs = ([match.span() for match in re.finditer(r"\S+", one)] for one in (text, rewritten))
    own, new = ([one[slice(*bounds)] for bounds in spans] for one, spans in ((text, ours), (rewritten, theirs)))
    first = bisect_right([bounds[1] for bounds in ours], start)
    past = bisect_left([bounds[0] for bounds in ours], end)
    begin, finish = 0, len(theirs)
    for a, b, size in SequenceMatcher(None, own, new, autojunk=False).get_matching_blocks():
        if a <= first and size:
            begin = b + min(first - a, size)
        if a + size >= past and size:
            finish = b + max(past - a, 0)
            break
    kept = theirs[begin:finish]
    return rewritten[kept[0][0] : kept[-1][1]] if kept else ""


def _pieces(case: Case) -> list[tuple[tuple[int, int], list[_AskedEntity]]]:
    """Pieces of the note, each with its entities. An occurrence is in the first piece that contains it."""
    pieces = chunks(case.text, WORDS) or [(0, len(case.text))]
    found: dict[int, list[_AskedEntity]] = {}
    for at, entity in enumerate(case.entities):
        numbers = groupby(entity.occurrences, key=partial(_piece_of, pieces))
        for n, occurrences in numbers:
            found.setdefault(n, []).append(_AskedEntity(at, entity.label, list(occurrences)))
    return [(pieces[n], found[n]) for n in sorted(found)]


def _piece_of(pieces: Sequence[tuple[int, int]], occurrence: tuple[int, int]) -> int:
    first, last = occurrence
    whole = (n for n, (start, end) in enumerate(pieces) if start <= first and last <= end)
    begun = (n for n, (_, end) in enumerate(pieces) if first < end)
    return next(whole, next(begun, len(pieces) - 1))


def _whole(verdicts: Sequence[Judgement | None]) -> Judgement | None:
    """The verdict on an entity that occurs in several pieces: FN if it is readable in one of them.

    Otherwise a verdict on every piece is needed, and FP outweighs TP.
    """
    if Judgement.FN in verdicts:
        return Judgement.FN
    if None in verdicts:
        return None
    return Judgement.FP if Judgement.FP in verdicts else Judgement.TP


def _clipped(spans: Sequence[Span], start: int, end: int) -> list[Span]:
    """The spans in a piece, with offsets in the piece."""
    return [
        Span(max(span.start, start) - start, min(span.end, end) - start, span.label)
        for span in spans
        if span.start < end and start < span.end
    ]


def _shown(number: int, case: Case, asked: _AskedEntity) -> dict[str, Any]:
    """What the model is told about an entity. The context is that of its first occurrence in the piece."""
    start, end = asked.occurrences[0]
    shown = {
        "id": number,
        "text": case.text[start:end],
        "type": asked.label,
        "annotated": case.entities[asked.at].gold,
        "context": case.text[max(0, start - _AROUND) : end + _AROUND],
    }
    return shown | ({"occurrences": len(asked.occurrences)} if len(asked.occurrences) > 1 else {})


def _names(entity: Mapping[str, Any], placeholder_of: Mapping[str, str]) -> set[str]:
    """The texts that an answer may use for the entity: its own text or its placeholder."""
    return {_squeezed(str(entity["text"])), _squeezed(placeholder_of.get(str(entity["type"]), ""))} - {""}


def _squeezed(text: str) -> str:
    return " ".join(text.split()).casefold()

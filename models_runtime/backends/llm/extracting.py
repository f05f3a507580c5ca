"""The strategy *extract*: the model lists mentions in pieces and passes (Singh et al. 2025, section A.4).

Each piece is a conversation (models_runtime.backends.llm.driver), whose results are cached under a hash of the
question.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from annotations.domain.spans import Span
from annotations.domain.whitespace import trim
from models_runtime.backends.llm.answers import Mention, listed, schema_of
from models_runtime.backends.llm.asking import Answer, Asking, Meter
from models_runtime.backends.llm.cache import AnswerCache, Found, cached_or_asked
from models_runtime.backends.llm.driver import Conversation
from models_runtime.backends.llm.locating import locate
from models_runtime.backends.llm.masking import Masked, mask
from models_runtime.backends.llm.prompts import digest, fenced


@dataclass(frozen=True)
class Extracting:
    """The strategy for a run. `labels`: names in answers to codes."""

    asking: Asking
    system: str
    labels: Mapping[str, str]
    codes: Sequence[str]
    source: str
    meter: Meter
    answers: AnswerCache[Found]

    def extract(self, text: str, start: int, end: int, passes: int) -> Conversation[list[Span]]:
        """The spans of `text[start:end]`. In each pass, the spans of earlier passes are masked as `[TYPE]`."""
        piece = text[start:end]
        spans: list[Span] = []
        for number in range(1, passes + 1):
            masked = mask(piece, spans)
            key = digest(self.asking.key, masked.text)
            schema = schema_of(Mention, {"type": list(self.codes)})
            question = self.asking.question(self.system, fenced(masked.text), len(masked.text), schema)
            read = partial(self._mentions, masked)
            found = yield from cached_or_asked(self.answers, key, text, question, read, self.meter)
            if not found:
                break  # another pass would ask the same question
            spans += self._spans(piece, found, f"{self.source} pass {number}")
        return [
            Span(start + one.start, start + one.end, one.label, None, one.source) for one in without_overlaps(spans)
        ]

    def _mentions(self, masked: Masked, answer: Answer) -> Found:
        self.meter.add(cut=int(answer.cut))
        return self._located(masked, listed(answer.text, Mention))

    def _located(self, masked: Masked, answered: Any) -> Found:
        """The locations of the mentions in the unmasked piece. Mentions that are not in the text sent are counted."""
        known = [
            Mention.model_construct(text=mention.text, type=self.labels[kind], context=mention.context)
            for mention in answered.entries
            if (kind := mention.type.casefold()) in self.labels
        ]
        located = locate(masked.text, known)
        found, in_holes = [], 0
        for first, past, label in located.found:
            there = masked.back(first, past)
            if there is None:
                in_holes += 1
            else:
                found.append((*there, label))
        self.meter.add(
            broken=answered.broken,
            unknown=len(answered.entries) - len(known),
            hallucinated=located.hallucinated + in_holes,
            ambiguous=located.ambiguous,
            too_long=located.too_long,
        )
        return found

    def _spans(self, piece: str, found: Found, source: str) -> list[Span]:
        spans = []
        for first, past, label in found:
            first, past = trim(piece, first, past)
            if first < past and label in self.codes:
                spans.append(Span(first, past, label, None, source))
        return spans


def without_overlaps(spans: Iterable[Span]) -> list[Span]:
    """The spans sorted, without duplicates; of overlapping spans with the same label only the longer one."""
    kept: dict[str, list[Span]] = {}
    for span in sorted(spans, key=lambda one: (one.start, -one.end, one.label, one.source)):
        same = kept.setdefault(span.label, [])
        if not same or span.start >= same[-1].end:
            same.append(span)
        elif span.end - span.start > same[-1].end - same[-1].start:
            same[-1] = span
    return sorted(span for same in kept.values() for span in same)

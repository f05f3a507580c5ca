"""How a note is read: *extract* in pieces and passes (004, A.4), *rewrite* as a whole (000, 3.2).

Each reading is a conversation (models_runtime.backends.llm.driver). What it found is kept under a hash of what was
asked.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from annotations.domain.spans import Span
from annotations.domain.whitespace import trim
from models_runtime.backends.base import BackendError
from models_runtime.backends.llm.answers import THOUGHT, Mention, listed, schema_of
from models_runtime.backends.llm.asking import Answer, Meter, Question
from models_runtime.backends.llm.driver import Talk
from models_runtime.backends.llm.kept import Answers, kept_or_asked
from models_runtime.backends.llm.masking import Masked, mask
from models_runtime.backends.llm.placing import place
from models_runtime.backends.llm.prompts import digest, fenced
from models_runtime.backends.llm.rewriting import recover

# An answer may need so many tokens for each character of what was sent, and so many besides.
_TOKENS_A_CHARACTER: Final = 1.0
_TOKENS_BESIDES: Final = 1024

Found = list[tuple[int, int, str]]
"""Start and end (code points of the piece that was asked about) and label."""


@dataclass(frozen=True)
class Reader:
    """What all readings of a run share. `asking` is a hash of server, model and prompt; `labels` by what names them."""

    asking: str
    system: str
    labels: Mapping[str, str]
    codes: Sequence[str]
    source: str
    meter: Meter
    answers: Answers[Found]

    def extract(self, text: str, start: int, end: int, passes: int) -> Talk[list[Span]]:
        """The spans of `text[start:end]`: each pass sees what the earlier ones found as `[TYPE]`."""
        piece = text[start:end]
        spans: list[Span] = []
        for number in range(1, passes + 1):
            masked = mask(piece, spans)
            key = digest(self.asking, masked.text)
            question = self._question(masked.text, schema_of(Mention, {"type": list(self.codes)}))
            read = partial(self._mentions, masked)
            found = yield from kept_or_asked(self.answers, key, text, question, read, self.meter)
            if not found:
                break  # the same question once more would get the same answer
            spans += self._spans(piece, found, f"{self.source} pass {number}")
        return [Span(start + one.start, start + one.end, one.label, None, one.source) for one in settled(spans)]

    def rewrite(self, text: str, start: int, end: int) -> Talk[list[Span]]:
        """The spans of `text[start:end]` by its rewritten form. What was changed besides is an error."""
        piece = text[start:end]
        key, read = digest(self.asking, piece), partial(self._recovered, piece)
        found = yield from kept_or_asked(self.answers, key, text, self._question(piece, None), read, self.meter)
        spans = self._spans(piece, found, self.source)
        return [Span(start + one.start, start + one.end, one.label, None, one.source) for one in spans]

    def _mentions(self, masked: Masked, answer: Answer) -> Found:
        self.meter.add(cut=int(answer.cut))
        return self._placed(masked, listed(answer.text, Mention))

    def _recovered(self, piece: str, answer: Answer) -> Found:
        if answer.cut:
            self.meter.add(cut=1)
            raise BackendError("the rewritten note was cut off: it is too long for the model", permanent=False)
        recovered = recover(piece, _bare(answer.text, piece), self.labels)
        self.meter.add(ambiguous=recovered.ambiguous)
        return [(one.start, one.end, one.label) for one in recovered.spans]

    def _question(self, text: str, schema: dict[str, Any] | None) -> Question:
        return Question(self.system, fenced(text), int(len(text) * _TOKENS_A_CHARACTER) + _TOKENS_BESIDES, schema)

    def _placed(self, masked: Masked, said: Any) -> Found:
        """The mentions that stand in the text that was sent, as places of the unmasked piece; others are counted."""
        known = [
            Mention.model_construct(text=mention.text, type=self.labels[kind], context=mention.context)
            for mention in said.entries
            if (kind := mention.type.casefold()) in self.labels
        ]
        placed = place(masked.text, known)
        found, in_holes = [], 0
        for first, past, label in placed.found:
            there = masked.back(first, past)
            if there is None:
                in_holes += 1
            else:
                found.append((*there, label))
        self.meter.add(
            broken=said.broken,
            unknown=len(said.entries) - len(known),
            hallucinated=placed.hallucinated + in_holes,
            ambiguous=placed.ambiguous,
            too_long=placed.too_long,
        )
        return found

    def _spans(self, piece: str, found: Found, source: str) -> list[Span]:
        spans = []
        for first, past, label in found:
            first, past = trim(piece, first, past)
            if first < past and label in self.codes:
                spans.append(Span(first, past, label, None, source))
        return spans


def settled(spans: Iterable[Span]) -> list[Span]:
    """Sorted, each place and label once, and of overlapping ones of one label the longer."""
    kept: dict[str, list[Span]] = {}
    for span in sorted(spans, key=lambda one: (one.start, -one.end, one.label, one.source)):
        same = kept.setdefault(span.label, [])
        if not same or span.start >= same[-1].end:
            same.append(span)
        elif span.end - span.start > same[-1].end - same[-1].start:
            same[-1] = span
    return sorted(span for same in kept.values() for span in same)


def _bare(answer: str, piece: str) -> str:
    """Without what a model puts around a whole answer: its thoughts, a code fence, our own two lines."""
    text = (answer if THOUGHT in piece else answer.rpartition(THOUGHT)[2]).strip()
    lines = text.splitlines(keepends=True)
    if len(lines) > 1 and lines[0].startswith("```") and lines[-1].strip() == "```":
        lines = lines[1:-1]
    if len(lines) > 1 and lines[0].startswith("note-") and lines[0].strip() == lines[-1].strip():
        lines = lines[1:-1]
    return "".join(lines)

"""The strategies *extract* and *by_label*: the model lists mentions in pieces and passes (Singh et al. 2025, A.4).

*extract* asks about all labels at once; *by_label* about each label by itself (Xu et al. 2026, appendix A.1).

Each piece is a conversation (models_runtime.backends.llm.driver), whose results are cached under a hash of the
question.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from annotations.text.attributes import Doubtful, in_pass, shifted
from annotations.text.segments import sentences
from annotations.text.spans import Bounds, Span, stretches, trim
from models_runtime.backends.base import BackendError
from models_runtime.backends.llm.answers import Mention, NumberedMention, lines_of, listed, locate, schema_of
from models_runtime.backends.llm.asking import Answer, AskingOptions, Meter
from models_runtime.backends.llm.driver import AnswerCache, Conversation, Found, FoundSpan, cached_or_asked
from models_runtime.backends.llm.prompts import digest, fenced, together

# Replace spans by `[TYPE]`, and convert offsets of the masked text back to the original text.


@dataclass(frozen=True)
class MaskedText:
    """A masked text. `holes`: start and end of each placeholder, and the offset of the original text after it.

    All offsets are code points, end-exclusive.
    """

    text: str
    holes: tuple[tuple[int, int, int], ...]

    def back(self, start: int, end: int) -> tuple[int, int] | None:
        """The same part of the original text; None if it is empty or overlaps a placeholder."""
        at = bisect_right(self.holes, start, key=lambda hole: hole[0])
        if start >= end or (at and start < self.holes[at - 1][1]) or (at < len(self.holes) and end > self.holes[at][0]):
            return None
        shift = self.holes[at - 1][2] if at else 0
        return start + shift, end + shift


def mask(text: str, spans: Iterable[Span]) -> MaskedText:
    """Replace overlapping spans by one placeholder, with the label of the longest span, then the earliest."""
    parts: list[str] = []
    holes: list[tuple[int, int, int]] = []
    done = length = 0
    for start, end, label in stretches(spans):
        placeholder = f"[{label}]"
        parts += [text[done:start], placeholder]
        length += start - done
        holes.append((length, length + len(placeholder), end - length - len(placeholder)))
        length += len(placeholder)
        done = end
    return MaskedText("".join([*parts, text[done:]]), tuple(holes))


@dataclass(frozen=True)
class ExtractionQuestions:
    """The questions of a run with one system message. `labels`: names in answers to codes, all others are unknown.

    `lines`: whether answers are lines, not JSON.
    """

    asking: AskingOptions
    system: str
    labels: Mapping[str, str]
    codes: Sequence[str]
    source: str
    meter: Meter
    answers: AnswerCache[Found]
    lines: bool = False

    def extract(
        self, text: str, start: int, end: int, passes: int, *, every_pass: bool = False
    ) -> Conversation[list[Span]]:
        """The spans of `text[start:end]`. In each pass, the spans of earlier passes are masked as `[TYPE]`.

        A pass that finds nothing is the last one, unless `every_pass`: then the same question is asked again.
        """
        piece = text[start:end]
        spans: list[Span] = []
        repeated = 0
        for number in range(1, passes + 1):
            masked = mask(piece, spans)
            # A repeated question is one of its own, or its answer would be the cached one.
            key = digest(self.asking.key, masked.text, *([f"repeated {repeated}"] if repeated else []))
            schema = None if self.lines else schema_of(Mention, {"type": list(self.codes)})
            question = self.asking.question(self.system, fenced(masked.text), len(masked.text), schema)
            read = partial(self._mentions, masked)
            found = yield from cached_or_asked(self.answers, key, text, question, read, self.meter)
            if not found and not every_pass:
                break
            repeated = 0 if found else repeated + 1
            spans += self._spans(piece, found, in_pass(self.source, number))
        return [shifted(one, start) for one in without_overlaps(spans)]

    def extract_together(self, texts: Sequence[str], passes: int, language: str) -> Conversation[list[list[Span]]]:
        """The spans of each of several short texts, about which each pass asks one question.

        The composite schema of the answer has the number of the text beside each mention. A text in which a pass finds
        nothing is not asked about again. Each text's answer is cached by itself. If an answer is cut off or can't be
        used, each text is asked about alone.
        """
        spans: list[list[Span]] = [[] for _text in texts]
        asked = list(range(len(texts)))
        for number in range(1, passes + 1):
            masked = {at: mask(texts[at], spans[at]) for at in asked}
            keys = {at: digest(self.asking.key, "together", masked[at].text) for at in asked}
            found = {at: known for at in asked if (known := self.answers.find(keys[at])) is not None}
            self.meter.add(kept=len(found))
            if missing := [at for at in asked if at not in found]:
                answered = yield from self._ask_together([masked[at] for at in missing], language)
                if answered is None:
                    return (yield from self._each_alone(texts, passes))
                for at, own in zip(missing, answered, strict=True):
                    found[at] = own
                    self.answers.keep(keys[at], texts[at], own)
            asked = [at for at in asked if found[at]]
            for at in asked:
                spans[at] += self._spans(texts[at], found[at], in_pass(self.source, number))
        return [without_overlaps(own) for own in spans]

    def _ask_together(self, masked: Sequence[MaskedText], language: str) -> Conversation[list[Found] | None]:
        """What an answer finds in each of the texts; None if it is cut off or can't be used."""
        schema = schema_of(NumberedMention, {"type": list(self.codes)})
        user = together([one.text for one in masked], language)
        answer = yield self.asking.question(self.system, user, sum(len(one.text) for one in masked), schema)
        try:
            answered = listed(answer.text, NumberedMention)
        except BackendError:
            answered = None
        self.meter.add(cut=int(answer.cut))
        if answered is None or answer.cut:
            self.meter.record()
            return None
        inside = [one for one in answered.entries if one.record <= len(masked)]
        self.meter.add(broken=answered.broken, unknown=len(answered.entries) - len(inside))
        return [
            self._located(one, [each for each in inside if each.record == number])
            for number, one in enumerate(masked, start=1)
        ]

    def _each_alone(self, texts: Sequence[str], passes: int) -> Conversation[list[list[Span]]]:
        found = []
        for text in texts:
            found.append((yield from self.extract(text, 0, len(text), passes)))
        return found

    def _mentions(self, masked: MaskedText, answer: Answer) -> Found:
        """The locations of the mentions in the unmasked piece."""
        self.meter.add(cut=int(answer.cut))
        answered = lines_of(answer.text, self.labels) if self.lines else listed(answer.text, Mention)
        self.meter.add(broken=answered.broken)
        return self._located(masked, answered.entries)

    def _located(self, masked: MaskedText, entries: Sequence[Mention]) -> Found:
        """The locations of the mentions in the unmasked piece. Mentions that are not in the text sent are counted."""
        known = [
            Mention.model_construct(text=mention.text, type=self.labels[kind], context=mention.context)
            for mention in entries
            if (kind := mention.type.casefold()) in self.labels
        ]
        located = locate(masked.text, known)
        found: Found = []
        in_holes = 0
        for one in [*located.found, *located.doubtful]:
            there = masked.back(one.start, one.end)
            if there is None:
                in_holes += 1
            else:
                found.append(FoundSpan(*there, one.label, one.places))
        self.meter.add(
            unknown=len(entries) - len(known),
            hallucinated=located.hallucinated + in_holes,
            ambiguous=located.ambiguous,
            too_long=located.too_long,
        )
        return found

    def _spans(self, piece: str, found: Found, source: str) -> list[Span]:
        spans = []
        for first, past, label, places in found:
            first, past = trim(piece, first, past)
            if first < past and label in self.codes:
                span = Span(first, past, label, None, source)
                spans.append(Doubtful(first, past, label, None, source, places=places) if places else span)
        return spans


def without_overlaps(spans: Iterable[Span]) -> list[Span]:
    """The spans sorted, without duplicates; of overlapping spans with the same label only the longer one."""
    kept: dict[str, list[Span]] = {}
    # Of equal spans, a certain one is kept rather than a doubtful one, and then the one of the earliest pass.
    for span in sorted(spans, key=lambda one: (one.start, -one.end, one.label, isinstance(one, Doubtful), one.source)):
        same = kept.setdefault(span.label, [])
        if not same or span.start >= same[-1].end:
            same.append(span)
        elif span.end - span.start > same[-1].end - same[-1].start:
            same[-1] = span
    return sorted(span for same in kept.values() for span in same)


def whole(pieces: Sequence[Bounds], found: Sequence[Sequence[Span]]) -> list[Span]:
    """The spans of a note from its pieces, in order. A mention that the bound of a piece cuts is made whole.

    If the other piece has the whole mention, the part is dropped, whatever its label. If both pieces have only a part,
    with the same label, the parts become one span.
    """
    spans: list[Span] = []
    before: list[Span] = []
    for number, (piece, here) in enumerate(zip(pieces, found, strict=True)):
        after = list(here)
        if number and piece[0] < pieces[number - 1][1]:
            before, after = _mended(before, after, piece[0], pieces[number - 1][1])
        spans += before
        before = after
    return without_overlaps([*spans, *before])


def _mended(before: list[Span], after: list[Span], start: int, end: int) -> tuple[list[Span], list[Span]]:
    """The spans of two pieces that share the text from `start` to `end`, without parts of mentions."""
    left = [one for one in before if not (one.end == end and _covered(one, after, end))]
    right = [one for one in after if not (one.start == start and _covered(one, before, start))]
    rests = {one.label: one.end for one in right if one.start == start and one.end > end}
    for at, one in enumerate(left):
        if one.end == end and one.start < start and one.label in rests:
            left[at] = replace(one, end=rests[one.label])
    return left, right


def _covered(part: Span, others: Iterable[Span], edge: int) -> bool:
    """Whether one of the others contains the part and goes on beyond the edge."""
    return any(one.start <= part.start and part.end <= one.end and one.start < edge < one.end for one in others)


# Split a note into pieces of at most ω words at the ends of sentences and lines (Singh et al. 2025, section A.4).


# A longer run without white space counts as several words.
_WORD: Final = re.compile(r"\S{1,100}")
OVERLAP: Final = 16
"""Words that two pieces of a long sentence share by default, so that an entity at the cut is complete in one piece."""

Piece = tuple[int, int]


def chunks(text: str, words: int, overlap: int = OVERLAP) -> list[Piece]:
    """Start and end of each piece (code points), in order. They cover everything but white space between sentences.

    `overlap`: the most words that two pieces of a sentence share.
    """
    found: list[Piece] = []
    open_words = 0
    for start, end in sentences(text):
        here = [match.span() for match in _WORD.finditer(text, start, end)]
        if open_words and open_words + len(here) <= words:
            found[-1] = (found[-1][0], end)
            open_words += len(here)
        elif len(here) <= words:
            found.append((start, end))
            open_words = len(here)
        else:
            found += _cut(here, words, min(overlap, words // 4))
            open_words = 0
    return found


def overlapping(text: str, words: int, overlap: int) -> list[Piece]:
    """Pieces of at most `words` words, as of `chunks`, that each begin with the last `overlap` words of the one before.

    So a mention that the end of a piece cuts is complete in the next one (Singh et al. 2025, section A.4.1). `overlap`
    is less than `words`.
    """
    starts = [match.start() for one in sentences(text) for match in _WORD.finditer(text, *one)]
    return [
        (starts[max(0, bisect_left(starts, start) - overlap)], end)
        for start, end in chunks(text, words - overlap, overlap=0)
    ]


def _cut(here: list[Piece], words: int, overlap: int) -> list[Piece]:
    """Overlapping pieces of a sentence that is too long."""
    step = words - overlap
    past = max(len(here) - overlap, 1)
    return [(here[at][0], here[min(at + words, len(here)) - 1][1]) for at in range(0, past, step)]

"""Other forms of training notes: without their header, and copies with surrogates."""

import hashlib
import random
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from annotations.release.rules.redaction.policy import IdentifierType, kinds_of
from annotations.release.rules.surrogates.clustering import clusters_of
from annotations.release.rules.surrogates.folding import long_words
from annotations.release.rules.surrogates.generating import generate, in_order
from annotations.release.rules.surrogates.pipeline import Around, IndexedEntity, MentionInNote
from annotations.release.rules.surrogates.writing import Writer
from annotations.text.spans import Span, overlaps, trim
from models_runtime.backends.base import BackendError
from models_runtime.backends.learner import Note, TrainingTask

# Replace parts of an annotated text and move its spans along.


class Edit(NamedTuple):
    """Replace `text[start:end]` by `new`; code points, end-exclusive."""

    start: int
    end: int
    new: str


def edited(text: str, spans: Sequence[Span], edits: Sequence[Edit]) -> tuple[str, list[Span]]:
    """Apply edits, which are in order and don't overlap; returns the text and its spans, in order.

    A span that begins or ends inside an edit gets the whole new text of that edit. A span of which only white space
    remains is dropped, and white space at the ends of the others is left out if an edit cut them.
    """
    pieces: list[str] = []
    starts, shifts, at = [edit.start for edit in edits], [0], 0
    for start, end, new in edits:
        pieces += (text[at:start], new)
        at = end
        shifts.append(shifts[-1] + len(new) - (end - start))
    pieces.append(text[at:])
    result = "".join(pieces)

    def moved(offset: int, *, end: bool) -> int:
        # The last edit that begins before an end, or at or before a start.
        at = bisect_right(starts, offset - 1 if end else offset) - 1
        if at >= 0 and offset < edits[at].end:
            new_start = edits[at].start + shifts[at]
            return new_start + len(edits[at].new) if end else new_start
        return offset + shifts[at + 1]

    found = []
    for span in spans:
        first, past = moved(span.start, end=False), moved(span.end, end=True)
        if result[first:past] != text[span.start : span.end]:
            first, past = trim(result, first, past)
        if first < past:
            found.append(Span(first, past, span.label))
    return result, sorted(found)


CONTEXT: Final = 40
# Kinds that keep their text: words of few values, and dates, which rules move instead of inventing them.
KEPT: Final = frozenset(
    {
        IdentifierType.COUNTRY,
        IdentifierType.DATE,
        IdentifierType.SEX,
        IdentifierType.FAMILY,
        IdentifierType.ETHNICITY,
        IdentifierType.PROFESSION,
        IdentifierType.OTHER,
        IdentifierType.BIOMETRIC,
    }
)


def replaceable(label_set: str) -> Mapping[str, IdentifierType]:
    """The kind of each label whose spans get surrogates; empty for a label set that is not shipped."""
    return {label: kind for label, kind in kinds_of(label_set).items() if kind not in KEPT}


def with_surrogates(
    text: str, spans: Sequence[Span], label_set: str, language: str, chance: random.Random
) -> tuple[str, list[Span]]:
    """The note with a surrogate in place of each identifier; all mentions of an entity get the same one.

    The note is one patient. Spans that overlap others, or whose labels have no surrogates, keep their text.
    """
    kinds = replaceable(label_set)
    mentions = [
        MentionInNote(
            0, span.start, span.end, kinds[span.label], text[span.start : span.end],
            text[max(0, span.start - CONTEXT) : span.start], text[span.end : span.end + CONTEXT],
        )
        for span in spans
        if span.label in kinds and not any(other is not span and overlaps(span, other) for other in spans)
    ]  # fmt: skip
    words = {word for mention in mentions for word in long_words(mention.text)}
    related, edits = list[IndexedEntity](), list[Edit]()
    for number, cluster in enumerate(in_order(clusters_of(mentions, language)), 1):
        surrogate = generate(chance, cluster, Around(related), words)
        related.append(IndexedEntity(number, cluster.kind, cluster.forms, surrogate))
        writer = Writer(surrogate, cluster)
        edits += (Edit(mention.start, mention.end, writer.write(mention)) for mention in cluster.mentions)
    return edited(text, spans, sorted(edit for edit in edits if edit.new.strip()))


# The header of a note: the lines of fields at its start.


# A line with more words is prose, which ends the header.
LINE_WORDS: Final = 15
_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_FIELD: Final = re.compile(r"[\s\ufeff]*[^\W\d_][\w./ºª°()' -]{0,40}(?<!\d):")


def header_end(text: str) -> int:
    """Where the header ends: the lines at the start that are fields (`Name: value`), titles or empty; 0 without any.

    It ends after the last field before the first line of prose, which has more than LINE_WORDS words. It has at least
    two fields, because one alone is rather a heading. A note of nothing but fields has no header.
    """
    at = end = fields = 0
    while at < len(text):
        line = _LINE.match(text, at)
        assert line is not None
        if len(line.group().split()) > LINE_WORDS:
            break
        at = line.end()
        if _FIELD.match(line.group()):
            end, fields = at, fields + 1
    return end if fields > 1 and text[end:].strip() else 0


def without_header(text: str, spans: Sequence[Span]) -> tuple[str, list[Span]]:
    """The note without its header and the spans in it. What remains of a span that crosses its end is kept."""
    end = header_end(text)
    return edited(text, spans, [Edit(0, end, "")] if end else [])


# The training notes of a task as its settings `header_dropout` and `surrogates` want them.


HEADER_DROPOUT: Final = "header_dropout"
SURROGATES: Final = "surrogates"
SEED: Final = 7


def augmented(task: TrainingTask) -> TrainingTask:
    """The task with other training notes; its held-out and unlabeled notes stay.

    `surrogates`: how many copies of each note are added, with surrogates in place of identifiers. `header_dropout`: the
    probability with which a note, or a copy, loses its header. Chance depends on the setting `seed` and on each note's
    text alone, so a refit changes the same notes in the same way. Raises BackendError (permanent) for surrogates in a
    label set that is not shipped.
    """
    dropout = float(task.settings.get(HEADER_DROPOUT, 0))
    copies = int(task.settings.get(SURROGATES, 0))
    if copies and not replaceable(task.label_set):
        raise BackendError("No surrogates can be made for this label set. Train without surrogates.")
    if not copies and not dropout:
        return task
    seed = int(task.settings.get("seed", SEED))
    notes = [_one(task, text, spans, copy, dropout, seed) for copy in range(copies + 1) for text, spans in task.notes]
    return replace(task, notes=notes)


def _one(task: TrainingTask, text: str, spans: Sequence[Span], copy: int, dropout: float, seed: int) -> Note:
    """The note itself (copy 0) or one of its copies."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    chance = random.Random(f"{seed} {copy} {digest}")  # noqa: S311 - reproducible, not secret
    drops = chance.random() < dropout
    if copy:
        text, spans = with_surrogates(text, spans, task.label_set, task.language, chance)
    return without_header(text, spans) if drops else (text, spans)

"""Compare several authors with gold, on the notes for which all of them submitted annotations.

Figures are stored under a hash of their input, like scores.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotations.core.bulk import among
from annotations.core.hooks import notes_learned_from
from annotations.core.services import ErasedMeanwhile, Progress, ServiceError, erasures_of, silent, unerased
from annotations.core.stored_figures import (
    FigureKind,
    cache_value,
    cached_value,
    forget,
    joined_key,
    key_of,
    maybe_cached,
)
from annotations.jobs.runner import Claim
from annotations.models import Author, Project
from annotations.scores.rules.operating import AuthorTables, MissedSpans, SideBySide
from annotations.scores.selectors import (
    ComparedNotes,
    LabelWords,
    Reference,
    compared,
    label_words,
    note_pairs,
    state_key,
)
from annotations.scores.services.scoring import REVISION, LabeledBounds, LabelMapper, ScoreRequest, score_request
from annotations.text.spans import Span

FEWEST, MOST = 2, 6
# The maximum number of spans of each kind that are stored and shown; all are counted.
MOST_SPANS = 10_000


class AuthorFigures(AuthorTables):
    """The figures of one author.

    `own_gold_spans` counts the gold spans that were copied from this author, `merged`: or from a run of this list.
    """

    author: str
    kind: str
    merged: bool
    author_id: int
    own_gold_spans: int


class SideBySideTable(MissedSpans):
    """The figures of several authors, side by side."""

    project: str
    gold: str
    content_hash: str | None
    split: str | None
    language: str | None
    notes: int
    authors: list[AuthorFigures]


TellingSpan = tuple[int, str, LabeledBounds, LabeledBounds | None]
"""A gold span that the authors found differently, or all missed: note, kind, gold, nearest predicted span."""
TABLE: FigureKind[SideBySideTable] = FigureKind("side-by-side")
SPANS: FigureKind[dict[str, list[TellingSpan]]] = FigureKind("side-by-side-spans")


@dataclass(frozen=True)
class ComparisonRequest:
    """What to compare: several authors against a gold, in one split or all, in one language or all."""

    reference: Reference
    authors: tuple[Author, ...]
    split: str = ""
    language: str = ""

    @property
    def params(self) -> dict[str, Any]:
        """The request as parameters of a job: ids and choices only."""
        return {
            "version": self.reference.number,
            "authors": [author.pk for author in self.authors],
            "split": self.split,
            "language": self.language,
        }


def comparison_request(
    project: Project, *, version: int, ids: Sequence[int] = (), names: Sequence[str] = (), split: str = "",
    language: str = "", among: QuerySet[Author] | None = None,
) -> ComparisonRequest:  # fmt: skip
    """Check what a person or command asks to compare. Authors are given by id or by name.

    `version`, names and `among` as for `score_request`, and the same errors; also `number` for too few or too many
    authors.
    """
    asked: list[dict[str, Any]] = [
        *({"author_id": pk} for pk in dict.fromkeys(ids)), *({"author": name} for name in names)
    ]  # fmt: skip
    requests = [
        score_request(project, version=version, split=split, language=language, among=among, **one) for one in asked
    ]
    authors = tuple({one.author.pk: one.author for one in requests}.values())
    if not FEWEST <= len(authors) <= MOST:
        message = _("Choose %(fewest)s to %(most)s authors to compare, not %(count)s.")
        raise ServiceError(message % {"fewest": FEWEST, "most": MOST, "count": len(authors)}, code="number")
    return ComparisonRequest(requests[0].reference, authors, split, language)


@dataclass(frozen=True)
class CommonNotes:
    """The notes that are compared: with gold, and with submitted annotations by all authors.

    `of` lists them for each author. `asked` is a hash of what is compared, and of the number of notes.
    """

    of: tuple[ComparedNotes, ...]
    words: LabelWords
    notes: int
    asked: str

    @property
    def key(self) -> str:
        """A hash of everything that the comparison depends on."""
        return joined_key(self.asked, state_key(*self.of))


def common_notes(wanted: ComparisonRequest, *, without: Collection[int] = ()) -> CommonNotes:
    """Find the notes that all authors have annotated, except those in `without`."""
    each = [
        compared(wanted.reference, author, split=wanted.split, language=wanted.language) for author in wanted.authors
    ]
    rows = each[0].rows.exclude(document__in=among(without)) if without else each[0].rows
    for one in each[1:]:
        rows = rows.filter(one.scored)
    words, count = label_words(wanted.reference.project), rows.count()
    made_of = ["review", REVISION, count, words.key, wanted.split, wanted.language, wanted.reference.number]
    made_of += [[author.pk, author.name] for author in wanted.authors]
    return CommonNotes(tuple(one.only(rows) for one in each), words, count, key_of(*made_of))


def kept_table(wanted: ComparisonRequest, notes: CommonNotes) -> SideBySideTable | None:
    """Return the stored figures if their input has not changed since."""
    project = wanted.reference.project
    return cached_value(project, TABLE, notes.key) if maybe_cached(project, TABLE, notes.asked) else None


def side_by_side(
    wanted: ComparisonRequest, *, notes: CommonNotes | None = None, progress: Progress = silent
) -> SideBySideTable:
    """Return the stored figures, or compute them.

    Raises ServiceError `notes` if no note has annotations by all authors, and ErasedMeanwhile.
    """
    project = wanted.reference.project
    begun = erasures_of(project.pk)
    notes = notes or common_notes(wanted)
    if not notes.notes:
        raise ServiceError(_("No note with this gold has submitted annotations by all chosen authors."), code="notes")
    # Read before the annotations, so that figures are never stored under a later state.
    key = notes.key
    table = cached_value(project, TABLE, key)
    if table is None:
        table, spans = _computed(wanted, notes, progress)
        with transaction.atomic():
            unerased(project.pk, begun)
            cache_value(project, TABLE, key, table)
            cache_value(project, SPANS, key, spans)
    return table


def telling_spans(wanted: ComparisonRequest) -> dict[str, list[TellingSpan]]:
    """List gold spans by kind (annotations.scores.rules.operating), at most MOST_SPANS of each kind.

    Each is [note, kind, gold, nearest or null].
    """
    project, notes = wanted.reference.project, common_notes(wanted)
    side_by_side(wanted, notes=notes)
    spans = cached_value(project, SPANS, notes.key)
    if spans is None:  # The spans were deleted to save space, but the table was not.
        forget(project, TABLE, notes.key)
        side_by_side(wanted, notes=notes)
        spans = cached_value(project, SPANS, notes.key)
    return dict(spans or {})


def run_side_by_side(claim: Claim) -> dict[str, Any]:
    """Compare as a job. Return what the job's page shows and links to. Safe to repeat."""
    choices = {key: value for key, value in claim.params.items() if key != "authors"}
    wanted = comparison_request(Project.objects.get(pk=claim.project_id), ids=claim.params["authors"], **choices)
    table = side_by_side(wanted, progress=claim.progress)
    return wanted.params | {"names": [author.name for author in wanted.authors], "notes": table["notes"]}


def _computed(
    wanted: ComparisonRequest, notes: CommonNotes, progress: Progress
) -> tuple[SideBySideTable, dict[str, list[TellingSpan]]]:
    counted = SideBySide([str(author.pk) for author in wanted.authors], notes.words.order, notes.words.category_of)
    spans: dict[str, list[TellingSpan]] = {}
    learned = {pk for author in wanted.authors for answer in notes_learned_from(author=author) for pk in answer}
    progress(0, notes.notes)
    own: Counter[str] = Counter()
    for done, (note, text, gold, annotation_sets, copied) in enumerate(_notes(wanted, notes), start=1):
        own.update(copied)
        for one in counted.add(text, gold, annotation_sets, held_out=note not in learned):
            listed = spans.setdefault(one.kind, [])
            if len(listed) < MOST_SPANS:
                listed.append((note, one.kind, one.gold, one.near))
        if done % 100 == 0 or done == notes.notes:
            progress(done, notes.notes)
    version = wanted.reference.version
    return {
        "project": wanted.reference.project.slug,
        "gold": wanted.reference.name,
        "content_hash": version.content_hash if version else None,
        "split": wanted.split or None,
        "language": wanted.language or None,
        "notes": notes.notes,
        "authors": [
            {
                "author": author.name,
                "kind": author.kind,
                "merged": author.merged_from is not None,
                "author_id": author.pk,
                **counted.table(str(author.pk)),
                "own_gold_spans": own[str(author.pk)],
            }
            for author in wanted.authors
        ],
        **counted.missed(),
    }, spans


ComparedNote = tuple[int, str, list[Span], dict[str, list[Span]], dict[str, int]]
"""Id, text, gold spans, and by each author's id the spans, and the number of gold spans copied from this author."""


def _notes(wanted: ComparisonRequest, notes: CommonNotes) -> Iterator[ComparedNote]:
    """Yield each note with gold and all authors' spans, in the current labels of the project."""
    mapper = LabelMapper(ScoreRequest(wanted.reference, wanted.authors[0]), notes.words)
    by_author = [
        note_pairs(wanted.reference, author, one) for author, one in zip(wanted.authors, notes.of, strict=True)
    ]
    for pairs in zip(*by_author, strict=False):
        first = pairs[0]
        if any(pair.pk != first.pk for pair in pairs):
            raise ErasedMeanwhile
        annotation_sets = {
            str(author.pk): mapper(pair.predicted) for author, pair in zip(wanted.authors, pairs, strict=True)
        }
        own = {str(author.pk): pair.own for author, pair in zip(wanted.authors, pairs, strict=True)}
        yield first.pk, first.text, mapper(first.gold), annotation_sets, own

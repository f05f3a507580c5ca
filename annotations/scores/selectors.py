"""Input of scores: the notes of an author that are compared with gold, and their texts and spans."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self, cast

from django.db.models import Count, Exists, F, Max, OuterRef, Q, QuerySet, Subquery, Sum
from django.utils.translation import gettext_lazy as _

from annotations import models
from annotations.core.authors import gold_author_id, gold_sets, origin_of
from annotations.core.bulk import among, batched
from annotations.core.hooks import notes_learned_from, notes_without_answer, thresholds_of
from annotations.core.spans import definitions, pairs_of
from annotations.core.stored_figures import FigureKind, cache_value, cached_value, key_of, state_of_sets
from annotations.gold.selectors import version_for, version_rows
from annotations.projects.selectors.projects import CountedRows
from annotations.scores.rules.tally import Criterion
from annotations.text.attributes import pass_of
from annotations.text.hashes import text_sha256
from annotations.text.spans import Span as DomainSpan

BATCH = 250
# The number of notes whose lengths the database adds up at once.
LENGTHS = 5_000
SUBMITTED = models.AnnotationSetState.SUBMITTED
# The names of units and granularities together.
LEVELS = {
    ("entity", "subcategory"): _("Spans, by label"),
    ("entity", "category"): _("Spans, by category"),
    ("entity", "binary"): _("Spans, personal or not"),
    ("token", "subcategory"): _("Tokens, by label"),
    ("token", "category"): _("Tokens, by category"),
    ("token", "binary"): _("Tokens, personal or not"),
}

# The criteria of all-or-nothing recall over notes, from lenient to strict.
FOUND = {
    Criterion.COVERED: _("Predicted spans cover all tokens of the span"),
    Criterion.TOLERANT_ANY: _("Text and position, any label"),
    Criterion.TOLERANT: _("Text and position, same label"),
    Criterion.EXACT: _("Exact bounds and label"),
}


@dataclass(frozen=True)
class Reference:
    """The gold that is scored against: a frozen version, or the current gold if `version` is None."""

    project: models.Project
    version: models.GoldVersion | None = None

    @classmethod
    def of(cls, project: models.Project, number: int | None) -> Self:
        """The gold with this number: 0 is the current gold, None the newest version. Raises Http404."""
        if number:
            return cls(project, version_for(project, number))
        return cls(project, version_rows(project).first() if number is None else None)

    @property
    def number(self) -> int:
        """The version's number; 0 for the current gold."""
        return self.version.number if self.version else 0

    @property
    def name(self) -> str:
        return str(self.number) if self.version else "current"


@dataclass(frozen=True)
class ComparedNotes:
    """The notes that are scored, and the number of notes that are not.

    `gold` queries the notes with gold in the reference, `submitted` and `unsubmitted` the author's sets, and `rows` the
    gold of the notes that are scored, which are those under the condition `scored`. `failed` are gold notes for which a
    model gave no usable answer: they are scored as notes in which nothing was found, so that failures don't improve the
    figures.

    Ids and states are read only where they are needed, since a page that offers a job must be quick: it needs counts.
    """

    reference: Reference
    author: models.Author
    gold: QuerySet[Any, Any]
    submitted: QuerySet[models.AnnotationSet]
    unsubmitted: QuerySet[models.AnnotationSet]
    scored: Q
    rows: QuerySet[Any, Any]
    failed: frozenset[int] = frozenset()

    @cached_property
    def annotation_sets(self) -> dict[int, int]:
        """The author's sets by note, without `failed` ones."""
        return dict(self._shared.values_list("document_id", "pk"))

    @property
    def _shared(self) -> QuerySet[models.AnnotationSet]:
        return self.submitted.filter(document__in=self.gold.values("document_id"))

    @cached_property
    def _counts(self) -> dict[str, int]:
        """All counts by one query, each from narrow indexes."""
        drafts = self.unsubmitted.filter(_of_same_note(self.gold))
        project = models.Project.objects.filter(pk=self.reference.project.pk).values(
            notes=CountedRows(self.rows),
            gold=CountedRows(self.gold),
            submitted=CountedRows(self.submitted),
            drafts=CountedRows(drafts),
        )
        return cast(dict[str, int], project.get())

    @property
    def count(self) -> int:
        return self._counts["notes"]

    @property
    def drafts(self) -> int:
        """The number of gold notes that the author has not submitted."""
        return self._counts["drafts"]

    @property
    def unread(self) -> int:
        """The number of gold notes that the author has no set for."""
        return self._counts["gold"] - self.count - self.drafts

    @property
    def no_gold(self) -> int:
        """The number of notes that the author submitted and that have no gold in the reference."""
        return self._counts["submitted"] - self.count + len(self.failed)

    @property
    def key(self) -> str:
        """A hash of everything that their score depends on, except the label set."""
        return state_key(self)

    @property
    def notes(self) -> list[int]:
        return sorted(self.failed.union(self.annotation_sets))

    def __iter__(self) -> Iterator[int]:
        return iter(self.notes)

    def only(self, rows: QuerySet[Any, Any]) -> Self:
        """Those of the notes whose gold is in `rows`."""
        failed = self.failed and rows.filter(document__in=among(self.failed)).values_list("document_id", flat=True)
        return replace(self, gold=rows, rows=rows, failed=frozenset(failed))


def state_key(*compared: ComparedNotes) -> str:
    """Return a hash of the gold and the annotations of the same notes, compared for one or several authors."""
    reference, rows = compared[0].reference, compared[0].rows
    authors, version = [one.author.pk for one in compared], reference.version
    if version is None:
        authors.append(gold_author_id(reference.project))
    sets = models.AnnotationSet.objects.filter(
        author__in=authors, state=SUBMITTED, document__in=rows.values("document_id")
    )
    of_each = [[sorted(one.failed), _rewritten_key(one.author)] for one in compared]
    return key_of(version and [version.pk, version.content_hash], state_of_sets(sets), of_each)


def scorable_authors(project: models.Project, among: QuerySet[models.Author] | None = None) -> QuerySet[models.Author]:
    """Query the authors that can be scored, optionally `among` some: all except gold."""
    authors = models.Author.objects.all() if among is None else among
    return authors.filter(project=project).exclude(kind=models.AuthorKind.GOLD)


def codes_of(project: models.Project, language: str) -> list[str]:
    """The languages of notes that count as `language`. Notes without one count as notes in the project's language."""
    return ["", language] if language == project.language else [language]


def _in_language(rows: QuerySet[Any, Any], project: models.Project, language: str) -> QuerySet[Any, Any]:
    """The rows whose note is in a language; all rows without one."""
    return rows.filter(document__language__in=codes_of(project, language)) if language else rows


LANGUAGES: FigureKind[list[str]] = FigureKind("note-languages")


def note_languages(project: models.Project) -> list[str]:
    """List the languages of the project's notes. They are stored, since finding them reads all notes."""
    notes = models.Document.objects.filter(project=project).order_by()
    last = notes.order_by("-pk").values("pk")[:1]
    state = models.Project.objects.filter(pk=project.pk).values(count=CountedRows(notes), last=Subquery(last))
    key = key_of(state.get())
    found = cached_value(project, LANGUAGES, key)
    if found is None:
        found = list(notes.values_list("language", flat=True).distinct())
        cache_value(project, LANGUAGES, key, found)
    return sorted({language or project.language for language in found} - {""})


def compared(reference: Reference, author: models.Author, *, split: str = "", language: str = "") -> ComparedNotes:
    """Find the notes with gold in the reference and a submitted annotation set by the author.

    With a `split` or a `language`, only these notes; notes in other languages are not counted at all.
    """
    gold = _gold_rows(reference, split, language)
    own = _in_language(models.AnnotationSet.objects.filter(author=author), reference.project, language).order_by()
    submitted = own.filter(state=SUBMITTED)
    scored, failed = Q(_of_same_note(submitted)), frozenset[int]()
    if unanswered := _failed(author):
        failed = frozenset(
            gold.filter(document__in=among(unanswered)).exclude(scored).values_list("document_id", flat=True)
        )
        scored |= Q(document__in=among(failed))
    # By the names of the states, a part of the index is enough.
    unsubmitted = own.filter(state__in=[state for state in models.AnnotationSetState if state != SUBMITTED])
    return ComparedNotes(reference, author, gold, submitted, unsubmitted, scored, gold.filter(scored), failed)


def _of_same_note(rows: QuerySet[Any, Any]) -> Exists:
    """Whether one of the rows is of the same note. SQLite would read all of them first to look whether a note is in."""
    return Exists(rows.filter(document=OuterRef("document")))


def _failed(author: models.Author) -> set[int]:
    """Return the ids of notes for which a model gave no usable answer."""
    if author.kind != models.AuthorKind.RUN:
        return set()
    return {note for answer in notes_without_answer(author=author) for note in answer}


def _rewritten_key(author: models.Author) -> tuple[Any, ...]:
    """Return what identifies the state of the notes that a language model rewrote."""
    if author.kind != models.AuthorKind.RUN:
        return ()
    return tuple(
        models.RewrittenNote.objects.filter(author=author).aggregate(count=Count("pk"), last=Max("pk")).values()
    )


def _gold_rows(reference: Reference, split: str, language: str) -> QuerySet[Any, Any]:
    """Query the notes of a version, or the current gold sets."""
    rows: QuerySet[Any, Any] = gold_sets(reference.project)
    if reference.version:
        rows = models.GoldVersionNote.objects.filter(version=reference.version, **{"split": split} if split else {})
    return _in_language(rows.order_by(), reference.project, language)


def characters(compared: ComparedNotes, most: int) -> int:
    """Count the characters of the compared notes, which is the cost of a score; stop beyond `most`."""
    total, last, full = 0, 0, True
    while full and total <= most:
        rows = compared.rows.filter(document__gt=last).order_by("document_id")
        batch = rows.values(note=F("document_id"), size=F("document__length"))[:LENGTHS]
        found = batch.aggregate(total=Sum("size"), last=Max("note"), count=Count("note"))
        total, last, full = total + (found["total"] or 0), found["last"], found["count"] == LENGTHS
    return total


@dataclass(frozen=True)
class NotePair:
    """A note to score; labels are codes. `own` counts gold spans that were copied from the scored author.

    `rewritten` is the note's text as a language model rewrote it; None if the author rewrites no notes.
    """

    pk: int
    text: str
    gold: list[DomainSpan]
    predicted: list[DomainSpan]
    own: int = 0
    rewritten: str | None = None
    language: str = ""


def note_pairs(reference: Reference, author: models.Author, compared: ComparedNotes) -> Iterator[NotePair]:
    """Yield the compared notes with gold and predicted spans, reading BATCH notes at a time."""
    origin = origin_of(author)
    notes = compared.notes
    kept = models.RewrittenNote.objects.filter(author=author)
    rewrites = author.kind == models.AuthorKind.RUN and kept.exists()
    for batch in batched(notes, BATCH):
        rows = models.Document.objects.filter(pk__in=batch).values_list("pk", "text", "language")
        texts = {pk: (text, language) for pk, text, language in rows}
        sets = {compared.annotation_sets[note]: note for note in batch if note in compared.annotation_sets}
        predicted = spans_by_note(sets)
        rewritten = dict(kept.filter(document__in=batch).values_list("document_id", "text")) if rewrites else {}
        gold = _gold_spans(reference, batch)
        for note in batch:
            if note in texts:  # The note is missing if it was erased meanwhile.
                yield NotePair(
                    pk=note,
                    text=texts[note][0],
                    gold=[
                        DomainSpan(start, end, code, attributes=pairs_of(attributes[0] if attributes else None))
                        for start, end, code, _, *attributes in gold.get(note, [])
                    ],
                    predicted=predicted.get(note, []),
                    own=sum(origin.gave(span[3]) for span in gold.get(note, [])),
                    rewritten=rewritten.get(note, texts[note][0]) if rewrites else None,
                    language=texts[note][1],
                )


def _gold_spans(reference: Reference, batch: list[int]) -> dict[int, list[Sequence[Any]]]:
    """Return the gold spans with their provenance, by note."""
    if reference.version:
        rows = models.GoldVersionNote.objects.filter(version=reference.version, document__in=batch)
        return dict(rows.values_list("document_id", "spans"))
    note_of = dict(gold_sets(reference.project).filter(document__in=batch).values_list("pk", "document_id"))
    found: dict[int, list[Sequence[Any]]] = {}
    spans = models.Span.objects.filter(annotation_set__in=list(note_of)).order_by()
    for pk, start, end, code, made, attributes in spans.values_list(
        "annotation_set_id", "start", "end", "label__code", "provenance", "attributes"
    ):
        row = (start, end, code, made)
        found.setdefault(note_of[pk], []).append((*row, attributes) if attributes else row)
    return found


def spans_by_note(note_of: dict[int, int]) -> dict[int, list[DomainSpan]]:
    """Return the spans of annotation sets by note; `note_of` maps sets to notes."""
    found: dict[int, list[DomainSpan]] = {}
    rows = models.Span.objects.filter(annotation_set__in=list(note_of)).order_by()
    columns = ("annotation_set_id", "start", "end", "label__code", "confidence", "source", "attributes")
    for pk, start, end, code, confidence, source, attributes in rows.values_list(*columns):
        span = DomainSpan(start, end, code, confidence, source, attributes=pairs_of(attributes))
        found.setdefault(note_of[pk], []).append(span)
    return found


def passes_of(author: models.Author) -> int:
    """The number of passes in which the author's suggestions were found; 0 if they are not from a run with passes."""
    sources = (
        models.Span.objects.filter(annotation_set__author=author).order_by().values_list("source", flat=True).distinct()
    )
    return max((pass_of(source) or 0 for source in sources), default=0) if author.kind == models.AuthorKind.RUN else 0


@dataclass(frozen=True)
class LabelWords:
    """The project's labels in order, their categories and placeholders; `merged` maps merged codes to new codes.

    `attributes` are the names of the attributes of each label that has some.

    `category_names` are shown beside figures only, so that they are not in the key.
    """

    order: list[str]
    category_of: dict[str, str]
    category_names: dict[str, str]
    placeholder_of: dict[str, str]
    merged: dict[str, str]
    attributes: dict[str, list[str]] = field(default_factory=dict)

    @property
    def key(self) -> str:
        made_of = (self.order, self.category_of, self.placeholder_of, sorted(self.merged.items()))
        return text_sha256(repr((*made_of, self.attributes) if self.attributes else made_of))


def label_words(project: models.Project) -> LabelWords:
    rows = models.Label.objects.filter(label_set__project=project).select_related("category", "merged_into")
    labels = list(rows.order_by("position", "id"))
    live = [label for label in labels if label.merged_into_id is None]
    return LabelWords(
        order=[label.code for label in live],
        category_of={label.code: label.category.code for label in live},
        category_names={label.category.code: label.category.name for label in live},
        placeholder_of={label.code: label.placeholder for label in live},
        merged={label.code: label.merged_into.code for label in labels if label.merged_into},
        attributes={label.code: [each.name for each in definitions(label)] for label in live if label.attributes},
    )


@dataclass(frozen=True)
class AuthorNotes:
    """An author with the number of submitted notes, and how many of these have gold in a reference."""

    author: models.Author
    submitted: int
    shared: int


def authors_with_notes(
    reference: Reference, among: QuerySet[models.Author] | None = None, *, language: str = ""
) -> list[AuthorNotes]:
    """List the authors with submitted annotations, optionally `among` some: annotators, adjudication, then models.

    With a `language`, only notes in it are counted.
    """
    gold: Any = gold_sets(reference.project).order_by().values("document_id")
    if reference.version:
        gold = models.GoldVersionNote.objects.filter(version=reference.version).values("document_id")
    own = models.AnnotationSet.objects.filter(author=OuterRef("pk"), state=SUBMITTED)
    sets = _in_language(own, reference.project, language)
    authors: Any = scorable_authors(reference.project, among).annotate(
        submitted=CountedRows(sets), shared=CountedRows(sets.filter(document_id__in=gold))
    )
    order = [
        models.AuthorKind.ANNOTATOR, models.AuthorKind.ADJUDICATED, models.AuthorKind.REFINED, models.AuthorKind.RUN,
        models.AuthorKind.BENCH,
    ]  # fmt: skip
    found = [AuthorNotes(author, author.submitted, author.shared) for author in authors if author.submitted]
    return sorted(found, key=lambda one: (order.index(models.AuthorKind(one.author.kind)), one.author.name))


def annotation_set_ids(author: models.Author, notes: set[int]) -> dict[int, int]:
    """Return the author's annotation sets of these notes, by note."""
    sets = models.AnnotationSet.objects.filter(author=author, document__in=notes)
    return dict(sets.values_list("document_id", "pk"))


def learned_notes(author: models.Author, notes: Iterable[int]) -> int:
    """Count those of the notes from which a model behind the author's annotations learned."""
    learned = {note for answer in notes_learned_from(author=author) for note in answer}
    return len(learned.intersection(notes)) if learned else 0


def masking_threshold(author: models.Author) -> float | None:
    """Return the masking threshold of the run that the author stands for; None without one."""
    return next(filter(None, thresholds_of(author=author)), None)


def copied_in_text(own: int, name: str, *, merged: bool) -> str:
    """The sentence with which commands warn of gold spans that were copied from the scored author."""
    source = f"{name} or from its runs" if merged else name
    return f"{own} gold spans were copied from {source}, so its figures are too optimistic."

"""What scoring reads: which notes of gold and of an author are compared, and their texts and spans."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, F, Max, QuerySet, Sum

from annotations.core.gold_sets import gold_sets
from annotations.domain.hashing import text_sha256
from annotations.domain.spans import Span as DomainSpan
from annotations.models import AnnotationSet, Author, Document, GoldVersion, GoldVersionNote, Label, Project, Span

BATCH = 250
SUBMITTED = AnnotationSet.State.SUBMITTED


@dataclass(frozen=True)
class Reference:
    """The gold that is scored against: a frozen version, or (None) the gold as it stands now."""

    project: Project
    version: GoldVersion | None = None

    @property
    def number(self) -> int:
        """The version's number; 0 for the gold as it stands now."""
        return self.version.number if self.version else 0

    @property
    def name(self) -> str:
        return str(self.number) if self.version else "current"


@dataclass(frozen=True)
class Compared:
    """The notes that count, by id with the ids of the author's and (current gold) the gold's sets, and who is left out.

    `drafts` and `unread` are gold notes that the author has not submitted; `no_gold` are notes that the author
    submitted and that have no gold in the reference.
    """

    readings: dict[int, int]
    golds: dict[int, int]
    drafts: int
    unread: int
    no_gold: int
    key: str

    @property
    def notes(self) -> list[int]:
        return sorted(self.readings)


def scorable_authors(project: Project) -> QuerySet[Author]:
    """Everybody whose readings can be scored: all but gold itself."""
    return Author.objects.filter(project=project).exclude(kind=Author.Kind.GOLD)


def compared(reference: Reference, author: Author, *, split: str = "") -> Compared:
    """Which notes count: those with gold in the reference and a submitted reading by the author.

    `key` is a hash of all that a score of them depends on, besides the label set.
    """
    gold = _gold_notes(reference, split)
    sets = AnnotationSet.objects.filter(author=author).values_list("document_id", "pk", "version", "state")
    stamp = hashlib.sha256()
    readings: dict[int, int] = {}
    drafts = no_gold = 0
    for note, pk, version, state in sets.order_by("document_id"):
        if state != SUBMITTED:
            drafts += note in gold
        elif note in gold:
            readings[note] = pk
            stamp.update(f"{note} {pk} {version} {gold[note]}\n".encode())
        else:
            no_gold += 1
    stamp.update(repr(_weight(author)).encode())
    if reference.version:
        stamp.update(f"gold {reference.version.pk} {reference.version.content_hash}".encode())
    else:
        stamp.update(repr([_weight(one) for one in _gold_authors(reference.project)]).encode())
    return Compared(
        readings=readings,
        golds={} if reference.version else {note: int(gold[note].split()[0]) for note in readings},
        drafts=drafts,
        unread=len(gold) - len(readings) - drafts,
        no_gold=no_gold,
        key=stamp.hexdigest(),
    )


def _gold_notes(reference: Reference, split: str) -> dict[int, str]:
    """Gold notes by id, each with what its gold is known by."""
    if reference.version is None:
        rows = gold_sets(reference.project).values_list("document_id", "pk", "version")
        return {note: f"{pk} {version}" for note, pk, version in rows}
    notes = GoldVersionNote.objects.filter(version=reference.version)
    if split:
        notes = notes.filter(split=split)
    return {note: str(pk) for note, pk in notes.values_list("document_id", "pk")}


def _gold_authors(project: Project) -> QuerySet[Author]:
    return Author.objects.filter(project=project, kind=Author.Kind.GOLD)


def _weight(author: Author) -> tuple[Any, ...]:
    """Sums over the author's spans: should spans ever change without their set's version, the key changes with them."""
    sums = Span.objects.filter(annotation_set__author=author).aggregate(
        count=Count("pk"), last=Max("pk"), starts=Sum("start"), ends=Sum("end"), labels=Sum("label_id"),
        places=Sum(F("start") * F("label_id")),
    )  # fmt: skip
    return tuple(sums.values())


def characters(compared: Compared) -> int:
    """How much text a score reads."""
    sizes = (_lengths(compared.notes[at : at + 900]) for at in range(0, len(compared.readings), 900))
    return sum(sizes)


def _lengths(notes: list[int]) -> int:
    return int(Document.objects.filter(pk__in=notes).aggregate(total=Sum("length"))["total"] or 0)


@dataclass(frozen=True)
class NotePair:
    """A note to be scored; labels are codes. `own` gold spans were taken over from the author who is scored."""

    pk: int
    text: str
    gold: list[DomainSpan]
    predicted: list[DomainSpan]
    own: int = 0


def note_pairs(reference: Reference, author: Author, compared: Compared) -> Iterator[NotePair]:
    """The compared notes with both sides' spans, BATCH at a time."""
    own = f"{author.kind}:{author.name}"
    notes = compared.notes
    for at in range(0, len(notes), BATCH):
        batch = notes[at : at + BATCH]
        texts = dict(Document.objects.filter(pk__in=batch).values_list("pk", "text"))
        predicted = spans_by_note({compared.readings[note]: note for note in batch})
        gold = _gold_spans(reference, compared, batch)
        for note in batch:
            if note in texts:  # erased meanwhile
                yield NotePair(
                    pk=note,
                    text=texts[note],
                    gold=[DomainSpan(start, end, code) for start, end, code, _ in gold.get(note, [])],
                    predicted=predicted.get(note, []),
                    own=sum((made or {}).get("from") == own for _, _, _, made in gold.get(note, [])),
                )


GoldSpan = tuple[int, int, str, dict[str, Any] | None]


def _gold_spans(reference: Reference, compared: Compared, batch: list[int]) -> dict[int, list[GoldSpan]]:
    """Gold spans with their provenance, by note."""
    if reference.version:
        rows = GoldVersionNote.objects.filter(version=reference.version, document__in=batch)
        return dict(rows.values_list("document_id", "spans"))
    note_of = {compared.golds[note]: note for note in batch}
    found: dict[int, list[GoldSpan]] = {}
    spans = Span.objects.filter(annotation_set__in=list(note_of)).order_by()
    for pk, start, end, code, made in spans.values_list(
        "annotation_set_id", "start", "end", "label__code", "provenance"
    ):
        found.setdefault(note_of[pk], []).append((start, end, code, made))
    return found


def spans_by_note(note_of: dict[int, int]) -> dict[int, list[DomainSpan]]:
    """The spans of annotation sets, by the note that each set is given with."""
    found: dict[int, list[DomainSpan]] = {}
    rows = Span.objects.filter(annotation_set__in=list(note_of)).order_by()
    for pk, start, end, code in rows.values_list("annotation_set_id", "start", "end", "label__code"):
        found.setdefault(note_of[pk], []).append(DomainSpan(start, end, code))
    return found


@dataclass(frozen=True)
class LabelWords:
    """The project's labels for scoring: those in use with categories and placeholders, and what merged codes became."""

    order: list[str]
    category_of: dict[str, str]
    placeholder_of: dict[str, str]
    merged: dict[str, str]

    @property
    def key(self) -> str:
        made_of = (self.order, self.category_of, self.placeholder_of, sorted(self.merged.items()))
        return text_sha256(repr(made_of))


def label_words(project: Project) -> LabelWords:
    rows = Label.objects.filter(label_set__project=project).select_related("category", "merged_into")
    labels = list(rows.order_by("position", "id"))
    live = [label for label in labels if label.merged_into_id is None]
    return LabelWords(
        order=[label.code for label in live],
        category_of={label.code: label.category.code for label in live},
        placeholder_of={label.code: label.placeholder for label in live},
        merged={label.code: label.merged_into.code for label in labels if label.merged_into},
    )


@dataclass(frozen=True)
class Reader:
    """An author with how many notes they submitted that have gold in a reference."""

    author: Author
    submitted: int
    shared: int


def readers_of(reference: Reference) -> list[Reader]:
    """People first, then adjudicators and models; those who submitted nothing are left out."""
    gold: Any = gold_sets(reference.project).order_by().values("document_id")
    if reference.version:
        gold = GoldVersionNote.objects.filter(version=reference.version).values("document_id")
    authors = {author.pk: author for author in scorable_authors(reference.project)}
    sets = AnnotationSet.objects.filter(author__in=list(authors), state=SUBMITTED).order_by().values_list("author")
    submitted: dict[int, int] = dict(sets.annotate(n=Count("pk")))
    shared: dict[int, int] = dict(sets.filter(document_id__in=gold).annotate(n=Count("pk")))
    order = [Author.Kind.ANNOTATOR, Author.Kind.ADJUDICATED, Author.Kind.REFINED, Author.Kind.RUN]
    found = [Reader(authors[pk], n, shared.get(pk, 0)) for pk, n in submitted.items()]
    return sorted(found, key=lambda reader: (order.index(Author.Kind(reader.author.kind)), reader.author.name))


def reading_ids(author: Author, notes: set[int]) -> dict[int, int]:
    """The author's annotation sets of these notes, by note."""
    sets = AnnotationSet.objects.filter(author=author, document__in=notes)
    return dict(sets.values_list("document_id", "pk"))

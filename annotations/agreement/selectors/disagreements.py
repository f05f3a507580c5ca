"""The locations where annotators disagree, filtered and in context."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeVar

from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.utils.translation import gettext_lazy as _

from annotations import models
from annotations.agreement.rules.disagreement import DisagreementKind, TagRows, bio_rows
from annotations.agreement.rules.units import ComparedUnit
from annotations.core.authors import annotator_names
from annotations.core.bulk import page_edges
from annotations.core.spans import attribute_words, pairs_of
from annotations.text.segments import around
from annotations.text.spans import Bounds
from annotations.text.spans import Span as DomainSpan

PAGE = 20
UNTAGGED = "none"
NO_PAIRS = _("Adjudication is anonymous in this project, so disagreements cannot be filtered by pair of annotators.")
Scope = models.Difference.Scope


@dataclass(frozen=True)
class Round:
    """The time between two guideline amendments: from `begins` until before `ends`; None means unbounded."""

    number: int
    begins: datetime | None
    ends: datetime | None


def rounds(project: models.Project) -> list[Round]:
    """The project's rounds in order. There is at least one, and each amendment begins another."""
    times = list(models.Amendment.objects.filter(project=project).order_by("at", "number").values_list("at", flat=True))
    edges = [None, *times, None]
    return [Round(index + 1, edges[index], edges[index + 1]) for index in range(len(edges) - 1)]


@dataclass(frozen=True)
class Filters:
    """The filters of the page of disagreements, as ids and fixed words; an empty value doesn't filter."""

    kind: str = ""
    label: int | None = None
    pair: tuple[int, int] | None = None
    note: int | None = None
    round: int | None = None
    cause: str = ""
    unit: str = ""
    everyone: bool = False  # All submitted sets, not only those that count in agreement figures.

    @property
    def scopes(self) -> list[int]:
        return [Scope.ALL if self.everyone else Scope.BLIND, Scope.EITHER]


def differences(project: models.Project, filters: Filters) -> QuerySet[models.Difference]:
    """The locations that pass the filters, in order of the notes. Bring the comparisons up to date before."""
    found = models.Difference.objects.filter(project=project, scope__in=filters.scopes).order_by("document_id", "start")
    if filters.pair is not None:
        low, high = sorted(filters.pair)
        found = found.filter(pairs__contains=f",{low}-{high}:{filters.kind}" if filters.kind else f",{low}-{high},")
    elif filters.kind:
        found = found.filter(kinds__contains=f",{filters.kind},")
    if filters.label is not None:
        found = found.filter(labels__contains=f",{filters.label},")
    if filters.note is not None:
        found = found.filter(document_id=filters.note)
    if filters.unit and filters.unit != ComparedUnit.ENTITY:
        found = found.filter(tokens=True)
    elif filters.unit:
        found = found.exclude(kinds=f",{DisagreementKind.ATTRIBUTES},")  # No coefficient counts attributes.
    if filters.round is not None:
        found = found.filter(_of_round(project, filters.round))
    if filters.cause:
        found = found.filter(_of_cause(filters.cause))
    return found


def _of_round(project: models.Project, number: int) -> Q:
    """The filter for a round: the one in which the last counted set of a note was submitted."""
    wanted = next((each for each in rounds(project) if each.number == number), None)
    if wanted is None:
        return Q(pk__in=[])
    times = Q()
    if wanted.begins is not None:
        times &= Q(last_at__gte=wanted.begins)
    if wanted.ends is not None:
        times &= Q(last_at__lt=wanted.ends)
    if wanted.begins is None and wanted.ends is not None:
        times |= Q(last_at__isnull=True)  # Imported sets may have no date.
    return Q(document_id__in=models.Comparison.objects.filter(times, project=project).values("document_id"))


def _of_cause(cause: str) -> Q:
    here = models.Cause.objects.filter(
        document_id=OuterRef("document_id"), start__lt=OuterRef("end"), end__gt=OuterRef("start")
    )
    return ~Q(Exists(here)) if cause == UNTAGGED else Q(Exists(here.filter(kind=cause)))


@dataclass(frozen=True)
class DisagreementCounts:
    """How many locations there are, and how many show each kind; a location can show several."""

    total: int
    kinds: dict[str, int]


def counts(found: QuerySet[models.Difference]) -> DisagreementCounts:
    kinds: Counter[str] = Counter()
    total = 0
    for listed, number in found.order_by().values_list("kinds").annotate(number=Count("id")):
        total += number
        for kind in listed.strip(",").split(","):
            kinds[kind] += number
    return DisagreementCounts(total, {kind.value: kinds[kind.value] for kind in DisagreementKind})


class Place(Protocol):
    """A location, or several locations of one sentence."""

    @property
    def document_id(self) -> int: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


AnyPlace = TypeVar("AnyPlace", bound=Place)


@dataclass(frozen=True)
class Sentence:
    """The sentence around a place. `spans` are those of each annotator in it, by name; their labels are codes."""

    note: models.Document
    rows: TagRows
    spans: dict[str, list[DomainSpan]]

    @property
    def start(self) -> int:
        return self.rows.start

    @property
    def end(self) -> int:
        return self.rows.end

    @property
    def text(self) -> str:
        return self.note.text[self.rows.start : self.rows.end]

    @property
    def tokens(self) -> list[str]:
        return [self.note.text[token.start : token.end] for token in self.rows.tokens]

    @property
    def tags(self) -> dict[str, list[str]]:
        """Each annotator's BIO tags by name."""
        return self.rows.tags


@dataclass(frozen=True)
class DisagreementView:
    """One location as the page shows it."""

    row: models.Difference
    sentence: Sentence
    kinds: list[str]
    causes: list[str]
    comments: int
    adjudicated: str  # The state of the note's adjudication; empty before it begins.

    @property
    def spans(self) -> dict[str, list[DomainSpan]]:
        """The spans of each annotator at the location, by name."""
        return {
            name: [each for each in spans if self.row.start <= each.start and each.end <= self.row.end]
            for name, spans in self.sentence.spans.items()
        }

    @property
    def quote(self) -> str:
        """The text of the location."""
        return self.sentence.note.text[self.row.start : self.row.end]

    @property
    def place(self) -> str:
        """The location in a form."""
        return f"{self.row.document_id}-{self.row.start}-{self.row.end}"

    @property
    def attributes(self) -> dict[str, list[str]]:
        """The spans with their attributes in words, by annotator; empty if no span has any."""
        if not any(span.attributes for spans in self.spans.values() for span in spans):
            return {}
        return {
            name: [" · ".join([span.label, *attribute_words(dict(span.attributes))]) for span in spans]
            for name, spans in self.spans.items()
        }


@dataclass(frozen=True)
class DisagreementPage:
    locations: list[DisagreementView]
    previous: str | None
    next: str | None


def page(
    project: models.Project,
    filters: Filters,
    *,
    after: tuple[int, int] | None = None,
    before: tuple[int, int] | None = None,
    hidden: bool = False,
) -> DisagreementPage:
    """The locations after (or before) one, given as note id and start. `hidden` replaces the annotators' names."""
    found = differences(project, filters)
    if before is not None:
        document, start = before
        back = found.filter(Q(document_id__lt=document) | Q(document_id=document, start__lt=start))
        rows = list(back.order_by("-document_id", "-start")[: PAGE + 1])[::-1]
    else:
        rows = list(following(found, after)[: PAGE + 1])
    more, rows = len(rows) > PAGE, rows[-PAGE:] if before is not None else rows[:PAGE]
    places = [f"{row.document_id}-{row.start}" for row in rows]
    shown = in_context(project, rows, everyone=filters.everyone, hidden=hidden)
    return DisagreementPage(shown, *page_edges(places, after=after, before=before, more=more))


def following(found: QuerySet[models.Difference], after: tuple[int, int] | None) -> QuerySet[models.Difference]:
    """The locations after one, given as note id and start; without one, all."""
    if after is None:
        return found
    document, start = after
    return found.filter(Q(document_id__gt=document) | Q(document_id=document, start__gt=start))


def in_context(
    project: models.Project, rows: Sequence[models.Difference], *, everyone: bool, hidden: bool
) -> list[DisagreementView]:
    """The locations with their sentences and each annotator's tags. The number of queries doesn't grow with `rows`."""
    notes = models.Document.objects.filter(project=project).in_bulk({row.document_id for row in rows})
    causes: dict[int, list[models.Cause]] = defaultdict(list)
    for cause in models.Cause.objects.filter(document_id__in=notes):
        causes[cause.document_id].append(cause)
    comments = _comments(notes)
    adjudicated = dict(
        models.AnnotationSet.objects.filter(
            document_id__in=notes, author__kind=models.AuthorKind.ADJUDICATED
        ).values_list("document_id", "state")
    )
    return [
        DisagreementView(
            row=row,
            sentence=sentence,
            kinds=row.kinds.strip(",").split(","),
            causes=kinds_at(causes[row.document_id], row.start, row.end),
            comments=sum(start < row.end and row.start < end for start, end in comments[row.document_id]),
            adjudicated=adjudicated.get(row.document_id, ""),
        )
        for row, sentence in in_sentences(rows, notes, codes(project), everyone=everyone, hidden=hidden)
    ]


def codes(project: models.Project) -> list[str]:
    """The codes of the project's labels in order."""
    return list(models.Label.objects.filter(label_set__project=project).values_list("code", flat=True))


def in_sentences(
    places: Sequence[AnyPlace],
    notes: Mapping[int, models.Document],
    label_order: Sequence[str],
    *,
    everyone: bool,
    hidden: bool,
) -> Iterator[tuple[AnyPlace, Sentence]]:
    """The places in these notes with their sentences. `hidden` replaces the annotators' names."""
    windows: dict[int, Bounds] = {}
    for place in places:
        if place.document_id in notes:
            low, high = around(notes[place.document_id].text, place.start, place.end)
            before = windows.get(place.document_id, (low, high))
            windows[place.document_id] = min(low, before[0]), max(high, before[1])
    sets = submitted_sets(notes)
    annotation_sets = spans_of_sets(
        sets if everyone else sets.filter(blind=True, seeded=False), windows, label="label__code"
    )
    names = annotator_names(notes, hidden=hidden)
    for place in places:
        if (note := notes.get(place.document_id)) is not None:
            own = annotation_sets.get(note.pk, {})
            spans = {name: own[author] for author, name in names.get(note.pk, {}).items() if author in own}
            rows = bio_rows(note.text, place.start, place.end, spans, label_order=label_order)
            yield place, Sentence(note, rows, spans)


def submitted_sets(documents: Iterable[int]) -> QuerySet[models.AnnotationSet]:
    """Query the submitted annotation sets of annotators of these notes."""
    return models.AnnotationSet.objects.filter(
        document_id__in=documents, author__kind=models.AuthorKind.ANNOTATOR, state=models.AnnotationSetState.SUBMITTED
    )


def spans_of_sets(
    sets: QuerySet[models.AnnotationSet], bounds: Mapping[int, Bounds] | None = None, *, label: str = "label_id"
) -> dict[int, dict[str, list[DomainSpan]]]:
    """The spans of annotation sets in order, by note and author id, optionally only those in a window of each note.

    `label` is the column that names their labels.
    """
    found: dict[int, dict[str, list[DomainSpan]]] = defaultdict(dict)
    home: dict[int, list[DomainSpan]] = {}
    inside = Q(pk__in=[])
    for pk, document, author in sets.order_by("document_id", "author_id").values_list("pk", "document_id", "author_id"):
        home[pk] = found[document].setdefault(str(author), [])
        if bounds is not None and document in bounds:
            low, high = bounds[document]
            inside |= Q(annotation_set_id=pk, start__lt=high, end__gt=low)
    spans = (
        models.Span.objects.filter(annotation_set_id__in=list(home))
        if bounds is None
        else models.Span.objects.filter(inside)
    )
    columns = ("annotation_set_id", "start", "end", label, "attributes")
    for pk, start, end, name, attributes in spans.order_by("start", "end", "label_id").values_list(*columns):
        home[pk].append(DomainSpan(start, end, str(name), attributes=pairs_of(attributes)))
    return found


def kinds_at(causes: Iterable[models.Cause], start: int, end: int) -> list[str]:
    """The causes of a location: those of all causes of the note that overlap it, each once, in order."""
    found = {cause.kind for cause in causes if cause.start < end and start < cause.end}
    return [kind for kind in models.CauseKind.values if kind in found]


def _comments(ids: Iterable[int]) -> dict[int, list[tuple[int, int]]]:
    """The bounds of the threads about the notes themselves, not about an annotator's set."""
    found: dict[int, list[tuple[int, int]]] = defaultdict(list)
    threads = models.Comment.objects.filter(
        document_id__in=ids, annotator__isnull=True, answers__isnull=True, start__isnull=False, end__isnull=False
    )
    for document, start, end in threads.values_list("document_id", "start", "end"):
        if start is not None and end is not None:
            found[document].append((start, end))
    return found

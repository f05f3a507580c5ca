"""The locations where annotators disagree, filtered and in context."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from annotations.agreement.rules import ComparedUnit
from annotations.agreement.rules.disagreement import DisagreementKind, TagRows, bio_rows
from annotations.core.authors import annotator_names
from annotations.core.spans import attribute_words, pairs_of
from annotations.models import (
    Amendment,
    AnnotationSet,
    AnnotationSetState,
    AuthorKind,
    Cause,
    CauseKind,
    Comment,
    Comparison,
    Difference,
    Document,
    Label,
    Project,
    Span,
)
from annotations.text.segments import around
from annotations.text.spans import Span as DomainSpan

PAGE = 20
UNTAGGED = "none"
Scope = Difference.Scope


@dataclass(frozen=True)
class Round:
    """The time between two guideline amendments: from `begins` until before `ends`; None means unbounded."""

    number: int
    begins: datetime | None
    ends: datetime | None


def rounds(project: Project) -> list[Round]:
    """The project's rounds in order. There is at least one, and each amendment begins another."""
    times = list(Amendment.objects.filter(project=project).order_by("at", "number").values_list("at", flat=True))
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


def differences(project: Project, filters: Filters) -> QuerySet[Difference]:
    """The locations that pass the filters, in order of the notes. Bring the comparisons up to date before."""
    found = Difference.objects.filter(project=project, scope__in=filters.scopes).order_by("document_id", "start")
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


def _of_round(project: Project, number: int) -> Q:
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
    return Q(document_id__in=Comparison.objects.filter(times, project=project).values("document_id"))


def _of_cause(cause: str) -> Q:
    here = Cause.objects.filter(
        document_id=OuterRef("document_id"), start__lt=OuterRef("end"), end__gt=OuterRef("start")
    )
    return ~Q(Exists(here)) if cause == UNTAGGED else Q(Exists(here.filter(kind=cause)))


@dataclass(frozen=True)
class Counts:
    """The number of locations that pass, and for each kind how many show it; a location can show several."""

    total: int
    kinds: dict[str, int]


def counts(found: QuerySet[Difference]) -> Counts:
    kinds: Counter[str] = Counter()
    total = 0
    for listed, number in found.order_by().values_list("kinds").annotate(number=Count("id")):
        total += number
        for kind in listed.strip(",").split(","):
            kinds[kind] += number
    return Counts(total, {kind.value: kinds[kind.value] for kind in DisagreementKind})


@dataclass(frozen=True)
class DisagreementView:
    """One location as the page shows it. `annotators` are names by the keys of `rows`.

    `attributes` lists, for each annotator's name, the spans there with their attributes; empty if no span has any.
    """

    row: Difference
    note: Document
    kinds: list[str]
    rows: TagRows[str]
    annotators: dict[str, str]
    causes: list[str]
    comments: int
    attributes: list[tuple[str, list[str]]]
    adjudicated: str  # The state of the note's adjudication; empty before it begins.


@dataclass(frozen=True)
class DisagreementPage:
    locations: list[DisagreementView]
    previous: str
    next: str


def page(
    project: Project,
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
        more, rows = len(rows) > PAGE, rows[-PAGE:]
        has_previous, has_next = more, True
    else:
        rows = list(following(found, after)[: PAGE + 1])
        has_previous, has_next = after is not None, len(rows) > PAGE
        rows = rows[:PAGE]
    return DisagreementPage(
        in_context(project, rows, everyone=filters.everyone, hidden=hidden),
        _name(rows[0]) if rows and has_previous else "",
        _name(rows[-1]) if rows and has_next else "",
    )


def following(found: QuerySet[Difference], after: tuple[int, int] | None) -> QuerySet[Difference]:
    """The locations after one, given as note id and start; without one, all."""
    if after is None:
        return found
    document, start = after
    return found.filter(Q(document_id__gt=document) | Q(document_id=document, start__gt=start))


def _name(row: Difference) -> str:
    return f"{row.document_id}-{row.start}"


def in_context(project: Project, rows: Sequence[Difference], *, everyone: bool, hidden: bool) -> list[DisagreementView]:
    """The locations with their sentences and each annotator's tags. The number of queries doesn't grow with `rows`."""
    ids = sorted({row.document_id for row in rows})
    notes = Document.objects.filter(project=project).in_bulk(ids)
    annotation_sets = annotation_sets_in(ids, windows(rows, notes), everyone=everyone)
    order = list(Label.objects.filter(label_set__project=project).values_list("code", flat=True))
    causes = _by_note(Cause.objects.filter(document_id__in=ids))
    comments = _comments(ids)
    adjudicated = dict(
        AnnotationSet.objects.filter(document_id__in=ids, author__kind=AuthorKind.ADJUDICATED).values_list(
            "document_id", "state"
        )
    )
    names = annotator_names(ids, hidden=hidden)
    shown = []
    for row in rows:
        note = notes.get(row.document_id)
        if note is None:
            continue
        own = annotation_sets.get(row.document_id, {})
        annotators = names.get(row.document_id, {})
        own = {author: own[author] for author in annotators if author in own}
        shown.append(
            DisagreementView(
                row=row,
                note=note,
                kinds=row.kinds.strip(",").split(","),
                rows=bio_rows(note.text, row.start, row.end, own, label_order=order),
                annotators=annotators,
                causes=kinds_at(causes[row.document_id], row.start, row.end),
                attributes=_attributes(row, own, annotators),
                comments=sum(start < row.end and row.start < end for start, end in comments[row.document_id]),
                adjudicated=adjudicated.get(row.document_id, ""),
            )
        )
    return shown


def _attributes(
    row: Difference, annotation_sets: Mapping[str, Iterable[DomainSpan]], names: Mapping[str, str]
) -> list[tuple[str, list[str]]]:
    here = {
        names.get(author, "?"): [span for span in spans if row.start <= span.start and span.end <= row.end]
        for author, spans in annotation_sets.items()
    }
    if not any(span.attributes for spans in here.values() for span in spans):
        return []
    return [
        (name, [" · ".join([span.label, *attribute_words(dict(span.attributes))]) for span in spans])
        for name, spans in here.items()
    ]


class Located(Protocol):
    """A stretch of a note, for example a location."""

    @property
    def document_id(self) -> int: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


def windows(rows: Iterable[Located], notes: dict[int, Document]) -> dict[int, tuple[int, int]]:
    """For each note the bounds that enclose the sentences of its locations."""
    found: dict[int, tuple[int, int]] = {}
    for row in rows:
        if row.document_id in notes:
            low, high = around(notes[row.document_id].text, row.start, row.end)
            before = found.get(row.document_id, (low, high))
            found[row.document_id] = min(low, before[0]), max(high, before[1])
    return found


def annotation_sets_in(
    ids: Sequence[int], bounds: dict[int, tuple[int, int]], *, everyone: bool
) -> dict[int, dict[str, list[DomainSpan]]]:
    """The spans inside the windows, by note and author id; their labels are codes."""
    sets = AnnotationSet.objects.filter(
        document_id__in=ids, author__kind=AuthorKind.ANNOTATOR, state=AnnotationSetState.SUBMITTED
    )
    if not everyone:
        sets = sets.filter(blind=True, seeded=False)
    found: dict[int, dict[str, list[DomainSpan]]] = defaultdict(dict)
    home: dict[int, tuple[int, str]] = {}
    wanted = Q(pk__in=[])
    for pk, document, author in sets.values_list("pk", "document_id", "author_id"):
        home[pk] = document, str(author)
        found[document][str(author)] = []
        if document in bounds:
            low, high = bounds[document]
            wanted |= Q(annotation_set_id=pk, start__lt=high, end__gt=low)
    spans = Span.objects.filter(wanted).order_by("start", "end")
    columns = ("annotation_set_id", "start", "end", "label__code", "attributes")
    for pk, start, end, code, attributes in spans.values_list(*columns):
        document, author_id = home[pk]
        found[document][author_id].append(DomainSpan(start, end, code, attributes=pairs_of(attributes)))
    return found


def _by_note(causes: Iterable[Cause]) -> dict[int, list[Cause]]:
    found: dict[int, list[Cause]] = defaultdict(list)
    for cause in causes:
        found[cause.document_id].append(cause)
    return found


def kinds_at(causes: Iterable[Cause], start: int, end: int) -> list[str]:
    """The causes of a location: those of all causes of the note that overlap it, each once, in order."""
    found = {cause.kind for cause in causes if cause.start < end and start < cause.end}
    return [kind for kind in CauseKind.values if kind in found]


def _comments(ids: Sequence[int]) -> dict[int, list[tuple[int, int]]]:
    """The bounds of the threads about the notes themselves, not about an annotator's set."""
    found: dict[int, list[tuple[int, int]]] = defaultdict(list)
    threads = Comment.objects.filter(
        document_id__in=ids, annotator__isnull=True, answers__isnull=True, start__isnull=False, end__isnull=False
    )
    for document, start, end in threads.values_list("document_id", "start", "end"):
        if start is not None and end is not None:
            found[document].append((start, end))
    return found

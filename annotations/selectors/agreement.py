"""Agreement of a project's annotators: which readings count, and the figures over them."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from django.db.models import Count

from annotations.domain.agreement import (
    Granularity,
    NoteReadings,
    Unit,
    agreement,
    coarser,
    in_words,
    patterns,
    unmarked,
)
from annotations.domain.spans import Span as DomainSpan
from annotations.models import AnnotationSet, Author, Label, Project, Span

BATCH = 250


@dataclass(frozen=True)
class Counted:
    """Which readings a figure is over, and which were left out and why."""

    notes: int
    annotator_names: tuple[str, ...]
    not_blind: int
    seeded: int
    drafts: int


def counted_readings(project: Project) -> Counted:
    """Submitted, blind, unseeded readings by annotators, of notes that have at least two of them."""
    sets = AnnotationSet.objects.filter(author__project=project, author__kind=Author.Kind.ANNOTATOR)
    submitted = sets.filter(state=AnnotationSet.State.SUBMITTED)
    notes = _shared_notes(project)
    names = set(
        _readings(project).filter(document__in=notes).order_by().values_list("author__name", flat=True).distinct()
    )
    return Counted(
        notes=notes.count(),
        annotator_names=tuple(sorted(names)),
        not_blind=submitted.filter(blind=False, seeded=False).count(),
        seeded=submitted.filter(seeded=True).count(),
        drafts=sets.filter(state=AnnotationSet.State.DRAFT).count(),
    )


def _readings(project: Project) -> Any:
    return AnnotationSet.objects.filter(
        author__project=project,
        author__kind=Author.Kind.ANNOTATOR,
        state=AnnotationSet.State.SUBMITTED,
        blind=True,
        seeded=False,
    )


def _shared_notes(project: Project) -> Any:
    shared = _readings(project).order_by().values("document").annotate(readers=Count("id")).filter(readers__gte=2)
    return shared.values_list("document", flat=True)


def shared_readings(project: Project) -> Iterator[NoteReadings]:
    """Every note with at least two counted readings, with its text and spans by annotator; BATCH notes at a time."""
    notes = sorted(_shared_notes(project))
    for at in range(0, len(notes), BATCH):
        yield from _batch(project, notes[at : at + BATCH])


def _batch(project: Project, notes: list[int]) -> Iterator[NoteReadings]:
    texts: dict[int, str] = {}
    readings: dict[int, dict[str, list[DomainSpan]]] = {}
    home: dict[int, tuple[int, str]] = {}
    sets = _readings(project).filter(document__in=notes).order_by("document_id")
    for pk, note, text, name in sets.values_list("pk", "document_id", "document__text", "author__name"):
        texts[note] = text
        home[pk] = (note, name)
        readings.setdefault(note, {})[name] = []
    spans = Span.objects.filter(annotation_set__in=list(home)).order_by("start", "end")
    for pk, start, end, code in spans.values_list("annotation_set_id", "start", "end", "label__code"):
        note, name = home[pk]
        readings[note][name].append(DomainSpan(start, end, code))
    for note, by_name in readings.items():
        yield NoteReadings(texts[note], by_name)


def agreement_table(project: Project, *, unit: Unit) -> dict[str, Any]:
    """The page's figures: one pass over the readings, a row for each granularity that the unit has."""
    counted = counted_readings(project)
    labels = list(Label.objects.filter(label_set__project=project).select_related("category"))
    category_of = {label.code: label.category.code for label in labels}
    tokens = unit in (Unit.TOKEN, Unit.MARKED)
    fine = patterns(
        shared_readings(project),
        counted.annotator_names,
        unit=unit,
        granularity=Granularity.BIO if tokens else Granularity.SUBCATEGORY,
        label_order=[label.code for label in labels],
    )
    rows = []
    for granularity in Granularity:
        if granularity is Granularity.BIO and not tokens:
            continue
        same = granularity is Granularity.BIO
        result = agreement(fine if same else coarser(fine, granularity, category_of))
        rows.append(
            {
                "granularity": granularity,
                "result": result,
                "words": None if result.alpha is None else in_words(result.alpha),
            }
        )
    return {"rows": rows, "counted": counted, "units": fine.total(), "unmarked": unmarked(fine)}


def project_agreement(
    project: Project, *, unit: Unit = Unit.TOKEN, granularity: Granularity = Granularity.SUBCATEGORY
) -> dict[str, Any]:
    """Observed agreement and alpha, and what has to stand beside them. Raises ValueError (see `patterns`)."""
    counted = counted_readings(project)
    labels = list(Label.objects.filter(label_set__project=project).select_related("category"))
    result = agreement(
        patterns(
            shared_readings(project),
            counted.annotator_names,
            unit=unit,
            granularity=granularity,
            category_of={label.code: label.category.code for label in labels},
            label_order=[label.code for label in labels],
        )
    )
    return {
        "observed": result.observed,
        "alpha": result.alpha,
        "units": result.units,
        "annotators": result.annotators,
        "unit": str(unit),
        "granularity": str(granularity),
        "words": None if result.alpha is None else in_words(result.alpha),
        "undefined": result.undefined,
    } | asdict(counted)

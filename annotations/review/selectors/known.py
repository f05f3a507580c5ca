"""Suggestions that are known or likely to be identifiers before anybody has reviewed the note."""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from typing import Any, Final, NamedTuple

from django.db.models import Count

from annotations.models import (
    AnnotationSet,
    AnnotationSetState,
    Author,
    AuthorKind,
    Decision,
    PlantedLeak,
    Span,
    SuggestedString,
)
from annotations.review.selectors.precision import RIGHT_DECISION

Known = PlantedLeak.Known
LabeledString = tuple[int | None, int]
"""The key of a string and a label id."""
# Strings per query.
KEYS: Final = 5_000
# A run is named after its backend, plus a number. Two runs of one backend agree without being independent.
_NUMBER = re.compile(r"[-_ ]?\d+$")


class Suggested(NamedTuple):
    """The columns of a suggestion that this module needs."""

    pk: int
    note: int
    start: int
    end: int
    label: int
    string: int | None
    confidence: float | None

    @property
    def labeled_string(self) -> LabeledString:
        return self.string, self.label


def suggested_in(run: Author, notes: Collection[int]) -> dict[int, list[Suggested]]:
    """The run's suggestions by note, in text order."""
    sets = AnnotationSet.objects.filter(author=run, document__in=notes, state=AnnotationSetState.SUBMITTED)
    by_set = dict(sets.values_list("pk", "document_id"))
    found: dict[int, list[Suggested]] = {note: [] for note in by_set.values()}
    rows = Span.objects.filter(annotation_set__in=list(by_set)).order_by("start", "end", "pk")
    columns = ("pk", "annotation_set_id", "start", "end", "label_id", "string_key", "confidence")
    for pk, annotation_set, *rest in rows.values_list(*columns):
        found[by_set[annotation_set]].append(Suggested(pk, by_set[annotation_set], *rest))
    return found


def known_among(run: Author, suggested: dict[int, list[Suggested]]) -> dict[int, str]:
    """How each known or likely identifier is known, by suggestion id. A model's confidence alone is not enough.

    * People: reviewers decided on the same string with the same label in other notes, one by one, and always accepted
      it exactly as suggested.
    * Runs: more than half of the runs over the note, and at least two, suggest exactly this span. Runs of the same
      name apart from a number count once; merged and refined runs don't count.
    * String (likely): the run suggests the same string with the same label in another note, where people will see it.
    """
    keys = {one.string for here in suggested.values() for one in here if one.string is not None}
    people, strings = _by_people(run.project_id, keys), _counts(run, keys)
    runs = _by_runs(suggested)
    found = {}
    for note, here in suggested.items():
        counts = Counter(one.labeled_string for one in here)
        for one in here:
            right, decided = (
                sum(by_note.values()) - by_note.get(note, 0)  # decisions in the note itself don't count
                for by_note in people.get(one.labeled_string, ({}, {}))
            )
            if 0 < decided == right:
                found[one.pk] = str(Known.PEOPLE)
            elif (note, one.start, one.end, one.label) in runs:
                found[one.pk] = str(Known.RUNS)
            elif strings.get(one.labeled_string, 0) > counts[one.labeled_string]:
                found[one.pk] = str(Known.STRING)
    return found


ByNote = dict[int, int]


def _by_people(project: int, keys: Collection[int]) -> dict[LabeledString, tuple[ByNote, ByNote]]:
    """Suggestions that were decided one by one: for each string, how many were right and how many decided, by note."""
    found: dict[LabeledString, tuple[ByNote, ByNote]] = defaultdict(lambda: ({}, {}))
    for batch in _batches(keys):
        rows: Any = Decision.objects.filter(
            review__author__project=project, cause__isnull=True, suggestion__string_key__in=batch
        ).order_by()
        counts = rows.values_list("suggestion__string_key", "suggestion__label_id", "review__document_id").annotate(
            right=Count("pk", filter=RIGHT_DECISION), decided=Count("pk")
        )
        for key, label, note, right, decided in counts:
            all_right, all_decided = found[key, label]
            all_right[note], all_decided[note] = right, decided
    return dict(found)


def _counts(run: Author, keys: Collection[int]) -> dict[LabeledString, int]:
    """How often the run suggests each of these strings, without hidden planted leaks."""
    found: dict[LabeledString, int] = {}
    for batch in _batches(keys):
        rows = SuggestedString.objects.filter(author=run, string_key__in=batch)
        found |= {(key, label): count for key, label, count in rows.values_list("string_key", "label_id", "count")}
    return found


def _batches(keys: Collection[int]) -> Iterator[list[int]]:
    ordered = sorted(keys)
    return (ordered[at : at + KEYS] for at in range(0, len(ordered), KEYS))


def _by_runs(notes: Iterable[int]) -> set[tuple[int, int, int, int]]:
    """Note, start, end and label of the spans that most runs suggest."""
    sets = AnnotationSet.objects.filter(
        document__in=list(notes), author__kind=AuthorKind.RUN, author__merged_from__isnull=True,
        state=AnnotationSetState.SUBMITTED,
    )  # fmt: skip
    rows: Any = sets.values_list("pk", "document_id", "author__name")
    names = {pk: (note, _NUMBER.sub("", name)) for pk, note, name in rows}
    runs_on: dict[int, set[str]] = defaultdict(set)
    for note, name in names.values():
        runs_on[note].add(name)
    several = [pk for pk, (note, _) in names.items() if len(runs_on[note]) > 1]
    suggesting: dict[tuple[int, int, int, int], set[str]] = defaultdict(set)
    spans = Span.objects.filter(annotation_set__in=several).order_by()
    for annotation_set, start, end, label in spans.values_list("annotation_set_id", "start", "end", "label_id"):
        note, name = names[annotation_set]
        suggesting[note, start, end, label].add(name)
    return {span for span, runs in suggesting.items() if len(runs) >= 2 and 2 * len(runs) > len(runs_on[span[0]])}

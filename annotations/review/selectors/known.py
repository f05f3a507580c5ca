"""Which of a note's proposals are known to be identifiers, as far as that can be known before somebody looks."""

import re
from collections import defaultdict
from collections.abc import Sequence

from annotations.models import AnnotationSet, Author, Document, PlantedLeak, Span
from annotations.review.selectors.precision import rates_by

Known = PlantedLeak.Known
# A run's name is its backend's and a number: two runs of one backend agree by themselves.
_NUMBER = re.compile(r"[-_ ]?\d+$")


def known_among(proposals: Sequence[Span], document: Document) -> dict[int, str]:
    """By id how a proposal is known. A model's confidence alone, however high, makes nothing known.

    By people: they accepted the same words as the same label, exactly as proposed and one by one, in other notes, and
    never otherwise. By runs: more than half of those that have read the note, and at least two, propose exactly it;
    runs of one name but for a number count once, and what is made of other runs not at all.
    """
    people, runs = _by_people(proposals, document), _by_runs(document)
    found = {}
    for span in proposals:
        if (span.string_key, span.label_id) in people:
            found[span.pk] = str(Known.PEOPLE)
        elif (span.start, span.end, span.label_id) in runs:
            found[span.pk] = str(Known.RUNS)
    return found


def _by_people(proposals: Sequence[Span], document: Document) -> set[tuple[int | None, int]]:
    keys = {span.string_key for span in proposals if span.string_key is not None}
    models = Author.objects.filter(project=document.project_id, kind__in=Author.MODELS).values("pk")
    same = Span.objects.filter(string_key__in=keys, annotation_set__author__in=models)
    elsewhere = same.exclude(annotation_set__document=document)
    rates = rates_by(elsewhere, "string_key", "label_id")
    return {(key, label) for (key, label), rate in rates.items() if rate.decided and rate.right == rate.decided}


def _by_runs(document: Document) -> set[tuple[int, int, int]]:
    sets = AnnotationSet.objects.filter(
        document=document, author__kind=Author.Kind.RUN, author__merged_from__isnull=True,
        state=AnnotationSet.State.SUBMITTED,
    )  # fmt: skip
    names = {pk: _NUMBER.sub("", name) for pk, name in sets.values_list("pk", "author__name")}
    readers = len(set(names.values()))
    saying: dict[tuple[int, int, int], set[str]] = defaultdict(set)
    rows = Span.objects.filter(annotation_set__in=list(names)).order_by()
    for reading, start, end, label in rows.values_list("annotation_set_id", "start", "end", "label_id"):
        saying[start, end, label].add(names[reading])
    return {place for place, said in saying.items() if len(said) >= 2 and 2 * len(said) > readers}

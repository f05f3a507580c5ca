"""Store suggestions as annotation sets, with what review keeps about them."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from annotations.core.bulk import SpanRow, insert_objects, insert_spans
from annotations.core.hooks import suggestions_stored
from annotations.core.labels import labels_of_today
from annotations.core.suggestions import add_notes, add_strings, tally_of
from annotations.models import AnnotationSet, AnnotationSetState, Author, Span


def store_suggestions(author: Author, suggested: Mapping[int, list[SpanRow]], now: datetime) -> None:
    """Store new annotation sets of these notes, in the caller's fenced transaction.

    `suggested` has the rows by note, still without an annotation set. Sets of the kind BENCH are not reviewed, so
    nothing is counted for them.
    """
    read = _with_labels_of_today(suggested)
    sets = _make_sets(author, read, now)
    insert_spans(made._replace(annotation_set_id=sets[note]) for note, rows in read.items() for made in rows)
    if author.kind in Author.MODELS:
        add_strings(tally_of(Span.objects.filter(annotation_set__in=sets.values())))
        suggestions_stored(author=author, notes=list(sets))
        add_notes(author.pk, {pk: note for note, pk in sets.items()})


def _with_labels_of_today(read: Mapping[int, list[SpanRow]]) -> dict[int, list[SpanRow]]:
    """Follow labels that were merged or deleted since the run started. Spans that a merge makes equal become one."""
    used = {made.label_id for rows in read.values() for made in rows}
    today = labels_of_today(used)
    if today == {label: label for label in used}:
        return dict(read)
    renamed = {
        note: [made._replace(label_id=today[made.label_id]) for made in rows if made.label_id in today]
        for note, rows in read.items()
    }
    return {note: list({made[:4]: made for made in reversed(rows)}.values())[::-1] for note, rows in renamed.items()}


def _make_sets(author: Author, notes: Iterable[int], now: datetime) -> dict[int, int]:
    """Make the author's annotation sets of these notes. Return the ids of sets by note."""
    state = AnnotationSetState.SUBMITTED
    insert_objects(
        AnnotationSet,
        (
            AnnotationSet(document_id=note, author_id=author.pk, state=state, submitted_at=now, blind=False)
            for note in notes
        ),
    )
    made = AnnotationSet.objects.filter(author=author.pk, document__in=list(notes)).order_by()
    return dict(made.values_list("document", "pk"))

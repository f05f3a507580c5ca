"""Start an annotation set from a run's spans, where the project says so.

Whoever sees a model's spans first tends to agree with them. Such a set is therefore marked as seeded for good, and
agreement leaves it out (`AnnotationSet.seeded`). Undo doesn't remove the copied spans; annotators can delete them like
any other span.
"""

from django.db import transaction

from annotations.annotate.selectors.seeding import seed_of
from annotations.core.access import Access
from annotations.core.authors import author_of
from annotations.core.bulk import SpanRow, insert_spans
from annotations.core.changes import Refused, check_room
from annotations.core.events import SET_SEEDED
from annotations.core.locks import hold, keep_labels
from annotations.core.spans import as_json, own_set
from annotations.models import AnnotationSet, Document, Span


def start_annotations(*, access: Access, note: Document) -> bool:
    """Make this person's annotation set of `note` from the run's spans, unless there is one. True if this call made it.

    Two calls at once make one set. A run's set that exceeds the limits on spans isn't copied: the annotator then starts
    without spans.
    """
    if access.project.seed_from_id is None or own_set(note.pk, access.user) is not None:
        return False
    try:
        return _start(access, note)
    except Refused:
        return False


def _start(access: Access, note: Document) -> bool:
    with transaction.atomic():
        keep_labels(note.project_id)
        hold(note.project_id)
        source = seed_of(access, note)
        if source is None:
            return False
        annotation_set, made = AnnotationSet.objects.get_or_create(
            document_id=note.pk,
            author=author_of(access.project, access.user),
            # Version 1, so that a page that shows no set (version 0) notices the spans.
            defaults={"blind": access.blind, "seeded": True, "version": 1},
        )
        if made:
            count = _copy(source, annotation_set)
            SET_SEEDED.record(
                actor=access.user,
                project_id=note.project_id,
                document_id=note.pk,
                annotation_set_id=annotation_set.pk,
                data={"from_set": source.pk, "author": source.author_id, "spans": count},
            )
    return made


def _copy(source: AnnotationSet, annotation_set: AnnotationSet) -> int:
    columns = ("start", "end", "label_id", "confidence", "source", "attributes")
    rows = [
        SpanRow(annotation_set.pk, start, end, label, confidence, origin, attributes=as_json(attributes))
        for start, end, label, confidence, origin, attributes in Span.objects.filter(annotation_set=source)
        .order_by("start", "end", "pk")
        .values_list(*columns)
    ]
    insert_spans(rows)
    check_room(annotation_set.pk, [(row.start, row.end) for row in rows])
    return len(rows)

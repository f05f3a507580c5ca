"""A reading that begins from a model's spans, where the project says so.

Whoever sees a model's spans first tends to agree with them, so such a reading is marked for good: agreement leaves it
out (`AnnotationSet.seeded`). Undo doesn't reach behind it; its spans can be deleted like any others.
"""

from django.db import transaction

from annotations.core.access import Access
from annotations.core.authors import author_of
from annotations.core.bulk import SpanRow, insert_spans
from annotations.core.events import record
from annotations.core.label_lock import keep_labels
from annotations.models import AnnotationSet, Assignment, Author, Document, Span, Verb


def begin_reading(*, access: Access, note: Document) -> bool:
    """Called when a note without a reading of this person's is opened. Whether there is one now.

    Only for whom the note was given to: somebody who looks in begins nothing. Two tabs begin it once.
    """
    if access.project.seed_from_id is None or not _given(access, note):
        return False
    with transaction.atomic():
        keep_labels(note.project_id)
        source = (
            AnnotationSet.objects.select_related("author")
            .filter(document_id=note.pk, author_id=access.project.seed_from_id, author__kind__in=Author.MODELS)
            .filter(state=AnnotationSet.State.SUBMITTED)
            .first()
        )
        if source is None:
            return False
        reading, begun = AnnotationSet.objects.get_or_create(
            document_id=note.pk,
            author=author_of(access.project, access.user),
            # Version 1: a page that was fetched before notices that there is more now.
            defaults={"blind": access.blind, "seeded": True, "version": 1},
        )
        if begun:
            count = _copy(source, reading)
            record(
                verb=Verb.SET_SEEDED,
                actor=access.user,
                project_id=note.project_id,
                document_id=note.pk,
                annotation_set_id=reading.pk,
                data={"from_set": source.pk, "author": source.author_id, "spans": count},
            )
    return True


def _given(access: Access, note: Document) -> bool:
    mine = Assignment.objects.filter(document_id=note.pk, user_id=access.user.pk)
    return mine.exclude(state=Assignment.State.RELEASED).exists()


def _copy(source: AnnotationSet, reading: AnnotationSet) -> int:
    columns = ("start", "end", "label_id", "confidence", "source")
    rows = [
        SpanRow(reading.pk, *row)
        for row in Span.objects.filter(annotation_set=source).order_by("start", "end", "pk").values_list(*columns)
    ]
    insert_spans(rows)
    return len(rows)

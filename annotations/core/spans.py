"""The spans of an annotation set as pages get them, and a person's own annotation set."""

import json
from typing import NotRequired, TypedDict

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotations.core.events import SET_SEEDED
from annotations.models import AnnotationSet, Author, Event, Span, User
from annotations.models.prepared import PreparedRead, columns_of, object_of
from annotations.text.attributes import Value


class SpanItem(TypedDict):
    """A span as pages get it; offsets in code points, end-exclusive. `attributes` only if it has some, by name."""

    id: int
    start: int
    end: int
    label: int
    attributes: NotRequired[dict[str, Value]]


def own_sets(document_id: int, user: User) -> QuerySet[AnnotationSet]:
    """Return a query for this person's own annotation set of the note, the only one that an annotator may see."""
    return AnnotationSet.objects.filter(
        document_id=document_id, author__user_id=user.pk, author__kind=Author.Kind.ANNOTATOR
    )


_SET_COLUMNS = columns_of(AnnotationSet, without=["created_at", "updated_at", "submitted_at"])


_OWN_SET = PreparedRead(
    lambda document, user: own_sets(document, User(pk=user)).values_list(*_SET_COLUMNS)[:1], int, int
)


def own_set(document_id: int, user: User) -> AnnotationSet | None:
    row = _OWN_SET.first(document_id, user.pk)
    return object_of(AnnotationSet, _SET_COLUMNS, row) if row else None


# Opening a note runs these queries; building their SQL in the ORM would take most of the time.
_SPANS = PreparedRead(
    lambda annotation_set: (
        Span.objects.filter(annotation_set_id=annotation_set)
        .order_by("start", "end", "id")
        .values_list("id", "start", "end", "label_id", "attributes")
    ),
    int,
)


def began_from(annotation_set: AnnotationSet | None) -> str:
    """Return the name of the run whose spans the annotation set began from; empty where it began without spans."""
    if annotation_set is None or not annotation_set.seeded:
        return ""
    event = Event.objects.filter(annotation_set_id=annotation_set.pk, verb=SET_SEEDED).order_by("id").first()
    run = Author.objects.filter(pk=event.data.get("author")).first() if event else None
    return run.name if run else _("a model")


def spans_of(annotation_set_id: int) -> list[SpanItem]:
    """Return all spans of an annotation set, ordered by start and end."""
    return [_item(*row) for row in _SPANS.all(annotation_set_id)]


def _item(pk: int, start: int, end: int, label: int, attributes: str | None) -> SpanItem:
    item = SpanItem(id=pk, start=start, end=end, label=label)
    if attributes is not None:
        item["attributes"] = json.loads(attributes)
    return item

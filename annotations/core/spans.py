"""A person's own annotation set, the spans of a set as pages get them, and the limits on them."""

import json
from collections.abc import Mapping, Sequence
from typing import NotRequired, Self, TypedDict

from django.db.models import Count, Q, QuerySet
from django.utils.translation import gettext, pgettext
from django.utils.translation import gettext as _

from annotations.core.services import ServiceError
from annotations.models import AnnotationSet, AnnotationSetState, AuthorKind, Document, Label, Span, User
from annotations.models.prepared import PreparedRead, columns_of, object_of
from annotations.text.attributes import AttributeDef, Attributes, Value, definitions_of, fitting
from annotations.text.spans import DEEPEST, MOST_SPANS, Bounds, Crowd, LabeledBounds, SpanError, checked, crowd_over
from annotations.text.spans import Span as DomainSpan


class SpanItem(TypedDict):
    """A span as pages get it; offsets in code points, end-exclusive. `attributes` only if it has some, by name."""

    id: int
    start: int
    end: int
    label: int
    attributes: NotRequired[dict[str, Value]]


class ChangeRefused(ServiceError):
    """The change was refused; nothing was stored. `status` is the HTTP status of the answer.

    A conflict (409) carries the current annotation set, so that the page can show it.
    """

    def __init__(self, code: str, message: str, *, status: int = 400) -> None:
        super().__init__(message, code=code)
        self.status = status
        self.version: int | None = None
        self.state: str | None = None
        self.spans: list[SpanItem] | None = None

    def showing(self, row: AnnotationSet | None) -> Self:
        """This error with the current annotation set, for the page; None where the person has none yet."""
        self.version, self.state = (row.version, row.state) if row else (0, AnnotationSetState.DRAFT)
        self.spans = spans_of(row.pk) if row else []
        return self


def own_sets_of(user: User) -> QuerySet[AnnotationSet]:
    """Return a query for this person's own annotation sets."""
    return AnnotationSet.objects.filter(author__user_id=user.pk, author__kind=AuthorKind.ANNOTATOR)


def own_sets(document_id: int, user: User) -> QuerySet[AnnotationSet]:
    """Return a query for this person's own annotation set of the note, the only one that an annotator may see.

    Without an order, since it is one row at most: SQLite takes longer to prepare for sorting than to find it.
    """
    return own_sets_of(user).filter(document_id=document_id).order_by()


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


def spans_of(annotation_set_id: int) -> list[SpanItem]:
    """Return all spans of an annotation set, ordered by start and end."""
    return [_item(*row) for row in _SPANS.all(annotation_set_id)]


def _item(pk: int, start: int, end: int, label: int, attributes: str | None) -> SpanItem:
    item = SpanItem(id=pk, start=start, end=end, label=label)
    if attributes is not None:
        item["attributes"] = json.loads(attributes)
    return item


# Attributes of spans as the database stores them: a choice or true by name; null without attributes.


Stored = dict[str, Value]
"""A choice or True by name of attribute."""


def json_of(attributes: Attributes) -> Stored | None:
    """Attributes as a span's row stores them; None for no attributes."""
    return dict(attributes) or None


def pairs_of(attributes: Mapping[str, Value] | None) -> Attributes:
    return tuple(sorted(attributes.items())) if attributes else ()


def as_json(attributes: Mapping[str, Value] | None) -> str | None:
    """JSON text for rows that are inserted in bulk."""
    return json.dumps(attributes) if attributes else None


def definitions(label: Label) -> tuple[AttributeDef, ...]:
    return definitions_of(label.attributes)


def definitions_by_label(project_id: int) -> dict[int, tuple[AttributeDef, ...]]:
    """The attributes of each label of the project that has any, by label id."""
    labels = Label.objects.filter(label_set__project_id=project_id).exclude(attributes=[])
    return {pk: definitions_of(data) for pk, data in labels.values_list("pk", "attributes")}


def fitting_label(attributes: Mapping[str, Value] | None, label: int) -> Stored | None:
    """Those of a span's attributes that it may keep when it gets the label."""
    if not attributes:
        return None
    data = Label.objects.filter(pk=label).values_list("attributes", flat=True).first()
    return json_of(fitting(pairs_of(attributes), definitions_of(data or []))[0])


def with_attribute(attributes: Mapping[str, Value] | None, label: int, name: str, value: Value | None) -> Stored | None:
    """A span's attributes with one of them set to a value, or removed (None).

    Raises ChangeRefused (`attribute`, 409) for an attribute or a value that spans of this label can't have.
    """
    if value is not None:
        data = Label.objects.filter(pk=label).values_list("attributes", flat=True).first()
        defined = next((each for each in definitions_of(data or []) if each.name == name), None)
        if defined is None or not defined.allows(value):
            message = gettext("The label of this span doesn't have this attribute or value. Reload the page.")
            raise ChangeRefused("attribute", message, status=409)
    kept = {each: old for each, old in (attributes or {}).items() if each != name}
    return dict(sorted((kept if value is None else kept | {name: value}).items())) or None


def check_label(project_id: int, label: int) -> None:
    """Raise ServiceError `label` unless the project has this label, which was not merged into another one."""
    if not Label.objects.filter(pk=label, label_set__project_id=project_id, merged_into__isnull=True).exists():
        raise ServiceError(gettext("This label does not belong to the project. Reload the page."), code="label")


def checked_bounds(document: Document, bounds: LabeledBounds, quote: str | None) -> LabeledBounds:
    """Bounds without surrounding white space, and the label. Raises ServiceError where they don't fit the note."""
    start, end, label = bounds
    check_label(document.project_id, label)
    try:
        span = checked(document.text, DomainSpan(start, end, ""), quote)
    except SpanError as error:
        raise ServiceError(gettext("Not saved. %(error)s") % {"error": error}, code=error.code) from None
    return span.start, span.end, label


def attribute_words(attributes: Mapping[str, Value]) -> list[str]:
    """Each attribute as pages show it: its name, or its name and value. `editor/words.js` does the same."""
    return [
        name
        if value is True
        else pgettext("an attribute of a span", "%(name)s: %(value)s") % {"name": name, "value": value}
        for name, value in attributes.items()
    ]


# The limits on the spans of one annotation set (annotations.text.spans), checked wherever people write spans.


# Counts the spans of the set, and those that share a character with the new ones, in one index scan.
_AROUND = PreparedRead(
    lambda held, start, end: (
        Span.objects.filter(annotation_set_id=held)
        .order_by()
        .values("annotation_set_id")
        .annotate(number=Count("start"), near=Count("start", filter=Q(start__lt=end, end__gt=start)))
        .values_list("number", "near")
    ),
    int,
    int,
    int,
)


def check_room(annotation_set_id: int, written: Sequence[Bounds], *, more: bool = True) -> None:
    """Raise Refused (`room`, 422) where the set holds too many spans after spans were written at these bounds.

    Call it in the transaction that wrote, which the error rolls back. `more`: spans were added, not only moved. Sets
    that were too large before the limit existed can still be corrected.
    """
    if not written:
        return
    least, most = min(start for start, _ in written), max(end for _, end in written)
    number, near = _AROUND.first(annotation_set_id, least, most) or (0, 0)
    if more and number > MOST_SPANS:
        raise _crowded(Crowd(number))
    if near <= DEEPEST:
        return
    held = Span.objects.filter(annotation_set_id=annotation_set_id, start__lt=most, end__gt=least).order_by()
    crowd = crowd_over(held.values_list("start", "end"), written)
    if crowd is not None:
        raise _crowded(crowd)


def _crowded(crowd: Crowd) -> ChangeRefused:
    if crowd.at is None:
        message = _(
            "Not saved: an annotation set holds at most %(most)s spans on one note. Delete some, then try again."
        ) % {"most": f"{MOST_SPANS:,}"}
    else:
        message = _(
            "Not saved: at most %(most)s spans may cover one character. Delete a span here, then try again."
        ) % {"most": DEEPEST}
    return ChangeRefused("room", message, status=422)

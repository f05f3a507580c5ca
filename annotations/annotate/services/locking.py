"""Lock an annotation set's row for one change, and count the change in the set's version at its end.

Every change locks the row first (on SQLite the whole database, by BEGIN IMMEDIATE), so that the changes of one set are
made one after another.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.db.models import Exists, F, OuterRef, QuerySet, Subquery
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from annotations.core.authors import author_of
from annotations.core.changes import ChangeKind, LabeledBounds, Refused, SpanEdit
from annotations.core.spans import Stored, own_sets
from annotations.models import AnnotationSet, AnnotationSetState, Document, Label, Span, User
from annotations.models.prepared import PreparedRead, PreparedUpdate
from annotations.text import spans as domain


@dataclass(frozen=True, slots=True)
class Locked:
    """The annotation set's row, locked until the transaction ends, and the columns of its spans that the change needs.

    `twin` is the id of a span that already has the wanted bounds and label. `confidence` and `source` are those of a
    span that is to be deleted, so that an undo can restore them. `attributes` are those of the span
    that is to be deleted or relabeled, or whose attribute changes.
    """

    pk: int
    state: str
    version: int
    blind: bool
    twin: int | None = None
    confidence: float | None = None
    source: str | None = None
    attributes: Stored | None = None


# Changes for which the query that locks the row looks up no span.
_WITHOUT_SPAN = (ChangeKind.UNDO, ChangeKind.REDO, ChangeKind.CREATE_MANY)
# Changes for which it reads these columns of the changed span itself.
_OLD = {ChangeKind.DELETE: ("attributes", "confidence", "source"), ChangeKind.ATTRIBUTE: ("attributes",)}


@cache
def _annotation_set_row(kind: ChangeKind) -> PreparedRead:
    """The query that locks the person's annotation set of the note and reads the columns for a change of this kind."""

    def of_span(columns: Sequence[str], **looked_for: int) -> list[Subquery]:
        spans = Span.objects.filter(annotation_set=OuterRef("pk"), **looked_for).order_by()
        return [Subquery(spans.values(column)[:1]) for column in columns]

    def rows(document: int, user: int, extra: Sequence[Subquery] = ()) -> "QuerySet[AnnotationSet, Any]":
        found = own_sets(document, User(pk=user)).select_for_update(of=("self",))
        return found.values_list("pk", "state", "version", "blind", *extra)

    if kind in _OLD:
        columns = _OLD[kind]
        return PreparedRead(lambda document, user, span: rows(document, user, of_span(columns, pk=span)), int, int, int)
    if kind in _WITHOUT_SPAN:
        return PreparedRead(rows, int, int)
    if kind is ChangeKind.RELABEL:
        return PreparedRead(
            lambda document, user, start, end, label, span: rows(
                document,
                user,
                [*of_span(["pk"], start=start, end=end, label_id=label), *of_span(["attributes"], pk=span)],
            ),
            *[int] * 6,
        )
    return PreparedRead(
        lambda document, user, start, end, label: rows(
            document, user, of_span(["pk"], start=start, end=end, label_id=label)
        ),
        *[int] * 5,
    )


def hold(document: Document, user: User, change: SpanEdit, span: domain.Span | None, blind: bool) -> Locked:
    """Lock the person's annotation set, which their first change makes. Raises Refused (409) unless it is a draft."""
    looked_for: tuple[int, ...] = ()
    if change.kind in _OLD:
        looked_for = (change.span or 0,)
    elif change.kind not in _WITHOUT_SPAN:
        looked_for = target(change, span)
    if change.kind is ChangeKind.RELABEL:
        looked_for = (*looked_for, change.span or 0)
    row = _annotation_set_row(change.kind).first(document.pk, user.pk, *looked_for)
    if row is None:
        author = author_of(document.project, user)
        AnnotationSet.objects.get_or_create(document=document, author=author, defaults={"blind": blind})
        row = _annotation_set_row(change.kind).first(document.pk, user.pk, *looked_for)
        assert row is not None  # It was made above.
    pk, state, version, was_blind, *more = row
    if state != AnnotationSetState.DRAFT:
        raise _closed(state)
    if change.kind in _OLD:
        attributes, confidence, source = [*more, None, None][:3]
        return Locked(pk, state, version, was_blind, None, confidence, source, _parsed(attributes))
    twin, attributes = [*more, None, None][:2]
    return Locked(pk, state, version, was_blind, twin, attributes=_parsed(attributes))


def _parsed(attributes: str | None) -> Stored | None:
    """The attributes from JSON text: a prepared read gives the column as the database has it."""
    return None if attributes is None else json.loads(attributes)


def target(change: SpanEdit, span: domain.Span | None) -> LabeledBounds:
    """The bounds and label that the span has after a create, relabel or resize."""
    if span is not None:
        return span.start, span.end, change.label if change.seen is None else change.seen[2]
    assert change.seen is not None  # read_change requires `seen`.
    return change.seen[0], change.seen[1], change.label


def _closed(state: str) -> Refused:
    if state == AnnotationSetState.SUBMITTED:
        return Refused("submitted", _("This note is submitted. Reopen it to change it."), status=409)
    return Refused(
        "withdrawn",
        _("These annotations were withdrawn when you left the project. Ask a manager to add you again."),
        status=409,
    )


@cache
def _counted(with_label: bool, unblind: bool) -> PreparedUpdate:
    def change(pk: int, *of_label: int) -> "tuple[QuerySet[AnnotationSet], dict[str, Any]]":
        rows = AnnotationSet.objects.filter(pk=pk)
        if of_label:
            label, project = of_label
            exists = Label.objects.filter(pk=label, label_set__project_id=project, merged_into__isnull=True)
            rows = rows.filter(Exists(exists))
        values: dict[str, Any] = {"version": F("version") + 1, "updated_at": Now()}
        return rows, values | ({"blind": False} if unblind else {})

    return PreparedUpdate(change, *[int] * (3 if with_label else 1))


def count_change(document: Document, row: Locked, blind: bool, labels: Sequence[int]) -> None:
    """Add 1 to the set's version. Raises Refused (409) where the project no longer has one of the change's labels.

    `labels` are the ids of the labels that the change gives to spans; keep_labels has locked the label set.
    """
    there = len(labels) < 2 or _all_there(document.project_id, labels)
    statement = _counted(bool(labels), row.blind and not blind)
    if not there or not statement.run(row.pk, *((labels[0], document.project_id) if labels else ())):
        raise Refused("label", _("This label is no longer in the project. Reload the page."), status=409)


def _all_there(project_id: int, labels: Sequence[int]) -> bool:
    there = Label.objects.filter(pk__in=labels, label_set__project_id=project_id, merged_into__isnull=True)
    return there.count() == len(labels)

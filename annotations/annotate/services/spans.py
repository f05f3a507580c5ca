"""Change a person's own annotation set of a note: one change, one short transaction, one event.

Two tabs, a double click and a lost answer must neither lose nor double a span. Each change locks the set's row first
(on SQLite the whole database, by BEGIN IMMEDIATE), so that the changes of one set are made one after another. A change
id can be recorded only once (constraint `change_once`). A span is changed only if it still is what the page showed,
which the UPDATE itself checks.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.db import IntegrityError, transaction
from django.utils.translation import gettext

from annotations.annotate.events import SPAN_DELETED
from annotations.annotate.services.annotation_set import count_change, lock_own_set
from annotations.annotate.services.effects import Effect, logged_effect, write_change
from annotations.core.access import Access
from annotations.core.changes import ChangeKind, SpanEdit, WantedSpan
from annotations.core.labels import labels_of_today
from annotations.core.services import keep_labels
from annotations.core.spans import ChangeRefused, SpanItem, own_set, spans_of
from annotations.models import AnnotationSet, Document, Event
from annotations.text import spans as text_spans
from annotations.text.spans import LabeledBounds

TRIES = 3


@dataclass(frozen=True, slots=True)
class ChangedSpans:
    """The result of a change. `span` is the span after the change; `removed` the id of a deleted span.

    After a change of many spans, `made` are the new spans, and `already` counts the wanted spans that existed already.
    `spans` are all spans of the set, where the page can't know them: another tab changed the set before this change,
    or an undo or redo changed many spans. `seeded` says which run's spans the set began from, if this change began it.
    """

    version: int
    span: SpanItem | None = None
    removed: int | None = None
    made: list[SpanItem] | None = None
    already: int = 0
    changed_elsewhere: bool = False
    spans: list[SpanItem] | None = None
    message: str = ""
    seeded: str = ""

    def as_json(self) -> dict[str, Any]:
        """The answer to the page. All but the first fields are there only if they say something."""
        body: dict[str, Any] = {
            "version": self.version,
            "span": self.span,
            "removed": self.removed,
            "changed_elsewhere": self.changed_elsewhere,
        }
        if self.made is not None:
            body |= {"made": self.made, "already": self.already}
        elif self.already:
            body["already"] = True
        if self.spans is not None:
            body["spans"] = self.spans
        if self.message:
            body["message"] = self.message
        if self.seeded:
            body["seeded"] = self.seeded
        return body


def apply_change(*, access: Access, note: Document, change: SpanEdit) -> ChangedSpans:
    """Make one change to the person's own annotation set of `note`, whose text must be loaded.

    The first change begins the set, from a run's spans where the project says so. A change is made once: the same
    change id again gives the same answer. Labels that were merged since are replaced by those that they were merged
    into. Raises ChangeRefused; a conflict (409) has the current spans.
    """
    sent = change
    for _ in range(TRIES):
        answer: ChangedSpans | None = None
        refused: ChangeRefused | None = None
        try:
            with transaction.atomic():
                answer = _make(access, note, change)
        except IntegrityError:
            pass  # Another request made the same change, the same span or the person's first set at the same time.
        except ChangeRefused as error:
            refused = error
            renamed = _with_labels_of_today(change) if refused.code in ("label", "changed") else change
            if renamed != change:
                change = renamed
                continue
        if answer is None or answer.already:
            # It may have been made before: a change that is sent again can look like a conflict.
            row = own_set(note.pk, access.user)
            if refused is not None and refused.status == 409:
                refused.showing(row)
            answer = _replay(row, change) or answer
            if answer is None and refused is not None:
                raise refused
        if answer is not None:
            if answer.message or change is sent or change.asked == sent.asked:
                return answer
            message = gettext("This label was merged into another one. The span got the new label.")
            return replace(answer, message=message)
    raise ChangeRefused("busy", gettext("Other requests are changing this note. Try again."), status=503)


def _make(access: Access, note: Document, change: SpanEdit) -> ChangedSpans:
    many = _fitting(note.text, change)
    start, end, _ = many[0] if many else change.seen
    wanted = start, end, change.label if change.label >= 0 else change.seen[2]
    if change.kind is not ChangeKind.DELETE:
        keep_labels(note.project_id)
    row = lock_own_set(access, note, wanted, change.span)
    if change.exact and change.version != row.version:
        raise ChangeRefused("stale", gettext("The annotation set has another version. Nothing was saved."), status=412)
    effect = write_change(row, access.user, change, wanted, many)
    if effect.verb is not None:
        count_change(access, row, effect.labels)
        effect.verb.record(
            actor=access.user,
            note=note,
            annotation_set_id=row.pk,
            data=effect.data | {"kind": change.kind.value},
            change_id=change.change_id,
            reverts=effect.reverts,
        )
    elsewhere = change.version is not None and change.version != row.version
    return _answer(row.pk, row.version + (effect.verb is not None), change.kind, effect, elsewhere, row.seeded)


def _fitting(text: str, change: SpanEdit) -> list[LabeledBounds]:
    """The spans that a change makes or resizes, without white space at their ends. Raises ChangeRefused (400)."""
    asked: Sequence[SpanEdit | WantedSpan] = change.spans
    if change.kind in (ChangeKind.CREATE, ChangeKind.RESIZE):
        asked = [change]
    try:
        fitting = [text_spans.checked(text, text_spans.Span(each.start, each.end, ""), each.quote) for each in asked]
    except text_spans.SpanError as error:
        raise ChangeRefused(error.code, gettext("Not saved. %(error)s") % {"error": error}) from None
    return [(span.start, span.end, each.label) for span, each in zip(fitting, asked, strict=True)]


def _answer(pk: int, version: int, kind: ChangeKind, effect: Effect, elsewhere: bool, seeded: str = "") -> ChangedSpans:
    """The answer for an event's data, made now or found in the log."""
    data = effect.data
    listed = data.get("spans")
    gone = effect.verb == SPAN_DELETED
    after, one = data.get("after"), data.get("span")
    span: SpanItem | None = None
    if one and after and not gone:
        start, end, label = after
        span = SpanItem(id=one, start=start, end=end, label=label)
        if "attributes" in data:
            span["attributes"] = data["attributes"][1] or {}
    made = [SpanItem(id=pk, start=start, end=end, label=label) for pk, start, end, label in listed or ()]
    return ChangedSpans(
        version=version,
        span=span,
        removed=one if gone else None,
        made=made if kind is ChangeKind.CREATE_MANY else None,
        already=effect.already,
        changed_elsewhere=elsewhere,
        spans=spans_of(pk) if elsewhere or (listed is not None and kind is not ChangeKind.CREATE_MANY) else None,
        message=effect.message,
        seeded=seeded,
    )


def _replay(row: AnnotationSet | None, change: SpanEdit) -> ChangedSpans | None:
    """The answer to a change of the set that was made before, with the current spans; None where it wasn't made."""
    event = Event.objects.filter(annotation_set_id=row.pk, change_id=change.change_id).first() if row else None
    if row is None or event is None:
        return None
    if event.data["kind"] != change.kind:
        message = gettext("This change ID was already used for another change. Reload the page.")
        raise ChangeRefused("change-id", message, status=409)
    return _answer(row.pk, row.version, change.kind, logged_effect(event), elsewhere=True)


def _with_labels_of_today(change: SpanEdit) -> SpanEdit:
    now = labels_of_today(change.named)

    def of(label: int) -> int:
        return now.get(label, label)

    start, end, label = change.seen
    spans = tuple(replace(wanted, label=of(wanted.label)) for wanted in change.spans)
    return replace(change, label=of(change.label), seen=(start, end, of(label)), spans=spans)

"""The causes of a system's errors, by the sources of errors of Catelli 2021, section 4.1.2; an error has any number.

A cause belongs to an error as `ErrorId` defines it, of one author. It counts in every score that has this error, so
another score of the same author, or one against another version with the same gold there, shows it again. When the
author or the gold no longer has one of the two spans, the error is another one or none, and the cause is not shown.
"""

from collections import defaultdict
from collections.abc import Collection
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.models import CauseKind, Document, ErrorCause, Label, Project, User
from annotations.scores.events import ERROR_CAUSE_ADDED, ERROR_CAUSE_REMOVED, ErrorCauseChanged
from annotations.scores.rules.causes import ErrorId
from annotations.scores.rules.errors import LabeledBounds
from annotations.scores.services.scoring import Score, ScoreRequest, score_errors
from annotations.text.names import whole

COLUMNS = (
    *("pk", "kind", "document_id", "gold_start", "gold_end", "gold_label"),
    *("predicted_start", "predicted_end", "predicted_label"),
)


def change_error_cause(
    *, wanted: ScoreRequest, found: Score, error: str, kind: str, present: bool, user: User
) -> set[str]:
    """Add a cause to an error of this score, or remove it. Return the causes that the error has then.

    `wanted` is the request of the score `found`; `error` is an `ErrorId` as text. Raises ServiceError
    `kind`, or `error` if the score has no such error.
    """
    if kind not in CauseKind.values:
        message = _("“%(kind)s” is not a cause. Choose one of: %(choices)s.")
        raise ServiceError(message % {"kind": kind[:10], "choices": ", ".join(CauseKind.values)}, code="kind")
    wrong = _error_of(wanted, found, error)
    with transaction.atomic():
        if not Document.objects.select_for_update(of=("self",)).only("pk").filter(pk=wrong.note).first():
            raise _gone()
        rows = _rows(wanted, [wrong.note]).get(wrong, {})
        if (kind in rows) != present:
            _write(wanted, wrong, kind, rows.get(kind), user)
    return {*rows, kind} if present else set(rows) - {kind}


def _write(wanted: ScoreRequest, error: ErrorId, kind: str, stored: list[int] | None, user: User) -> None:
    """Delete the stored rows of a cause, or make one if there are none, and record the event."""
    if stored:
        ErrorCause.objects.filter(pk__in=stored).delete()
    else:
        ErrorCause.objects.create(
            document_id=error.note, author=wanted.author, labels_of=wanted.into, kind=kind, by=user,
            **_columns("gold", error.gold), **_columns("predicted", error.predicted),
        )  # fmt: skip
    verb = ERROR_CAUSE_REMOVED if stored else ERROR_CAUSE_ADDED
    data = ErrorCauseChanged(
        author=wanted.author.pk, labels_of=wanted.into, gold=error.gold, predicted=error.predicted, kind=kind
    )
    verb.record(actor=user, project_id=wanted.reference.project.pk, document_id=error.note, data=data)


def _columns(name: str, span: LabeledBounds | None) -> dict[str, Any]:
    start, end, label = span or (0, 0, "")
    return {f"{name}_start": start, f"{name}_end": end, f"{name}_label": label}


def _error_of(wanted: ScoreRequest, found: Score, error: str) -> ErrorId:
    note = whole(error.partition(":")[0])
    ids = (ErrorId.of(row) for row in score_errors(wanted, found) if row[0] == note)
    wrong = next((one for one in ids if str(one) == error), None)
    if wrong is None:
        raise _gone()
    return wrong


def _gone() -> ServiceError:
    return ServiceError(_("This error no longer exists in this score. Reload the page."), code="error")


def causes_of_errors(wanted: ScoreRequest) -> dict[ErrorId, set[str]]:
    """Return the stored causes of the author's errors, by error."""
    return {error: set(rows) for error, rows in _rows(wanted, None).items()}


def _rows(wanted: ScoreRequest, notes: Collection[int] | None) -> dict[ErrorId, dict[str, list[int]]]:
    """Return the ids of the stored rows by error and cause. Labels that were merged since are replaced."""
    stored = ErrorCause.objects.filter(author=wanted.author, labels_of=wanted.into).order_by("pk")
    if notes is not None:
        stored = stored.filter(document__in=notes)
    rows = list(stored.values_list(*COLUMNS))
    merged = _merged(wanted.reference.project) if rows and not wanted.into else {}
    found: dict[ErrorId, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for pk, kind, note, *spans in rows:
        gold, predicted = (_span(spans[at], spans[at + 1], spans[at + 2], merged) for at in (0, 3))
        found[ErrorId(note, gold, predicted)][kind].append(pk)
    return found


def _span(start: int, end: int, label: str, merged: dict[str, str]) -> LabeledBounds | None:
    return (start, end, merged.get(label, label)) if label else None


def _merged(project: Project) -> dict[str, str]:
    labels = Label.objects.filter(label_set__project=project, merged_into__isnull=False).order_by()
    return {code: now for code, now in labels.values_list("code", "merged_into__code") if now}

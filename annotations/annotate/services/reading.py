"""Handing a reading in and taking it back: the annotation set and the assignment change together."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations.annotate.selectors.blindness import may_have_seen_others
from annotations.core.authors import author_of
from annotations.core.changes import Refused
from annotations.core.events import record
from annotations.core.spans import own_sets, spans_of
from annotations.models import AnnotationSet, Assignment, Document, User, Verb

State = AnnotationSet.State


@dataclass(frozen=True, slots=True)
class Reading:
    """Where a reading stands."""

    version: int
    state: str


def submit(*, document: Document, user: User, version: int | None = None, blind: bool = True) -> Reading:
    """Hand in `user`'s reading of `document`. One without spans says that the note was read and nothing found.

    `version`, where given, must be what the page shows: a reading that another tab changed is looked at again first.
    A submitted one stays as it is. Raises Refused (409) with the reading as it is now.
    """

    def work() -> Reading:
        row = _locked(document, user, blind)
        if row.state == State.SUBMITTED:
            return Reading(row.version, row.state)
        if row.state == State.WITHDRAWN:
            raise Refused("withdrawn", _("This reading was withdrawn; ask a manager to bring you back."), status=409)
        if version is not None and version != row.version:
            raise _stale(row)
        fields: dict[str, Any] = {
            "state": State.SUBMITTED,
            "submitted_at": timezone.now(),
            "blind": row.blind and blind and not may_have_seen_others(document, user),
        }
        return _move(document, user, row, fields, Assignment.State.OPEN, Assignment.State.DONE, Verb.SET_SUBMITTED)

    return _in_transaction(work)


def reopen(*, document: Document, user: User) -> Reading:
    """Make a submitted reading a draft again, and the note one to do; a draft stays as it is. Raises Refused (409)."""

    def work() -> Reading:
        row = own_sets(document.pk, user).select_for_update(of=("self",)).first()
        if row is None or row.state == State.DRAFT:
            return Reading(row.version if row else 0, State.DRAFT)
        if row.state == State.WITHDRAWN:
            raise Refused("withdrawn", _("This reading was withdrawn; ask a manager to bring you back."), status=409)
        fields = {"state": State.DRAFT, "submitted_at": None}
        return _move(document, user, row, fields, Assignment.State.DONE, Assignment.State.OPEN, Verb.SET_REOPENED)

    return _in_transaction(work)


def _in_transaction(work: Callable[[], Reading]) -> Reading:
    try:
        with transaction.atomic():
            return work()
    except IntegrityError:  # two requests made the person's first set at once: the second now finds it
        with transaction.atomic():
            return work()


def _locked(document: Document, user: User, blind: bool) -> AnnotationSet:
    rows = own_sets(document.pk, user).select_for_update(of=("self",))
    row = rows.first()
    if row is None:
        author = author_of(document.project, user)
        AnnotationSet.objects.get_or_create(document=document, author=author, defaults={"blind": blind})
        row = rows.get()
    return row


def _move(
    document: Document, user: User, row: AnnotationSet, fields: dict[str, Any], before: str, after: str, verb: Verb
) -> Reading:
    """Change the set and the assignment together, and say so in the log."""
    version = row.version + 1
    AnnotationSet.objects.filter(pk=row.pk).update(version=version, updated_at=timezone.now(), **fields)
    Assignment.objects.filter(document_id=document.pk, user_id=user.pk, state=before).update(state=after)
    record(
        verb=verb,
        actor=user,
        project_id=document.project_id,
        document_id=document.pk,
        annotation_set_id=row.pk,
        data={"version": version},
    )
    return Reading(version, str(fields["state"]))


def _stale(row: AnnotationSet) -> Refused:
    refused = Refused("stale", _("This note was changed in another tab. Look at it again, then submit."), status=409)
    refused.version, refused.state, refused.spans = row.version, row.state, spans_of(row.pk)
    return refused

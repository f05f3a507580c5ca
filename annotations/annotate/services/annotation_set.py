"""Submit and reopen an annotation set; its assignment changes in the same transaction."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations.annotate.events import SET_REOPENED, SET_SUBMITTED, SetMoved
from annotations.core.authors import author_of
from annotations.core.changes import Refused
from annotations.core.events import Verb
from annotations.core.spans import own_sets, spans_of
from annotations.models import (
    AnnotationSet,
    AnnotationSetState,
    Assignment,
    AssignmentState,
    Document,
    Membership,
    User,
)
from annotations.notes.selectors.comments import has_seen_outcome

# Whether an annotator may have seen others' spans of a note before submitting their own.


def may_have_seen_others(document: Document, user: User) -> bool:
    """Whether this person has opened the note's outcome, or once had a role that may read every note.

    Not every page that shows others' spans records which notes were on it. A former viewer, reviewer or manager
    therefore counts as having seen every note that the project had until they left that role: too few annotation sets
    count as blind rather than too many.
    """
    return has_seen_outcome(document.pk, user) or _was_open_to(document, user)


def _was_open_to(document: Document, user: User) -> bool:
    members = Membership.objects.filter(project_id=document.project_id, user=user)
    until = members.values_list("read_others_until", flat=True).first()
    return until is not None and Document.objects.filter(pk=document.pk, created_at__lte=until).exists()


State = AnnotationSetState


@dataclass(frozen=True, slots=True)
class SetStatus:
    """Version and state of an annotation set."""

    version: int
    state: str


def submit(*, document: Document, user: User, version: int | None = None, blind: bool = True) -> SetStatus:
    """Submit `user`'s annotation set of `document`. A set without spans says that the annotator found nothing.

    `version`, where given, must be the version that the page shows, so that nobody submits changes of another tab
    unseen. A submitted set stays as it is. Raises Refused (409) with the current state and spans.
    """

    def work() -> SetStatus:
        row = _locked(document, user, blind)
        if row.state == State.SUBMITTED:
            return SetStatus(row.version, row.state)
        if row.state == State.WITHDRAWN:
            raise Refused(
                "withdrawn",
                _("These annotations were withdrawn when you left the project. Ask a manager to add you again."),
                status=409,
            )
        if version is not None and version != row.version:
            raise _conflict(row, "stale", _("This note was changed in another tab. Check it, then submit."))
        fields: dict[str, Any] = {
            "state": State.SUBMITTED,
            "submitted_at": timezone.now(),
            "blind": row.blind and blind and not may_have_seen_others(document, user),
        }
        return _move(document, user, row, fields, AssignmentState.OPEN, AssignmentState.DONE, SET_SUBMITTED)

    return _in_transaction(work)


def reopen(*, document: Document, user: User) -> SetStatus:
    """Make a submitted set a draft again and its assignment open; a draft stays as it is. Raises Refused (409)."""

    def work() -> SetStatus:
        row = own_sets(document.pk, user).select_for_update(of=("self",)).first()
        if row is None or row.state == State.DRAFT:
            return SetStatus(row.version if row else 0, State.DRAFT)
        if row.state == State.WITHDRAWN:
            raise Refused(
                "withdrawn",
                _("These annotations were withdrawn when you left the project. Ask a manager to add you again."),
                status=409,
            )
        fields = {"state": State.DRAFT, "submitted_at": None}
        return _move(document, user, row, fields, AssignmentState.DONE, AssignmentState.OPEN, SET_REOPENED)

    return _in_transaction(work)


def unseen_seed(*, document: Document, user: User) -> Refused:
    """The conflict for a submission that has itself just started the set from a run's spans."""
    row = own_sets(document.pk, user).get()
    return _conflict(row, "unseen", _("Your annotations begin from the spans of a run. Check them, then submit."))


def _in_transaction(work: Callable[[], SetStatus]) -> SetStatus:
    try:
        with transaction.atomic():
            return work()
    except IntegrityError:  # Two requests made the person's first set at once; the second attempt finds it.
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
    document: Document, user: User, row: AnnotationSet, fields: dict[str, Any], before: str, after: str,
    verb: Verb[SetMoved],
) -> SetStatus:  # fmt: skip
    """Change the set and its assignment together, and record the event."""
    version = row.version + 1
    AnnotationSet.objects.filter(pk=row.pk).update(version=version, updated_at=timezone.now(), **fields)
    Assignment.objects.filter(document_id=document.pk, user_id=user.pk, state=before).update(state=after)
    verb.record(
        actor=user,
        project_id=document.project_id,
        document_id=document.pk,
        annotation_set_id=row.pk,
        data={"version": version},
    )
    return SetStatus(version, str(fields["state"]))


def _conflict(row: AnnotationSet, code: str, message: str) -> Refused:
    refused = Refused(code, message, status=409)
    refused.version, refused.state, refused.spans = row.version, row.state, spans_of(row.pk)
    return refused

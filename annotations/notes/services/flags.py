"""Flag notes that need attention, and remove flags. Events never hold the text of a reason."""

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations.core.access import Access, Can
from annotations.core.changes import Refused
from annotations.core.events import Verb
from annotations.models import Document, Flag
from annotations.notes.events import NOTE_FLAGGED, NOTE_UNFLAGGED, NoteFlagged
from annotations.notes.selectors.flags import may_clear
from annotations.text.names import WordingError, worded

LONGEST = 500


def raise_flag(*, access: Access, document: Document, reason: object, text: object = "") -> Flag:
    """Flag a note, or change the reason of one's own open flag. The same reason changes nothing. Raises Refused."""
    if not access.can(Can.ANNOTATE):
        raise Refused("forbidden", _("You don't have permission to flag notes in this project."), status=403)
    kind, cleaned = _reason(reason), _cleaned(text)
    if kind == Flag.Reason.OTHER and not cleaned:
        raise Refused("text", _("Not saved: describe the problem in a few words."))
    try:
        with transaction.atomic():
            return _raise(access, document, kind, cleaned)
    except IntegrityError:  # after a double click, the second call finds the flag of the first
        with transaction.atomic():
            return _raise(access, document, kind, cleaned)


def _raise(access: Access, document: Document, reason: Flag.Reason, text: str) -> Flag:
    mine = Flag.objects.select_for_update().filter(
        document_id=document.pk, user_id=access.user.pk, cleared_at__isnull=True
    )
    flag = mine.first()
    if flag is not None and (flag.reason, flag.text) == (reason, text):
        return flag
    if flag is None:
        flag = Flag.objects.create(document_id=document.pk, user=access.user, reason=reason, text=text)
    else:
        flag.reason, flag.text = reason, text
        flag.save(update_fields=["reason", "text"])
    _record(NOTE_FLAGGED, access, flag)
    return flag


def clear_flag(*, access: Access, document: Document, flag: int) -> None:
    """Remove a flag. A removed flag stays removed. Raises Refused (404) if the user may not see the flag."""
    with transaction.atomic():
        row = Flag.objects.select_for_update().filter(pk=flag, document_id=document.pk).first()
        if row is None or (access.blind and row.user_id != access.user.pk):
            raise Refused("gone", _("This flag does not exist. Reload the page."), status=404)
        if not may_clear(access, row):
            raise Refused("author", _("Only a reviewer or the person who raised this flag can remove it."), status=403)
        if row.cleared_at is not None:
            return
        row.cleared_at, row.cleared_by = timezone.now(), access.user
        row.save(update_fields=["cleared_at", "cleared_by"])
        _record(NOTE_UNFLAGGED, access, row)


def _reason(value: object) -> Flag.Reason:
    try:
        return Flag.Reason(str(value))
    except ValueError:
        raise Refused(
            "reason", _("The reason must be one of: %(choices)s.") % {"choices": ", ".join(Flag.Reason.values)}
        ) from None


def _cleaned(text: object) -> str:
    try:
        return worded(text, LONGEST, what="reason", blank=True)
    except WordingError as error:
        raise Refused("text", _("Not saved. %(error)s") % {"error": error}) from None


def _record(verb: Verb[NoteFlagged], access: Access, flag: Flag) -> None:
    verb.record(
        actor=access.user,
        project_id=access.project.pk,
        document_id=flag.document_id,
        data={"flag": flag.pk, "reason": flag.reason},
    )

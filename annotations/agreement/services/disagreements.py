"""What follows from a disagreement: causes that people name, and rules that they add to the guidelines.

The causes are the sources of errors of Catelli 2021, section 4.1.2; a location may have several. An amendment of the
guidelines has a number and a date, and begins the next round.
"""

from datetime import datetime

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations.agreement.events import CAUSE_REMOVED, CAUSE_SET, GUIDELINES_AMENDED
from annotations.agreement.selectors.disagreements import kinds_at
from annotations.core.services import ServiceError
from annotations.core.templatetags.moments import day_text
from annotations.models import Amendment, Cause, CauseKind, Document, Project, User
from annotations.projects.services.projects import set_guidelines


def change_cause(*, document: Document, start: int, end: int, kind: str, present: bool, user: User) -> list[str]:
    """Add a cause to a location (code points, end-exclusive), or remove it. Return the location's causes.

    The causes of a location are all that overlap it, so they stay when changed annotations move its bounds. A change
    moves them to its current bounds. Raises ServiceError (`kind`, `location`).
    """
    if kind not in CauseKind.values:
        message = _("“%(kind)s” is not a cause. Choose one of: %(choices)s.")
        raise ServiceError(message % {"kind": kind[:10], "choices": ", ".join(CauseKind.values)}, code="kind")
    if not 0 <= start < end <= document.length:
        message = _("The location must lie within the %(length)s characters of the note.")
        raise ServiceError(message % {"length": f"{document.length:,}"}, code="location")
    with transaction.atomic():
        Document.objects.select_for_update(of=("self",)).only("pk").get(pk=document.pk)
        there = list(Cause.objects.filter(document_id=document.pk, start__lt=end, end__gt=start))
        if (kind in kinds_at(there, start, end)) != present:
            _move([cause for cause in there if cause.kind != kind], start, end)
            if present:
                Cause.objects.create(document_id=document.pk, start=start, end=end, kind=kind, by=user)
            else:
                Cause.objects.filter(pk__in=[cause.pk for cause in there if cause.kind == kind]).delete()
            (CAUSE_SET if present else CAUSE_REMOVED).record(
                actor=user,
                note=document,
                data={"bounds": [start, end], "kind": kind, "before": [[c.start, c.end, c.kind] for c in there]},
            )
        return kinds_at(Cause.objects.filter(document_id=document.pk), start, end)


def _move(causes: list[Cause], start: int, end: int) -> None:
    """Give the causes these bounds, and keep one of each kind."""
    kept = {cause.kind: cause.pk for cause in reversed(causes)}
    Cause.objects.filter(pk__in={cause.pk for cause in causes} - set(kept.values())).delete()
    Cause.objects.filter(pk__in=kept.values()).update(start=start, end=end)


# Add a rule to the guidelines: an amendment has a number and a date, and begins the next round.


def amended(guidelines: str, number: int, text: str, at: datetime) -> str:
    """The guidelines with the amendment appended under its own heading."""
    body = guidelines.rstrip()
    gap = "\n\n" if body else ""
    return f"{body}{gap}## Amendment {number} ({day_text(at)})\n\n{text.strip()}\n"


def next_number(project: Project) -> int:
    """The number that the project's next amendment would get, from 1."""
    last = Amendment.objects.filter(project=project).order_by("-number").values_list("number", flat=True).first()
    return (last or 0) + 1


def amend(
    *, project: Project, text: str, actor: User, location: tuple[Document, int, int] | None = None, seen_version: int
) -> Amendment:
    """Append the rule to the guidelines as a new version, and store it with its date and the location that led to it.

    The same text for the same version of the guidelines makes one amendment. Raises ServiceError `stale`.
    """
    text = text.strip().replace("\r\n", "\n")
    with transaction.atomic():
        fresh = Project.objects.select_for_update().get(pk=project.pk)
        last = Amendment.objects.filter(project=project).order_by("-number").first()
        if last is not None and last.text == text and last.guidelines_version == fresh.guidelines_version:
            return last  # A double click sends the form twice.
        now, number = timezone.now(), last.number + 1 if last else 1
        whole = amended(fresh.guidelines, number, text, now)
        fresh = set_guidelines(project=fresh, text=whole, actor=actor, seen_version=seen_version)
        document, start, end = location or (None, None, None)
        made = Amendment.objects.create(
            project=project, number=number, text=text, document=document, start=start, end=end,
            guidelines_version=fresh.guidelines_version, by=actor, at=now,
        )  # fmt: skip
        GUIDELINES_AMENDED.record(
            actor=actor,
            project_id=project.pk,
            document_id=document.pk if document else None,
            data={"amendment": number, "version": fresh.guidelines_version, "length": len(text)},
        )
    return made

"""Add a rule to the guidelines: an amendment has a number and a date, and begins the next round."""

from datetime import datetime

from django.db import transaction
from django.utils import timezone

from annotations.agreement.events import GUIDELINES_AMENDED
from annotations.core.templatetags.moments import day_text
from annotations.models import Amendment, Document, Project, User
from annotations.projects.services.projects import set_guidelines


def amended(guidelines: str, number: int, text: str, at: datetime) -> str:
    """The guidelines with the amendment appended under its own heading."""
    body = guidelines.rstrip()
    gap = "\n\n" if body else ""
    return f"{body}{gap}## Amendment {number} ({day_text(at)})\n\n{text.strip()}\n"


def next_number(project: Project) -> int:
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

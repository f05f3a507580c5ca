"""Decide about what auditors marked: replace it, accept it, or say that it is no identifier."""

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.core.events import Whose
from annotations.models import AuditMark, LeakFinding, User
from annotations.release.events import AUDIT_LEAK_DISMISSED, AUDIT_LEAK_RESTORED, AuditMarked
from annotations.release.services.audits.reading import rejudge
from annotations.release.services.deciding import decide, undecide

Answer = LeakFinding.Answer


def replace_leak(*, mark: AuditMark, actor: User | None) -> None:
    """Replace the leak in the release, whose note is prepared again. It still counts as a leak of the audit."""
    _decide(mark, Answer.REPLACE, actor)
    _dismiss(mark, actor, dismissed=False)


def accept_leak(*, mark: AuditMark, actor: User | None) -> None:
    """Leave the leak in the release. It counts as a leak, and the certificate names who accepted it."""
    _decide(mark, Answer.ALLOW, actor)
    _dismiss(mark, actor, dismissed=False)


def dismiss_leak(*, mark: AuditMark, actor: User | None) -> None:
    """Say that the marked stretch identifies nobody: it stays in the release, and doesn't count as a leak."""
    _decide(mark, Answer.ALLOW, actor)
    _dismiss(mark, actor, dismissed=True)


def undo_decision(*, mark: AuditMark, actor: User | None) -> None:
    """Undo the decision about a leak."""
    finding = _finding(mark)
    if finding.decision:
        undecide(release=mark.note.plan.release, findings=[finding.pk], actor=actor)
    _dismiss(mark, actor, dismissed=False)


DECISIONS = {"replace": replace_leak, "accept": accept_leak, "dismiss": dismiss_leak, "undo": undo_decision}
"""What can be done about a leak."""


def _decide(mark: AuditMark, answer: str, actor: User | None) -> None:
    finding = _finding(mark)
    release = mark.note.plan.release
    if finding.decision and finding.decision != answer:
        undecide(release=release, findings=[finding.pk], actor=actor)
    if finding.decision != answer:
        decide(release=release, findings=[finding.pk], answer=answer, actor=actor)


def _finding(mark: AuditMark) -> LeakFinding:
    finding = LeakFinding.objects.filter(pk=mark.finding_id or 0).first() if mark.leak else None
    if finding is None:
        raise ServiceError(_("This leak no longer exists. Reload the page."), code="gone")
    return finding


def _dismiss(mark: AuditMark, actor: User | None, *, dismissed: bool) -> None:
    """Store whether the stretch identifies nobody, unless that is stored already."""
    verb = AUDIT_LEAK_DISMISSED if dismissed else AUDIT_LEAK_RESTORED
    row = mark.note
    data: AuditMarked = {
        "release": row.plan.release.number, "position": row.position, "start": mark.start, "end": mark.end,
        "label": mark.label,
    }  # fmt: skip
    whose: Whose = {"actor": actor, "project_id": row.plan.release.project_id, "document_id": row.note.document_id}
    with transaction.atomic():
        found = AuditMark.objects.filter(pk=mark.pk, dismissed_at__isnull=dismissed)
        if found.update(dismissed_by=actor if dismissed else None, dismissed_at=timezone.now() if dismissed else None):
            rejudge(plan=row.plan)
            verb.record(data=data, **whose)

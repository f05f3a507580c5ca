"""The page on which auditors read the released text of one note at a time."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotations.core.access import Access, Can, enter
from annotations.core.errors import ServiceError
from annotations.core.labels import UNDERLINES, LabelItem, label_rows
from annotations.core.requests import Request
from annotations.core.spans import SpanItem
from annotations.models import AuditMark, AuditNote, AuditPlan
from annotations.release.forms.audits import MarkForm, NoteForm
from annotations.release.rules.audits.shown import Kind, Shown
from annotations.release.selectors.audits.shown import shown_of
from annotations.release.selectors.releases import release_for
from annotations.release.services.audits import reading
from annotations.release.services.audits.showing import show_note
from annotations.text.segments import lines


@require_POST
def audit_next(request: Request, slug: str, number: int) -> HttpResponse:
    """Take the next note, or go on with the one that was begun."""
    access, plan = _audit(request, slug, number)
    return _next(request, access, plan, number)


@require_safe
def audit_read(request: Request, slug: str, number: int) -> HttpResponse:
    """Show the note that the person reads. Redirects to the audit's page if they read none."""
    access, plan = _audit(request, slug, number)
    found = show_note(plan=plan, user=access.user) if plan else None
    if plan is None or found is None:
        return redirect("release_audit", slug, number)
    return render(request, "release/audits/read.html", {"access": access, "plan": plan, **_page(access, plan, *found)})


def _page(access: Access, plan: AuditPlan, note: AuditNote, shown: Shown) -> dict[str, Any]:
    labels = list(label_rows(access.project.pk).select_related("category"))
    marks = list(note.marks.all())
    spans, looks = _spans(shown, marks, labels)
    names = {label.code: label for label in labels}
    listed = []
    for mark in marks:
        start, end = shown.to_shown(mark.start, mark.end)
        listed.append((mark, names.get(mark.label), shown.text[start:end]))
    return {
        "release": plan.release,
        "note": note,
        "text": shown.text,
        "spans": spans,
        "looks": looks,
        "labels": labels,
        "marks": listed,
        "mine": AuditNote.objects.filter(plan=plan, reader=access.user, state=AuditNote.State.DONE).count(),
        "reopens": reading.last_finished(plan, access.user),
        "language": note.note.document.language or access.project.language,
    }


def _spans(shown: Shown, marks: list[AuditMark], labels: list[Any]) -> tuple[list[SpanItem], list[LabelItem]]:
    """Spans of the shown text: what was replaced, what was kept by the policy, and what the auditor marked."""
    looks: dict[tuple[str, str], LabelItem] = {}
    known = {label.code: label for label in labels}

    def look(kind: str, code: str, name: str) -> int:
        if (kind, code) not in looks:
            label = known.get(code)
            hue, underline = (label.category.hue, label.category.position % UNDERLINES) if label else (0, 0)
            looks[kind, code] = LabelItem(
                id=len(looks) + 1, name=name % {"label": label.name if label else code}, key="", description="",
                category="", hue=hue, underline=underline,
            )  # fmt: skip
        return looks[kind, code]["id"]

    words = {Kind.REPLACED: _("%(label)s, replaced"), Kind.KEPT: _("%(label)s, kept by the policy")}
    spans = [
        SpanItem(id=0, start=part.start, end=part.end, label=look(part.kind, part.label, words[part.kind]))
        for part in shown.parts
        if part.kind != Kind.SAME and part.start < part.end
    ]
    for mark in marks:
        start, end = shown.to_shown(mark.start, mark.end)
        spans.append(SpanItem(id=mark.pk, start=start, end=end, label=look("mark", mark.label, _("Leak: %(label)s"))))
    return spans, list(looks.values())


@require_POST
def audit_mark(request: Request, slug: str, number: int) -> HttpResponse:
    """Mark a stretch of the shown text as a leak."""
    access, plan = _audit(request, slug, number)
    form = MarkForm(request.POST)
    line = ""

    def act(note: AuditNote) -> None:
        nonlocal line
        data = form.cleaned_data
        reading.mark(note=note, start=data["start"], end=data["end"], label=data["label"], user=access.user)
        text = shown_of(note).text
        line = f"#L{max(one.number for one in lines(text) if one.start <= data['start'])}"

    _act(request, access, plan, form, act)
    return HttpResponseRedirect(reverse("audit_read", args=[slug, number]) + line)


@require_POST
def audit_unmark(request: Request, slug: str, number: int) -> HttpResponse:
    access, plan = _audit(request, slug, number)
    form = NoteForm(request.POST)
    _act(
        request, access, plan, form,
        lambda note: reading.unmark(note=note, mark=form.cleaned_data["mark"] or 0, user=access.user),
    )  # fmt: skip
    return redirect("audit_read", slug, number)


@require_POST
def audit_finish(request: Request, slug: str, number: int) -> HttpResponse:
    """Finish the note and take the next one."""
    access, plan = _audit(request, slug, number)
    form = NoteForm(request.POST)
    if not _act(request, access, plan, form, lambda note: reading.finish(note=note, user=access.user)):
        return redirect("audit_read", slug, number)
    return _next(request, access, plan, number)


@require_POST
def audit_reopen(request: Request, slug: str, number: int) -> HttpResponse:
    """Reopen the note that the person finished last."""
    access, plan = _audit(request, slug, number)
    if plan is None:
        return redirect("release_audit", slug, number)
    try:
        reading.reopen(plan=plan, user=access.user)
    except ServiceError as error:
        messages.error(request, str(error))
    return redirect("audit_read", slug, number)


def _audit(request: Request, slug: str, number: int) -> tuple[Access, AuditPlan | None]:
    access = enter(request.user, slug, Can.AUDIT_RELEASES)
    release = release_for(access, number)
    return access, AuditPlan.objects.filter(release=release).select_related("release__project").first()


def _act(
    request: Request, access: Access, plan: AuditPlan | None, form: forms.Form, act: Callable[[AuditNote], object]
) -> bool:
    """Do something to the note at the position that the form names. Errors become messages."""
    if plan is None or not form.is_valid():
        messages.error(request, _("Select text of the note and choose a label."))
        return False
    note = reading.note_of(plan, form.cleaned_data["note"], access.user)
    try:
        if note is None:
            raise ServiceError(_("This note is no longer yours to read. Read the next."), code="gone")
        act(note)
    except ServiceError as error:
        messages.error(request, str(error))
        return False
    return True


def _next(request: Request, access: Access, plan: AuditPlan | None, number: int) -> HttpResponse:
    slug = access.project.slug
    try:
        note = reading.next_note(plan=plan, user=access.user) if plan else None
    except ServiceError as error:
        messages.info(request, str(error))
        return redirect("release_audit", slug, number)
    if note is None:
        messages.info(request, _("No note is left to read. Others may still read theirs."))
        return redirect("release_audit", slug, number)
    return redirect("audit_read", slug, number)

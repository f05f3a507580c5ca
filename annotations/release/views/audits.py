"""The page on which auditors read the released text of one note at a time."""

from collections.abc import Mapping
from typing import Any

from csp.constants import SELF
from csp.decorators import csp_update
from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.template.loader import render_to_string
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from annotations.core import requests
from annotations.core.access import Access, Can
from annotations.core.answers import fresh_token, json_answers
from annotations.core.batches import make_changes
from annotations.core.changes import malformed
from annotations.core.forms import add_error
from annotations.core.labels import UNDERLINES, LabelItem, label_rows
from annotations.core.services import ServiceError
from annotations.core.spans import SpanItem
from annotations.models import AuditMark, AuditNote, AuditNoteState, AuditPlan, Release, ReleaseState, User
from annotations.notes.selectors.in_context import label_looks
from annotations.release.forms.releases import DecisionForm, MarkForm, PlanForm
from annotations.release.rules.audits.shown import AuditedText, PartKind
from annotations.release.selectors import audits as audits_selectors
from annotations.release.selectors.recordings import excerpts_of
from annotations.release.selectors.releases import release_for
from annotations.release.services.audits import planning, reading
from annotations.release.services.audits.reading import decide_leak, progress_of, show_leaks, show_note
from annotations.release.services.recordings import excerpt_of, lost_recording, recording_of
from annotations.text.spans import trim

PARTS = ("text", "marks", "finish")
"""What a mark changes on the page that an auditor reads."""


@requests.in_project(Can.AUDIT_RELEASES, "POST")
def audit_next(request: requests.Request, access: Access, number: int) -> HttpResponse:
    """Take the next note, or go on with the one that was begun."""
    plan = _audit(access, number)
    return _next(request, access, plan, number)


@csp_update({"media-src": [SELF]})
@requests.in_project(Can.AUDIT_RELEASES)
def audit_read(request: requests.Request, access: Access, number: int) -> HttpResponse:
    """Show the note that the person reads. Redirects to the audit's page if they read none."""
    plan = _audit(access, number)
    if requests.wants_json(request):
        return fresh_token(request)
    found = show_note(plan=plan, user=access.user) if plan else None
    if plan is None or found is None:
        return redirect("release_audit", access.slug, number)
    return render(request, "release/audits/read.html", {"plan": plan, **_page(access, plan, *found)})


@requests.in_project(Can.AUDIT_RELEASES)
def audit_listen(request: requests.Request, access: Access, number: int, part: int) -> HttpResponse:
    """Send an excerpt of the recording of the note that the person reads, muted as released but for a planted leak."""
    plan = _audit(access, number)
    found = show_note(plan=plan, user=access.user) if plan else None
    if found is None:
        raise Http404("This person reads no note of the audit.")
    ending, content = excerpt_of(found[0], part)
    headers = {"Cache-Control": "no-store, private", "Content-Disposition": "inline"}
    return HttpResponse(content, content_type=f"audio/{ending}", headers=headers)


def _page(access: Access, plan: AuditPlan, note: AuditNote, shown: AuditedText) -> dict[str, Any]:
    labels = list(label_rows(access.project.pk).select_related("category"))
    marks = list(note.marks.all())
    spans, looks = _spans(shown, marks, labels)
    names = {label.code: label for label in labels}
    listed = []
    for mark in marks:
        start, end = shown.to_shown(mark.start, mark.end)
        listed.append((mark, names.get(mark.label), shown.text[start:end], start, end))
    return {
        "release": plan.release,
        "note": note,
        "text": shown.text,
        "spans": spans,
        "looks": looks,
        "labels": labels,
        "marks": listed,
        "mine": AuditNote.objects.filter(plan=plan, reader=access.user, state=AuditNoteState.DONE).count(),
        "reopens": reading.last_finished(plan, access.user),
        "language": note.note.document.language or access.project.language,
        "lost": lost_recording(note),
        "excerpts": excerpts_of(note, recording) if (recording := recording_of(note.note.document)) else [],
    }


def _spans(shown: AuditedText, marks: list[AuditMark], labels: list[Any]) -> tuple[list[SpanItem], list[LabelItem]]:
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

    words = {PartKind.REPLACED: _("%(label)s, replaced"), PartKind.KEPT: _("%(label)s, kept by the policy")}
    spans = [
        SpanItem(id=0, start=part.start, end=part.end, label=look(part.kind, part.label, words[part.kind]))
        for part in audits_selectors.labeled_parts(shown)
    ]
    for mark in marks:
        start, end = shown.to_shown(mark.start, mark.end)
        spans.append(SpanItem(id=mark.pk, start=start, end=end, label=look("mark", mark.label, _("Leak: %(label)s"))))
    return spans, list(looks.values())


@require_POST
@json_answers(gettext_lazy("You don't have permission to audit this project's releases."))
def audit_mark(request: requests.Request, slug: str, number: int) -> HttpResponse:
    """Mark and unmark leaks in the order of `changes` (annotations.core.batches); return what the page shows now."""
    access = requests.enter_page(request, slug, Can.AUDIT_RELEASES)
    plan, data = get_object_or_404(AuditPlan, release=release_for(access, number)), requests.body_of(request)
    _changes, said = make_changes(data, _mark_of, lambda change: _mark(plan, access.user, **change))
    note, parts = reading.reading_note(plan, access.user), {}
    if note is not None:
        page = _page(access, plan, note, audits_selectors.shown_of(note))
        parts = {part: render_to_string(f"release/audits/read_{part}.html", page, request) for part in PARTS}
    return JsonResponse({"outcomes": said, "parts": parts})


def _mark_of(data: Mapping[str, Any]) -> dict[str, Any]:
    form = MarkForm(data)
    if not form.is_valid():
        raise malformed(gettext_lazy("Select text of the note and choose a label."))
    return form.cleaned_data


def _mark(plan: AuditPlan, user: User, note: int, start: int, end: int, label: str) -> None:
    """Mark a stretch of the shown text as a leak, or without a label remove its mark. Raises ServiceError."""
    row = reading.note_of(plan, note, user)
    if label:
        reading.mark(note=row, start=start, end=end, label=label, user=user)
        return
    shown = audits_selectors.shown_of(row)
    if not start < end <= len(shown.text):
        raise ServiceError(_("Select text of the note."), code="bounds")
    begin, past = shown.to_original(*trim(shown.text, start, end))
    for pk in AuditMark.objects.filter(note=row, start=begin, end=past).values_list("pk", flat=True):
        reading.unmark(note=row, mark=pk, user=user)


@requests.in_project(Can.AUDIT_RELEASES, "POST")
def audit_finish(request: requests.Request, access: Access, number: int) -> HttpResponse:
    """Finish the note and take the next one."""
    plan = _audit(access, number)
    note = requests.number(request.POST, "note")
    if plan is None or note is None:
        return redirect("release_audit", access.slug, number)
    try:
        reading.finish(note=reading.note_of(plan, note, access.user), user=access.user)
    except ServiceError as error:
        messages.error(request, str(error))
        return redirect("audit_read", access.slug, number)
    return _next(request, access, plan, number)


@requests.in_project(Can.AUDIT_RELEASES, "POST")
def audit_reopen(request: requests.Request, access: Access, number: int) -> HttpResponse:
    """Reopen the note that the person finished last."""
    plan = _audit(access, number)
    if plan is None:
        return redirect("release_audit", access.slug, number)
    with requests.error_as_message(request):
        reading.reopen(plan=plan, user=access.user)
    return redirect("audit_read", access.slug, number)


def _audit(access: Access, number: int) -> AuditPlan | None:
    plans = AuditPlan.objects.filter(release=release_for(access, number))
    return plans.select_related("release__project").first()


def _next(request: requests.Request, access: Access, plan: AuditPlan | None, number: int) -> HttpResponse:
    try:
        note = reading.next_note(plan=plan, user=access.user) if plan else None
    except ServiceError as error:
        messages.info(request, str(error))
        return redirect("release_audit", access.slug, number)
    if note is None:
        messages.info(request, _("No note is left to read. Others may still read theirs."))
        return redirect("release_audit", access.slug, number)
    return redirect("audit_read", access.slug, number)


# The page of a release's audit: planning it, its progress, and its result.


SIZE = 50


@requests.in_project(Can.AUDIT_RELEASES)
def audits(request: requests.Request, access: Access) -> HttpResponse:
    """List the releases that have an audit or can get one, newest first."""
    rows = audits_selectors.audited(access).order_by("-number")
    return render(request, "release/audits/audits.html", {"page": requests.paged(request, rows, SIZE)})


@requests.in_project(Can.AUDIT_RELEASES)
def release_audit(request: requests.Request, access: Access, number: int) -> HttpResponse:
    """Show the audit: its plan and progress, or the form for a new plan with the sample that its choices give.

    Auditors see the result only after the audit has ended, so that it doesn't influence their reading.
    """
    release = release_for(access, number)
    plan = AuditPlan.objects.filter(release=release).select_related("release__policy", "created_by").first()
    context: dict[str, Any] = {"release": release, "plan": plan}
    if plan is not None:
        context |= _of_plan(access, plan)
    elif access.can(Can.RELEASE):
        form = PlanForm(request.GET) if "target" in request.GET else None
        context |= _of_form(release, form)
    return render(request, "release/audits/audit.html", context)


def _of_plan(access: Access, plan: AuditPlan) -> dict[str, Any]:
    progress, looks = progress_of(access, plan), label_looks(access.project)
    context = {**vars(progress), "ends": [sum(look.values()) for look in plan.looks]}
    if (result := progress.result) is None:
        return context
    return context | {
        "untouched": not result.read and not plan.notes.exclude(state=AuditNoteState.WAITING).exists(),
        "share_read": round(100 * result.read / plan.drawn) if plan.drawn else 100,
        "strata": list(result.strata.items()) if plan.by else [],
        # Labels without a leak have the same bound, which the page shows once.
        "labels": [(looks.get(code), code, rate) for code, rate in result.labels.items() if rate.leaks],
        "other_labels": max((rate.bound for rate in result.labels.values() if not rate.leaks), default=None),
    }


def _of_form(release: Release, form: PlanForm | None) -> dict[str, Any]:
    waiting = planning.waiting_for(release)
    if waiting:
        return {"waiting": waiting}
    choices = planning.Choices()
    if form is None:
        choices = planning.reachable_choices(release)
        form = PlanForm(initial={name: f"{100 * getattr(choices, name):g}" for name in ("target", "planted")})
    elif form.is_valid():
        choices = form.choices
    else:
        return {"form": form}
    try:
        preview = planning.preview_of(release, choices)
    except ServiceError as error:
        if form.is_bound:
            add_error(form, error)
        return {"form": form, "problem": "" if form.is_bound else str(error)}
    # The chosen share of so few notes is none, so one note gets a planted leak.
    raised = preview.planted > round(preview.most * choices.planted)
    return {"form": form, "preview": preview, "choices": choices, "raised": raised}


@requests.in_project(Can.RELEASE, "POST")
def audit_start(request: requests.Request, access: Access, number: int) -> HttpResponse:
    """Plan the audit. A repeated request finds the plan that the first one made."""
    release = release_for(access, number)
    form = PlanForm(request.POST)
    if not form.is_valid():
        context = {"release": release, "plan": None, "form": form}
        return render(request, "release/audits/audit.html", context, status=422)
    try:
        planning.plan_audit(release=release, choices=form.choices, actor=access.user)
    except ServiceError as error:
        if error.code != "exists":
            messages.error(request, str(error))
    else:
        messages.success(request, _("The sample is drawn. Auditors can begin to read."))
    return redirect("release_audit", access.slug, number)


@requests.in_project(Can.RELEASE, "POST")
def audit_discard(request: requests.Request, access: Access, number: int) -> HttpResponse:
    release = release_for(access, number)
    with requests.error_as_message(request):
        planning.discard_plan(release=release, actor=access.user)
        messages.success(request, _("The plan was discarded."))
    return redirect("release_audit", access.slug, number)


# The leaks that auditors found, and the decisions about them.


@requests.in_project(Can.RELEASE)
def audit_leaks(request: requests.Request, access: Access, number: int) -> HttpResponse:
    """List the leaks in their sentences of the original note. Managers only: auditors read without this knowledge."""
    release = release_for(access, number)
    plan = get_object_or_404(AuditPlan, release=release)
    if requests.wants_json(request):
        return fresh_token(request)
    page = requests.paged(request, audits_selectors.leak_marks(plan).order_by("note__position", "start"), SIZE)
    leaks = show_leaks(project=access.project, marks=list(page), actor=access.user)
    return render(
        request, "release/audits/leaks.html",
        {"release": release, "page": page, "leaks": leaks, "decidable": release.state == ReleaseState.PREPARED},
    )  # fmt: skip


def audit_decide(request: requests.Request, slug: str, number: int) -> HttpResponseBase:
    """Decide about leaks. The script sends JSON, many decisions at once; a form sends one."""
    return (_decide_many if requests.is_json(request) else _decide)(request, slug=slug, number=number)


@requests.in_project(Can.RELEASE, "POST")
def _decide(request: requests.Request, access: Access, number: int) -> HttpResponse:
    release = release_for(access, number)
    with requests.error_as_message(request):
        _settle(access, release, *_decision(request.POST))
    return redirect("audit_leaks", access.slug, number)


@require_POST
@json_answers(gettext_lazy("You don't have permission to release this project's notes."))
def _decide_many(request: requests.Request, slug: str, number: int) -> HttpResponse:
    """Decide about leaks in the order of `changes` (annotations.core.batches), and return them as they are now."""
    access = requests.enter_page(request, slug, Can.RELEASE)
    release, data = release_for(access, number), requests.body_of(request)
    decisions, said = make_changes(data, _decision, lambda decision: _settle(access, release, *decision))
    plan = get_object_or_404(AuditPlan, release=release)
    marks = audits_selectors.leak_marks(plan).filter(pk__in=[mark for mark, _answer in decisions])
    leaks = show_leaks(project=access.project, marks=list(marks), actor=access.user)
    parts = {
        f"leak-{leak.mark.pk}": render_to_string(
            "release/audits/leak.html", {"release": release, "leak": leak, "decidable": True}, request
        )
        for leak in leaks
    }
    return JsonResponse({"outcomes": said, "parts": parts, "counts": {}})


def _decision(data: Mapping[str, Any]) -> tuple[int, str]:
    """The id of a leak and the answer to it. Raises ChangeRefused."""
    form = DecisionForm(data)
    if not form.is_valid():
        raise malformed(gettext_lazy("Choose one of the decisions."))
    return form.cleaned_data["mark"], form.cleaned_data["answer"]


def _settle(access: Access, release: Release, pk: int, answer: str) -> None:
    """Decide about a leak of the release. Raises ServiceError."""
    marks = AuditMark.objects.select_related("note__plan__release__project", "note__note")
    mark = marks.filter(note__plan__release=release, pk=pk).first()
    if mark is None:
        raise ServiceError(_("This leak no longer exists. Reload the page."), code="gone")
    decide_leak(mark=mark, answer=answer, actor=access.user)

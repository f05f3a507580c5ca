"""Pages of project archives, of deletions, of patients, and of webhooks."""

import uuid
from functools import partial
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods

from annotations.core import requests
from annotations.core.access import Access, Can, may_create_projects, note_for
from annotations.core.answers import attachment
from annotations.core.forms import attempted, error_beside
from annotations.core.services import NOTE_DELETED, ServiceError
from annotations.jobs.api import form_token
from annotations.models import DeliveryState, Document, Webhook
from annotations.ops.forms import ArchiveForm, DeleteProjectForm, EraseForm, PatientForm, PatientsFileForm, WebhookForm
from annotations.ops.selectors.free_texts import free_texts, seen_weights
from annotations.ops.selectors.webhooks import deliveries_of, delivery_of, delivery_row, webhook_of, webhook_rows
from annotations.ops.services import erasing
from annotations.ops.services.archives import staging
from annotations.ops.services.archives.writing import LEFT_OUT
from annotations.ops.services.backup import backups_before_erasing, backups_of
from annotations.ops.services.deleting import delete_project, deletion_preview
from annotations.ops.services.webhooks import webhooks as hooks
from annotations.projects.selectors.projects import live_jobs


@requests.in_project(Can.ARCHIVE)
def archive_export(request: requests.Request, access: Access) -> HttpResponse:
    """What an archive holds and leaves out, the button that starts it, and the archives that are ready."""
    context = {
        "token": uuid.uuid4(),
        "files": staging.ready_archives(access.project),
        "left_out": LEFT_OUT.items(),
        "hours": settings.STORED_FILE_HOURS,
    }
    return render(request, "ops/archives/export.html", context)


@requests.in_project(Can.ARCHIVE, "POST")
def archive_start(request: requests.Request, access: Access) -> HttpResponse:
    job = staging.start_archive(project=access.project, actor=access.user, token=form_token(request))
    return redirect("job", access.slug, job.number)


@requests.in_project(Can.ARCHIVE)
def archive_file(request: requests.Request, access: Access, pk: int) -> HttpResponse | StreamingHttpResponse:
    return attachment(request, access, get_object_or_404(staging.ready_archives(access.project), pk=pk))


@requests.takes_uploads(None)
@require_http_methods(["GET", "HEAD", "POST"])
def archive_import(request: requests.Request) -> HttpResponse:
    """Upload an archive. It waits in a new, empty project for the confirmation of its people."""
    if not may_create_projects(request.user):
        raise PermissionDenied("Only administrators and managers can create projects.")
    form = ArchiveForm(request.POST, request.FILES) if request.method == "POST" else ArchiveForm()
    if form.is_valid():
        upload, slug = form.cleaned_data["archive"], form.cleaned_data["slug"]
        with error_beside(form, {"exists": "slug"}):
            project, stored = staging.stage_archive(file=upload, name=upload.name, slug=slug, actor=request.user)
            return redirect("archive_confirm", project.slug, stored.pk)
    return render(request, "ops/archives/import.html", {"form": form}, status=422 if form.errors else 200)


@requests.in_project(Can.MANAGE, *requests.FORM)
def archive_confirm(request: requests.Request, access: Access, pk: int) -> HttpResponse:
    """The people of the archive, and which accounts here have their names; a POST starts the import."""
    stored = staging.upload_for(access, pk)
    with requests.error_as_message(request):
        if request.method == "POST":
            job = staging.start_loading(project=access.project, stored=stored, actor=access.user)
            return redirect("job", access.slug, job.number)
        found = staging.staged(stored)
        counts = [(_(name.replace("_", " ").capitalize()), count) for name, count in found.counts.items()]
        context = {"stored": stored, "found": found, "counts": counts}
        return render(request, "ops/archives/confirm.html", context)
    return redirect("project", access.slug)


@requests.in_project(Can.SEE_PROJECT, *requests.FORM)
def archive_claim(request: requests.Request, access: Access) -> HttpResponse:
    """What an archive brought under the person's user name; a POST takes it over."""
    author = staging.imported_self(access.project, access.user)
    if author is None:
        raise Http404("No archive brought work under this user name.")
    error = ""
    if request.method == "POST":
        try:
            staging.claim(project=access.project, user=access.user)
            messages.success(request, _("The imported work is shown under your name now."))
            return redirect("project", access.slug)
        except ServiceError as refused:
            error = str(refused)
    context = {"sets": author.annotation_sets.count(), "error": error}
    return render(request, "ops/archives/claim.html", context, status=409 if error else 200)


# Pages that delete an archived project, or one note.


@requests.in_project(Can.ARCHIVE, *requests.FORM)
def project_delete(request: requests.Request, access: Access) -> HttpResponse:
    """Say what is deleted with the project; delete it by POST if its name was typed."""
    if not access.archived:
        messages.error(request, _("Only an archived project can be deleted. Archive it first."))
        return redirect("project_settings", access.slug)
    form = DeleteProjectForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        with error_beside(form):
            n = delete_project(project=access.project, name=form.cleaned_data["name"], actor=access.user)["notes"]
            text = ngettext("A project with %(n)d note was deleted.", "A project with %(n)d notes was deleted.", n)
            messages.success(request, text % {"n": n})
            return redirect("projects")
    context = {
        "form": form,
        "preview": deletion_preview(access.project),
        "jobs": live_jobs(access.project),
        "backups": backups_of(access.project),
        "weights": seen_weights(access.project, access.user),
    }
    return render(request, "ops/project_delete.html", context, status=422 if form.errors else 200)


@requests.in_project(Can.MANAGE, *requests.FORM)
def note_delete(request: requests.Request, access: Access, pk: int) -> HttpResponse:
    """Say what is deleted with the note; delete it by POST."""
    if request.method == "POST" and NOTE_DELETED.happened(access.project.pk, document_id=pk):
        return redirect("notes", access.slug)
    document = note_for(access, pk)
    context: dict[str, object] = {"note": document}
    if request.method == "POST":
        try:
            erasing.delete_note(project=access.project, note=pk, actor=access.user)
            messages.success(request, _("The note was deleted, with everything made from it."))
            return redirect("notes", access.slug)
        except ServiceError as error:
            if error.code == "none":
                return redirect("notes", access.slug)
            context["refused"] = str(error)
    context |= {"preview": erasing.note_preview(project=access.project, note=pk), "backups": backups_of(access.project)}
    context["weights"] = seen_weights(access.project, access.user)
    return render(request, "ops/note_delete.html", context, status=409 if "refused" in context else 200)


@requests.in_project(Can.MANAGE, "POST")
def notes_delete(request: requests.Request, access: Access) -> HttpResponse:
    """Say what is deleted with the ticked notes; with `do`, delete them, one after the other."""
    notes = Document.objects.filter(project=access.project, pk__in=requests.ticked(request)).order_by("pk")
    if not notes:
        messages.error(request, _("No note is ticked. Tick the notes to delete."))
        return redirect("notes", access.slug)
    if request.POST.get("do") == "delete":
        deleted = 0
        with requests.error_as_message(request):
            for pk in list(notes.values_list("pk", flat=True)):
                erasing.delete_note(project=access.project, note=pk, actor=access.user)
                deleted += 1
        text = ngettext("%(n)d note was deleted.", "%(n)d notes were deleted.", deleted) % {"n": deleted}
        messages.success(request, text)
        return redirect("notes", access.slug)
    context = {"notes": notes.only("pk", "name"), "preview": erasing.counted(access.project, notes)}
    context |= {"backups": backups_of(access.project), "weights": seen_weights(access.project, access.user)}
    return render(request, "ops/notes_delete.html", context)


# The page “Patients”: set patient ids, and erase one patient's notes.


SHOWN = 50


@requests.takes_uploads(Can.MANAGE)
@sensitive_post_parameters()
@requests.in_project(Can.MANAGE, *requests.FORM)
def patients(request: requests.Request, access: Access) -> HttpResponse:
    """Show both forms. A POST names its action in `do`: preview, erase or ids. No address contains a patient id."""
    context: dict[str, Any] = {"form": PatientForm(), "file_form": PatientsFileForm()}
    if request.method == "POST":
        acts = {"preview": _preview, "erase": _erase, "ids": _set_ids}
        context |= acts.get(request.POST.get("do", ""), _preview)(request, access)
    notes = Document.objects.filter(project=access.project)
    context["notes"] = notes.count()
    context["with_id"] = notes.exclude(patient_id="").count()
    context["backups"] = backups_before_erasing(access.project)
    if "preview" in context or "erased" in context:
        context["texts"] = free_texts(access.project)
        context["weights"] = seen_weights(access.project, access.user)
    failed = any(form.errors for form in context.values() if hasattr(form, "errors"))
    status = 422 if failed else 200
    return render(request, "ops/patients.html", context, status=409 if context.get("refused") else status)


def _preview(request: requests.Request, access: Access) -> dict[str, Any]:
    """Count what an erasure would delete, and ask for the id again."""
    form = PatientForm(request.POST)
    act = partial(erasing.erasure_preview, project=access.project)
    counts = attempted(form, lambda: act(**form.cleaned_data), {"none": "patient_id"})
    if counts is None:
        return {"form": form}
    return {"form": form, "preview": counts, "erase_form": EraseForm(initial=form.cleaned_data)}


def _erase(request: requests.Request, access: Access) -> dict[str, Any]:
    form, refused = EraseForm(request.POST), ""
    if form.is_valid():
        patient = form.cleaned_data["patient_id"]
        try:
            return {"erased": erasing.erase_patient(project=access.project, patient_id=patient, actor=access.user)}
        except ServiceError as error:
            if error.code == "none":
                return {"gone": True}
            refused = str(error)
    try:
        counts = erasing.erasure_preview(project=access.project, patient_id=request.POST.get("patient_id", ""))
    except ServiceError:
        return {"gone": True}
    return {"preview": counts, "erase_form": form, "refused": refused}


def _set_ids(request: requests.Request, access: Access) -> dict[str, Any]:
    form = PatientsFileForm(request.POST, request.FILES)
    if not form.is_valid():
        return {"file_form": form}
    done = erasing.set_rows(project=access.project, rows=form.cleaned_data["file"], actor=access.user)
    return {"done": done, "unknown_shown": done.unknown[:SHOWN], "unknown_more": len(done.unknown[SHOWN:])}


# Pages of webhooks: the list with a form, and one webhook with its settings and its log of deliveries.


ROWS = 50


@requests.in_project(Can.MANAGE, *requests.FORM)
def webhooks(request: requests.Request, access: Access) -> HttpResponse:
    """The webhooks of a project. A POST adds one, and only its answer shows the secret."""
    form = WebhookForm(request.POST if request.method == "POST" else None, auto_id="webhook-%s")
    made = attempted(form, lambda: hooks.add_webhook(project=access.project, actor=access.user, **form.cleaned_data))
    if made:
        return _show_secret(request, access, made.webhook, made.secret, new=True)
    context = {"rows": webhook_rows(access.project), "form": form}
    return render(request, "ops/webhooks/webhooks.html", context, status=422 if form.errors else 200)


@requests.in_project(Can.MANAGE, *requests.FORM)
def webhook(request: requests.Request, access: Access, pk: int) -> HttpResponse:
    """One webhook with its log. POST `do`: change, secret, on, off, test or remove."""
    row = webhook_of(access, pk)
    if request.method != "POST":
        form = WebhookForm(initial={"url": row.url, "kinds": row.kinds}, auto_id="webhook-%s")
        return _page(request, access, row, form)
    do = request.POST.get("do")
    if do == "change":
        return _change(request, access, row)
    if do == "secret":
        return _show_secret(request, access, row, hooks.renew_secret(webhook=row, actor=access.user), new=False)
    if do in ("on", "off"):
        hooks.switch(webhook=row, on=do == "on", actor=access.user)
        messages.success(request, _("The webhook is on.") if do == "on" else _("The webhook is off."))
    elif do == "test":
        hooks.send_test(webhook=row, actor=access.user)
        messages.success(request, _("A test is being sent. The log shows the result."))
    elif do == "remove":
        hooks.remove_webhook(webhook=row, actor=access.user)
        messages.success(request, _("The webhook was removed."))
        return redirect("webhooks", access.slug)
    else:
        messages.error(request, _("Unknown action. Nothing was changed. Reload the page."))
    return redirect("webhook", access.slug, pk)


@requests.in_project(Can.MANAGE, "POST")
def webhook_resend(request: requests.Request, access: Access, pk: int, delivery: int) -> HttpResponse:
    """Send a delivery again."""
    found = delivery_of(webhook_of(access, pk), delivery)
    with requests.error_as_message(request):
        hooks.send_again(delivery=found, actor=access.user)
        messages.success(request, _("The delivery is being sent again."))
    return redirect("webhook", access.slug, pk)


def _change(request: requests.Request, access: Access, row: Webhook) -> HttpResponse:
    form = WebhookForm(request.POST, auto_id="webhook-%s")
    if form.is_valid():
        with error_beside(form):
            hooks.change_webhook(webhook=row, actor=access.user, **form.cleaned_data)
            messages.success(request, _("The webhook was changed."))
            return redirect("webhook", access.slug, row.pk)
    return _page(request, access, row, form)


def _page(request: requests.Request, access: Access, row: Webhook, form: WebhookForm) -> HttpResponse:
    """The page, or for htmx only the log, which is loaded again while a delivery is about to be sent."""
    page = requests.paged(request, deliveries_of(row), ROWS)
    rows = [delivery_row(one) for one in page]
    context = {
        "webhook": row,
        "form": form,
        "page": page,
        "rows": rows,
        "live": any(one.state == DeliveryState.WAITING and not one.tried for one in page),
    }
    if requests.wants_fragment(request) and request.method == "GET":
        return render(request, "ops/webhooks/log.html", context)
    return render(request, "ops/webhooks/webhook.html", context, status=422 if form.errors else 200)


def _show_secret(request: requests.Request, access: Access, row: Webhook, secret: str, *, new: bool) -> HttpResponse:
    context = {"webhook": row, "secret": secret, "new": new}
    return render(request, "ops/webhooks/secret.html", context)

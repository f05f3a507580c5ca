"""Pages of project archives: writing and downloading one, and importing one as a new project."""

import uuid

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotations.core.access import Can, enter, may_create_projects
from annotations.core.answers import attachment
from annotations.core.errors import ServiceError
from annotations.core.forms import error_beside
from annotations.core.requests import Request, error_as_message, takes_uploads
from annotations.jobs.tokens import form_token
from annotations.models import StoredFile, StoredFileKind
from annotations.ops.forms import ArchiveForm
from annotations.ops.services.archives import staging
from annotations.ops.services.archives.writing import LEFT_OUT


@require_safe
def archive_export(request: Request, slug: str) -> HttpResponse:
    """What an archive holds and leaves out, the button that starts it, and the archives that are ready."""
    access = enter(request.user, slug, Can.ARCHIVE)
    context = {
        "access": access,
        "token": uuid.uuid4(),
        "files": staging.ready_archives(access.project),
        "left_out": LEFT_OUT.items(),
        "hours": settings.STORED_FILE_HOURS,
    }
    return render(request, "ops/archives/export.html", context)


@require_POST
def archive_start(request: Request, slug: str) -> HttpResponse:
    access = enter(request.user, slug, Can.ARCHIVE)
    job = staging.start_archive(project=access.project, actor=access.user, token=form_token(request))
    return redirect("job", slug, job.number)


@require_safe
def archive_file(request: Request, slug: str, pk: int) -> HttpResponse | StreamingHttpResponse:
    access = enter(request.user, slug, Can.ARCHIVE)
    stored = get_object_or_404(StoredFile, project=access.project, kind=StoredFileKind.ARCHIVE, pk=pk)
    if stored.expires_at is not None and stored.expires_at <= timezone.now():
        raise Http404("This archive has expired.")
    return attachment(request, access, stored)


@takes_uploads(None)
@require_http_methods(["GET", "HEAD", "POST"])
def archive_import(request: Request) -> HttpResponse:
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


@require_http_methods(["GET", "HEAD", "POST"])
def archive_confirm(request: Request, slug: str, pk: int) -> HttpResponse:
    """The people of the archive, and which accounts here have their names; a POST starts the import."""
    access = enter(request.user, slug, Can.MANAGE)
    stored = staging.upload_of(access.project, pk)
    if stored is None:
        raise Http404("This upload does not exist.")
    with error_as_message(request):
        if request.method == "POST":
            job = staging.start_loading(project=access.project, stored=stored, actor=access.user)
            return redirect("job", slug, job.number)
        found = staging.staged(stored)
        counts = [(_(name.replace("_", " ").capitalize()), count) for name, count in found.counts.items()]
        context = {"access": access, "stored": stored, "found": found, "counts": counts}
        return render(request, "ops/archives/confirm.html", context)
    return redirect("project", slug)


@require_http_methods(["GET", "HEAD", "POST"])
def archive_claim(request: Request, slug: str) -> HttpResponse:
    """What an archive brought under the person's user name; a POST takes it over."""
    access = enter(request.user, slug)
    author = staging.imported_self(access.project, access.user)
    if author is None:
        raise Http404("No archive brought work under this user name.")
    error = ""
    if request.method == "POST":
        try:
            staging.claim(project=access.project, user=access.user)
            messages.success(request, _("The imported work is shown under your name now."))
            return redirect("project", slug)
        except ServiceError as refused:
            error = str(refused)
    context = {"access": access, "sets": author.annotation_sets.count(), "error": error}
    return render(request, "ops/archives/claim.html", context, status=409 if error else 200)

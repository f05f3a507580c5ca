"""Pages of releases: the list, a release, its exports, and withdrawing it."""

import uuid
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotations.core.access import Access, Can, enter
from annotations.core.errors import ServiceError
from annotations.core.requests import Request, paged
from annotations.exchange.selectors.label_mappings import mappings_of
from annotations.exchange.services.export_labels import labels_of_mapping
from annotations.jobs.services.status import status_of
from annotations.jobs.tokens import form_token
from annotations.models import Job, JobState, Release, ReleaseState
from annotations.release.forms.releases import ReleaseExportForm, about_formats
from annotations.release.selectors.about import figures_of, open_counts, released_notes
from annotations.release.selectors.exported import ready_exports
from annotations.release.selectors.releases import release_for, releases_of
from annotations.release.services.exporting import start_release_export
from annotations.release.services.naming import named_sets
from annotations.release.services.outdating import outdated, prepare_again
from annotations.release.services.steps import steps_of
from annotations.release.services.withdrawing import withdraw

RELEASES = 30
NOTES = 25


@require_safe
def releases(request: Request, slug: str) -> HttpResponse:
    """List the project's releases, newest first, with what waits in each."""
    access = enter(request.user, slug, Can.RELEASE)
    page = paged(request, releases_of(access.project), RELEASES)
    found = list(page.object_list)
    waiting = open_counts(found)
    names = named_sets(access.project, found)
    rows = [
        {
            "release": release,
            "sets": names[release.pk],
            "open": waiting.get(release.pk, 0),
            "status": status_of(release.job, access) if _preparing(release) and release.job else None,
        }
        for release in found
    ]
    return render(request, "release/releases.html", {"access": access, "page": page, "rows": rows})


def _preparing(release: Release) -> bool:
    return release.state == ReleaseState.PREPARING


def _settling(release: Release, job: Job) -> bool:
    """Whether all notes are prepared, and the job still computes the figures and the hash."""
    goes_on = job.state in (JobState.QUEUED, JobState.RUNNING)
    return goes_on and release.state == ReleaseState.PREPARED and not release.content_hash


@require_safe
def release(request: Request, slug: str, number: int) -> HttpResponse:
    """Show a release: its state, what was done, what is left to do, and its exports. For htmx, while it is prepared."""
    access = enter(request.user, slug, Can.RELEASE)
    found = release_for(access, number)
    context = _context(request, access, found)
    return render(request, "release/release_body.html" if request.htmx else "release/release.html", context)


def _context(request: Request, access: Access, found: Release) -> dict[str, Any]:
    status = status_of(found.job, access) if found.job and (_preparing(found) or _settling(found, found.job)) else None
    open_findings = open_counts([found]).get(found.pk, 0)
    return {
        "access": access,
        "release": found,
        "sets": named_sets(access.project, [found])[found.pk],
        "status": status,
        "open": open_findings,
        "steps": steps_of(access, found, open_findings),
        "outdated": outdated(found),
        "figures": figures_of(found),
        "page": paged(request, released_notes(found), NOTES),
        "export": ReleaseExportForm(about=about_formats(), mappings=mappings_of(access.project)),
        "formats": about_formats().values(),
        "files": ready_exports(found),
        "hours": settings.STORED_FILE_HOURS,
        "token": uuid.uuid4(),
    }


@require_POST
def release_export(request: Request, slug: str, number: int) -> HttpResponse:
    """Start the export of a release. The same form starts one job."""
    access = enter(request.user, slug, Can.RELEASE)
    found = release_for(access, number)
    mappings = {str(one.pk): one for one in mappings_of(access.project)}
    form = ReleaseExportForm(request.POST, about=about_formats(), mappings=list(mappings.values()))
    if "format" in form.errors:
        messages.error(request, _("Choose one of the formats. Nothing was exported."))
        return redirect("release", slug, number)
    if "labels" in form.errors:
        messages.error(request, _("This label mapping no longer exists. Choose another one. Nothing was exported."))
        return redirect("release", slug, number)
    mapping = mappings.get(form.cleaned_data["labels"])
    try:
        job = start_release_export(
            release=found,
            format=form.cleaned_data["format"],
            actor=access.user,
            token=form_token(request),
            leave_out=form.cleaned_data["leave_out"],
            labels=labels_of_mapping(mapping) if mapping else None,
        )
    except ServiceError as error:
        messages.error(request, str(error))
        return redirect("release", slug, number)
    return redirect("job", slug, job.number)


@require_POST
def release_prepare(request: Request, slug: str, number: int) -> HttpResponse:
    """Prepare a release again whose surrogates were edited. A repeated request does nothing."""
    access = enter(request.user, slug, Can.RELEASE)
    found = release_for(access, number)
    try:
        prepare_again(release=found, actor=access.user)
    except ServiceError as error:
        messages.error(request, str(error))
    return redirect("release", slug, number)


@require_POST
def release_withdraw(request: Request, slug: str, number: int) -> HttpResponse:
    """Withdraw a release: it is not exported any more. What recipients have remains with them."""
    access = enter(request.user, slug, Can.RELEASE)
    found = release_for(access, number)
    try:
        withdraw(release=found, actor=access.user)
    except ServiceError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, _("Release %(number)s is withdrawn.") % {"number": found.number})
    return redirect("release", slug, number)

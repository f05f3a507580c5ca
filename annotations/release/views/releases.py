"""Pages of releases: the list, a release, its exports, and withdrawing it."""

import uuid
from itertools import groupby
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from annotations.core.access import Access, Can
from annotations.core.forms import error_beside
from annotations.core.requests import FORM, Request, error_as_message, in_project, number, paged
from annotations.core.services import ServiceError
from annotations.exchange.forms.exports import SetChoice, set_choices
from annotations.exchange.selectors import mappings_of
from annotations.exchange.services.label_mappings import labels_of_mapping
from annotations.jobs.api import form_token
from annotations.jobs.services.status import status_of
from annotations.models import JobState, Label, Release, ReleaseState
from annotations.notes.selectors.in_context import label_looks
from annotations.release.forms.policies import OfferedPolicy, offered_policies
from annotations.release.forms.releases import (
    REFUSED_AT,
    ReleaseExportForm,
    ReleaseForm,
    about_formats,
    kind_field,
    kinds_in_form,
    runs_among,
)
from annotations.release.selectors import releases as releases_selectors
from annotations.release.selectors.findings import MarkedFinding, beside
from annotations.release.services.exporting import start_release_export, withdraw
from annotations.release.services.policies import completed, labels_without_kind
from annotations.release.services.previewing import preview_placed
from annotations.release.services.sources import named_sets, union_of
from annotations.release.services.starting import outdated, prepare_again, start_chosen
from annotations.release.services.steps import state_of, steps_of, verdict
from annotations.release.services.surrogates.makers import MakerChoice, maker_choices

RELEASES = 30
NOTES = 25


@in_project(Can.RELEASE)
def releases(request: Request, access: Access) -> HttpResponse:
    """List the project's releases, newest first, with what waits in each."""
    page = paged(request, releases_selectors.releases_of(access.project), RELEASES)
    found = list(page.object_list)
    waiting = releases_selectors.open_counts(found)
    names = named_sets(access.project, found)
    rows = [
        {
            "release": release,
            "sets": names[release.pk],
            "open": waiting.get(release.pk, 0),
            "status": status_of(release.job, access)
            if release.state == ReleaseState.PREPARING and release.job
            else None,
        }
        for release in found
    ]
    return render(request, "release/releases.html", {"page": page, "rows": rows})


@in_project(Can.RELEASE)
def release(request: Request, access: Access, number: int) -> HttpResponse:
    """Show a release: its state, what was done, what is left to do, and its exports. For htmx, while it is prepared."""
    found = releases_selectors.release_for(access, number)
    context = _context(request, access, found)
    return render(request, "release/release_body.html" if request.htmx else "release/release.html", context)


def _context(request: Request, access: Access, found: Release) -> dict[str, Any]:
    status, job = None, found.job
    if job is not None:
        # All notes are prepared, and the job still computes the figures and the hash.
        settles = found.state == ReleaseState.PREPARED and not found.content_hash
        if found.state == ReleaseState.PREPARING or (settles and job.state in (JobState.QUEUED, JobState.RUNNING)):
            status = status_of(job, access)
    waiting = found.open_findings
    signing = state_of(access, found)
    return {
        "release": found,
        "sets": named_sets(access.project, [found])[found.pk],
        "status": status,
        "open": waiting,
        "verdict": verdict(found, signing),
        "steps": steps_of(found, signing, waiting),
        "signing": signing,
        "unfolded": request.GET.get("open", ""),
        "outdated": outdated(found),
        "figures": releases_selectors.figures_of(found),
        "page": paged(request, releases_selectors.released_notes(found), NOTES),
        "export": ReleaseExportForm(about=about_formats(), mappings=mappings_of(access.project)),
        "formats": about_formats().values(),
        "files": releases_selectors.ready_exports(found),
        "hours": settings.STORED_FILE_HOURS,
        "token": uuid.uuid4(),
    }


@in_project(Can.RELEASE, "POST")
def release_export(request: Request, access: Access, number: int) -> HttpResponse:
    """Start the export of a release. The same form starts one job."""
    found = releases_selectors.release_for(access, number)
    mappings = {str(one.pk): one for one in mappings_of(access.project)}
    form = ReleaseExportForm(request.POST, about=about_formats(), mappings=list(mappings.values()))
    if form.errors.keys() & {"format", "labels"}:
        messages.error(request, _("Choose a format and a label mapping from the list. Nothing was exported."))
        return redirect("release", access.slug, number)
    mapping = mappings.get(form.cleaned_data["labels"])
    with error_as_message(request):
        job = start_release_export(
            release=found,
            format=form.cleaned_data["format"],
            actor=access.user,
            token=form_token(request),
            leave_out=form.cleaned_data["leave_out"],
            labels=labels_of_mapping(mapping) if mapping else None,
        )
        return redirect("job", access.slug, job.number)
    return redirect("release", access.slug, number)


@in_project(Can.RELEASE, "POST")
def release_prepare(request: Request, access: Access, number: int) -> HttpResponse:
    """Prepare a release again whose surrogates were edited. A repeated request does nothing."""
    found = releases_selectors.release_for(access, number)
    with error_as_message(request):
        prepare_again(release=found, actor=access.user)
    return redirect("release", access.slug, number)


@in_project(Can.RELEASE, "POST")
def release_withdraw(request: Request, access: Access, number: int) -> HttpResponse:
    """Withdraw a release: it is not exported any more. What recipients have remains with them."""
    found = releases_selectors.release_for(access, number)
    with error_as_message(request):
        withdraw(release=found, actor=access.user)
        messages.success(request, _("Release %(number)s is withdrawn.") % {"number": found.number})
    return redirect("release", access.slug, number)


# The page on which a release is made: annotations, policy, and a preview of one note.


@in_project(Can.RELEASE, *FORM)
def release_new(request: Request, access: Access) -> HttpResponse:
    """The form of a new release; ?set= and ?policy= preselect. A POST previews a note, or with `act` start releases."""
    sets = set_choices(access.project, without=access.closed_kinds)
    offered = offered_policies(access.project)
    starts = request.method == "POST" and request.POST.get("act") == "start"
    makers = maker_choices()
    labels = labels_without_kind(access.project)
    form = _form(request, sets, offered, makers, labels, bound=starts)
    if starts and form.is_valid():
        made = _start(request, access, form, offered)
        if made is not None:
            return made
    shown = None
    if request.method == "POST" and not starts:
        shown = _previewed(access, request, sets, offered)
    if request.htmx:
        return render(request, "release/preview.html", {"shown": shown})
    context = {
        "form": form,
        "sets": sets,
        "groups": [(group, list(some)) for group, some in groupby(sets, key=lambda choice: choice.group)],
        "runs": runs_among(sets),
        "kinds": [form[kind_field(label.code)] for label in labels],
        "policies": offered,
        "makers": makers,
        "leaving": [one for one in makers if one.host],
        "chosen_maker": str(form["maker"].value() or ""),
        "chosen_sets": [str(value) for value in form["sets"].value() or []],
        "chosen_policy": str(form["policy"].value() or ""),
        "shown": shown,
    }
    return render(request, "release/new.html", context, status=422 if form.is_bound and form.errors else 200)


def _form(
    request: Request,
    sets: list[SetChoice],
    offered: list[OfferedPolicy],
    makers: list[MakerChoice],
    labels: list[Label],
    *,
    bound: bool,
) -> ReleaseForm:
    choices: dict[str, Any] = {
        "sets": sets, "policies": [policy.value for policy in offered], "makers": makers, "labels": labels
    }  # fmt: skip
    if bound:
        return ReleaseForm(request.POST, **choices)
    sent = request.POST if request.method == "POST" else request.GET
    specs = [choice.spec for choice in sets]
    wanted = [spec for spec in sent.getlist("sets") + request.GET.getlist("set") if spec in specs]
    policy = next((one.value for one in offered if sent.get("policy") in (one.value, one.row.slug)), "")
    initial = {
        "sets": wanted or ([] if request.method == "POST" else specs[:1]),
        "policy": policy or offered[0].value,
        "searched_runs": request.POST.getlist("searched_runs"),
        "keep_names": "keep_names" in request.POST,
        "token": request.POST.get("token") or uuid.uuid4(),
        **{name: request.POST.get(name, "") for name in ("maker", "purpose", "recipient", "expires_on")},
    }
    return ReleaseForm(initial=initial, **choices)


def _start(request: Request, access: Access, form: ReleaseForm, offered: list[OfferedPolicy]) -> HttpResponse | None:
    """Start the release, or put the reason why not into the form."""
    policy = next(one for one in offered if one.value == form.cleaned_data["policy"])
    chosen = form.chosen() | ({} if policy.has_surrogates else {"maker": ""})
    with error_beside(form, REFUSED_AT):
        release = start_chosen(
            project=access.project,
            policy=(policy.row.slug, policy.row.version or 1),
            actor=access.user,
            kinds=kinds_in_form(form.cleaned_data),
            token=form_token(request),
            **chosen,
        )
        messages.success(request, _("Release %(number)s was started.") % {"number": release.number})
        return redirect("release", access.slug, release.number)
    return None


def _previewed(access: Access, request: Request, sets: list[SetChoice], offered: list[OfferedPolicy]) -> dict[str, Any]:
    """Preview the note `note`, or the first one. Nothing is stored but that the note was read."""
    specs = [choice.spec for choice in sets if choice.spec in request.POST.getlist("sets")]
    policy = next((one for one in offered if one.value == request.POST.get("policy")), None)
    if not specs or policy is None:
        return {"error": _("Choose annotations and a policy to preview a note.")}
    try:
        wanted = number(request.POST, "note") or 0
        row = completed(access.project, policy.row, kinds_in_form(request.POST))
        spec = union_of(specs)
        found = preview_placed(project=access.project, set_spec=spec, policy=row, actor=access.user, wanted=wanted)
    except ServiceError as error:
        return {"error": str(error)}
    made = found.preview
    marks = [MarkedFinding(leak.start, leak.end) for leak in made.leaks]
    rows = beside(made.text, made.released.text, made.released.pieces, marks, looks=label_looks(access.project))
    return {"placed": found, "rows": rows, "leaks": len(marks)}

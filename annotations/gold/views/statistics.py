"""The page of corpus statistics of a gold version."""

import uuid

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotations.core.access import Can, enter
from annotations.core.errors import ServiceError
from annotations.core.requests import Request, number
from annotations.core.templatetags.clusters import Cluster
from annotations.gold.selectors import versions
from annotations.gold.services.starting import start_statistics
from annotations.gold.services.statistics import Parts, kept_statistics, statistics_of, takes_long
from annotations.gold.services.statistics_rows import Table, table_of
from annotations.jobs.tokens import form_token
from annotations.models import GoldVersion, Project


@require_safe
def gold_statistics(request: Request, slug: str) -> HttpResponse:
    """Show the statistics of the version ?version=, by default the newest. A worker counts large versions."""
    access = enter(request.user, slug, Can.READ_NOTES)
    frozen = versions(access.project)
    wanted = number(request.GET, "version")
    chosen = next((one for one in frozen if wanted in (None, one.number)), None)
    if "version" in request.GET and None in (chosen, wanted):
        raise Http404("This version does not exist.")
    context: dict[str, object] = {"access": access, "versions": frozen, "version": chosen, "token": uuid.uuid4()}
    if chosen is not None:
        context |= _figures(access.project, chosen)
    return render(request, "gold/statistics.html", context)


def _figures(project: Project, version: GoldVersion) -> dict[str, object]:
    parts: Parts | None = kept_statistics(version)
    if parts is None and takes_long(version):
        return {"late": True}
    try:
        table = table_of(project, statistics_of(version) if parts is None else parts)
    except ServiceError as error:
        return {"error": str(error)}
    return {"table": table, "clusters": _clusters(table), "series": [_name(one.name) for one in table.columns[:-1]]}


def _clusters(table: Table) -> list[Cluster]:
    """The labels that the version has, with a bar for each split; without a split, with one bar."""
    last = len(table.columns) - 1 or 1
    return [Cluster(row.name, [cell.spans for cell in row.cells[:last]]) for row in table.labels if row.total]


def _name(split: str) -> str:
    return {"train": _("Train"), "dev": _("Dev"), "test": _("Test")}.get(split, split)


@require_POST
def statistics_start(request: Request, slug: str) -> HttpResponse:
    """Start the job that counts the version `version`, a number."""
    access = enter(request.user, slug, Can.READ_NOTES)
    wanted = number(request.POST, "version")
    version = get_object_or_404(GoldVersion, project=access.project, number=-1 if wanted is None else wanted)
    job = start_statistics(version=version, actor=access.user, token=form_token(request))
    return redirect("job", slug, job.number)

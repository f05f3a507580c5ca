"""Pages of the gold standard: making gold, frozen versions, their splits, and changes between versions."""

import uuid
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _

from annotations.core.access import Access, Can, closed_to, sets_for
from annotations.core.forms import error_beside
from annotations.core.requests import Request, error_as_message, in_project, number, paged
from annotations.core.services import ServiceError
from annotations.core.templatetags.clusters import Cluster
from annotations.gold import selectors
from annotations.gold.forms import REFUSED_AT, FreezeForm, ReadyMadeForm, SplitForm
from annotations.gold.jobs import start_gold, start_statistics
from annotations.gold.rules import ChangeKind
from annotations.gold.selectors.state import state_for
from annotations.gold.services import splitting
from annotations.gold.services.making import freeze, make_gold, withdraw_gold
from annotations.gold.services.statistics import (
    WHOLE,
    Parts,
    kept_statistics,
    statistics_of,
    table_of,
    takes_long,
    version_diff,
)
from annotations.jobs.api import form_token
from annotations.models import GoldVersion
from annotations.notes.selectors.in_context import label_looks, note_names, with_context
from annotations.notes.views.notes import after_gold, note_url
from annotations.projects.selectors.projects import is_large

VERSIONS = 30
CHANGES = 25
LISTED = 200
# The statistics plot so many labels. A score on fewer spans of a label, or on fewer test notes, says little.
MOST_BARS, FEW_SPANS, FEW_TEST = 10, 10, 20
READY_IDS = "ready-%s"


@in_project(Can.READ_NOTES)
def gold(request: Request, access: Access) -> HttpResponse:
    """Show the gold standard. The counts of a large project are loaded after the page, as a fragment."""
    rows = selectors.version_rows(access.project)
    last = rows.first()
    late = not request.htmx and is_large(access.project)
    context = {
        "page": paged(request, rows, VERSIONS),
        "last": last,
        "late": late,
        "state": None if late else state_for(access, last),
        "form": FreezeForm(),
        "token": uuid.uuid4(),
    }
    return render(request, "gold/counts.html" if request.htmx else "gold/gold.html", context)


@in_project(Can.MAKE_GOLD, "POST")
def gold_freeze(request: Request, access: Access) -> HttpResponse:
    """Freeze the gold standard in its current state. A repeated request makes no second version."""
    form = FreezeForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("The reason can have at most 300 characters. Nothing was frozen."))
        return redirect("gold", access.slug)
    with error_as_message(request):
        version, made = freeze(project=access.project, actor=access.user, reason=form.cleaned_data["reason"])
        if made:
            messages.success(request, _("Version %(number)s is frozen.") % {"number": version.number})
        else:
            message = _("Nothing has changed since version %(number)s, so no new version was frozen.")
            messages.info(request, message % {"number": version.number})
        return redirect("gold_version", access.slug, version.number)
    return redirect("gold", access.slug)


@in_project(Can.READ_NOTES)
def gold_version(request: Request, access: Access, version: int) -> HttpResponse:
    """Show one frozen version and its notes."""
    found = selectors.version_for(access.project, version)
    context = _version_context(request, access, found)
    if request.htmx:
        return render(request, "gold/version_notes.html", context)
    return render(request, "gold/version.html", context | _split_context(access, found))


def _version_context(request: Request, access: Access, version: GoldVersion) -> dict[str, Any]:
    page = selectors.version_page(version, after=number(request.GET, "after"), before=number(request.GET, "before"))
    return {"version": version, "page": page, "one_person": selectors.is_by_one_person(version)}


def _split_context(access: Access, version: GoldVersion) -> dict[str, Any]:
    """Return a version's split and the form for a new split."""
    table = splitting.split_table(version) if version.split_seed else []
    looks = label_looks(access.project)
    used = [look for code, look in looks.items() if any(code in row["labels"] for row in table)]
    others = selectors.versions(access.project)
    last = next((one for one in others if one.split_seed), None)
    model = version if version.split_seed else last
    initial = {"seed": model.split_seed, **(model.split_shares or {})} if model else None
    return {
        "split": table,
        "bars": [Cluster(row["split"], [row["notes"]]) for row in table],
        "few_test": next((n for row in table if row["split"] == "test" and 0 < (n := row["notes"]) < FEW_TEST), 0),
        "split_labels": [(look, [row["labels"].get(look.code, 0) for row in table]) for look in used],
        "in_two_splits": splitting.patients_in_two_splits(version) if version.split_seed else 0,
        "split_form": SplitForm(initial=initial),
        "ready_form": ReadyMadeForm(auto_id=READY_IDS),
        "has_earlier": any(one.number < version.number for one in others),
    }


@in_project(Can.MAKE_GOLD, "POST")
def gold_split(request: Request, access: Access, version: int) -> HttpResponse:
    """Split a version by patient, or with `lines` as these say. A repeated request changes nothing.

    After an error, the form keeps its values.
    """
    found = selectors.version_for(access.project, version)
    listed = "lines" in request.POST
    form = ReadyMadeForm(request.POST, auto_id=READY_IDS) if listed else SplitForm(request.POST)
    split = None
    if form.is_valid():
        with error_beside(form, REFUSED_AT):
            split = _split(form, found, access)
    if split is None:
        forms = {"ready_form" if listed else "split_form": form}
        context = _version_context(request, access, found) | _split_context(access, found) | forms
        return render(request, "gold/version.html", context, status=422)
    if not split.made:
        messages.info(request, _("The version was already split this way. Nothing was changed."))
    elif split.kept:
        message = _("The version was split. Patients who kept their earlier split: %(n)s.")
        messages.success(request, message % {"n": split.kept})
    else:
        messages.success(request, _("The version was split. No patient is in two splits."))
    return redirect("gold_version", access.slug, version)


def _split(form: ReadyMadeForm | SplitForm, version: GoldVersion, access: Access) -> splitting.SplitResult:
    seed = form.cleaned_data["seed"]
    if isinstance(form, SplitForm):
        return splitting.split_version(version=version, seed=seed, shares=form.shares, actor=access.user)
    return splitting.split_by_lines(version=version, lines=form.cleaned_data["lines"], seed=seed, actor=access.user)


@in_project(Can.READ_NOTES)
def gold_changes(request: Request, access: Access, version: int) -> HttpResponse:
    """Show the changes since another version (?since=, by default the previous one), optionally of one ?kind=."""
    frozen = selectors.versions(access.project)
    found = next((one for one in frozen if one.number == version), None)
    others = [one for one in frozen if one.number != version]
    wanted = number(request.GET, "since")
    since = next((one for one in others if one.number == (version - 1 if wanted is None else wanted)), None)
    if found is None or (wanted is not None and since is None):
        raise Http404("This version does not exist.")
    context: dict[str, Any] = {"version": found, "since": since, "others": others}
    if since is not None:
        context |= _changes(request, access, since, found)
    return render(request, "gold/changes.html", context)


def _changes(request: Request, access: Access, since: GoldVersion, version: GoldVersion) -> dict[str, Any]:
    found = version_diff(since, version)
    asked = request.GET.get("kind", "")
    kind = asked if asked in list(ChangeKind) else ""
    rows = [row for row in found.changes if kind in ("", row[1])]
    page = paged(request, rows, CHANGES)
    shown = [entry for _row, entry in with_context(access, list(page.object_list), list, "gold changes")]
    names = note_names([note for note, _spans in [*found.added[:LISTED], *found.removed[:LISTED]]])
    return {
        "diff": found,
        "kinds": [(str(one), _(one.words), found.spans[one]) for one in ChangeKind],
        "kind_names": {str(one): _(one.words) for one in ChangeKind},
        "kind": kind,
        "page": page,
        "entries": shown,
        "sets": {},
        "all_changes": sum(found.spans.values()),
        "kept_changes": len(found.changes),
        "added": _named(found.added, names),
        "removed": _named(found.removed, names),
    }


def _named(notes: list[list[int]], names: dict[int, str]) -> list[tuple[int, str, int]]:
    return [(note, names[note], spans) for note, spans in notes[:LISTED] if note in names]


@in_project(Can.MAKE_GOLD, "POST")
def job_start_gold(request: Request, access: Access) -> HttpResponse:
    """Start the job that makes gold of the annotation sets of `author`, an id."""
    author = number(request.POST, "author") or 0
    if closed_to(access, authors=[author]):
        raise PermissionDenied("This person may not use these annotation sets.")
    with error_as_message(request):
        job = start_gold(project=access.project, author_id=author, actor=access.user, token=form_token(request))
        return redirect("job", access.slug, job.number)
    return redirect("gold", access.slug)


@in_project(Can.MAKE_GOLD, "POST")
def note_gold(request: Request, access: Access, pk: int) -> HttpResponse:
    """Make an annotation set gold, unless the set, or the gold to replace, changed after the page was opened."""
    document = selectors.note_for_gold(access, pk)
    sets = sets_for(access).filter(document_id=document.pk).select_related("author")
    annotation_set = get_object_or_404(sets, pk=number(request.POST, "set"))
    replace = request.POST.get("replace") == "1"
    if number(request.POST, "version") != annotation_set.version:
        message = _("These annotations changed after you opened the page. Nothing was done. Check them again.")
        messages.warning(request, message)
    elif replace and number(request.POST, "gold_version") != getattr(selectors.gold_of(document), "version", None):
        messages.warning(request, _("The gold changed after you opened the page. Nothing was done. Check both again."))
    else:
        try:
            gold = make_gold(document=document, annotation_set=annotation_set, actor=access.user, replace=replace)
        except ServiceError as error:
            messages.error(request, _("Nothing was changed. %(error)s") % {"error": str(error)})
        else:
            success = _("The annotations of %(author)s are now gold.") % {"author": annotation_set.author.name}
            messages.success(request, success)
            return redirect(after_gold(request, access, pk, gold.pk))
    return redirect(note_url(access.slug, pk, set=annotation_set.pk, state=request.POST.get("state")))


@in_project(Can.MAKE_GOLD, "POST")
def note_gold_withdraw(request: Request, access: Access, pk: int) -> HttpResponse:
    """Remove the gold of a note, unless the gold changed after the page was opened."""
    document = selectors.note_for_gold(access, pk)
    state = request.POST.get("state")
    if (present := selectors.gold_of(document)) is not None and number(request.POST, "gold_version") != present.version:
        messages.warning(request, _("The gold changed after you opened the page. Nothing was done. Check it again."))
        return redirect(note_url(access.slug, pk, state=state))
    try:
        withdraw_gold(document=document, actor=access.user)
    except ServiceError as error:
        messages.info(request, _("Nothing was changed. %(error)s") % {"error": error})
    else:
        messages.success(request, _("The gold of this note was removed. Frozen versions keep their copy."))
    return redirect(note_url(access.slug, pk, state=state))


# The page of corpus statistics of a gold version.


@in_project(Can.READ_NOTES)
def gold_statistics(request: Request, access: Access) -> HttpResponse:
    """Show the statistics of the version ?version=, by default the newest. A worker counts large versions."""
    frozen = selectors.versions(access.project)
    wanted = number(request.GET, "version")
    chosen = next((one for one in frozen if wanted in (None, one.number)), None)
    if "version" in request.GET and None in (chosen, wanted):
        raise Http404("This version does not exist.")
    context: dict[str, object] = {"versions": frozen, "version": chosen, "token": uuid.uuid4()}
    if chosen is not None:
        context |= _figures(chosen)
    return render(request, "gold/statistics.html", context)


def _figures(version: GoldVersion) -> dict[str, object]:
    parts: Parts | None = kept_statistics(version)
    if parts is None and takes_long(version):
        return {"late": True}
    try:
        table = table_of(version, statistics_of(version) if parts is None else parts)
    except ServiceError as error:
        return {"error": str(error)}
    columns = table["splits"]
    shown = [split for split in columns if split != WHOLE] or [WHOLE]
    tags = [(tag, [part["tags_per_note"][tag] for part in columns.values()]) for tag in "OBI"]
    counted = [(row["splits"][WHOLE]["spans"], row) for row in table["labels"] if row["splits"][WHOLE]["spans"]]
    counted.sort(key=lambda each: -each[0])
    # The labels with most spans, with a bar for each split; without a split, with one bar.
    clusters = [
        Cluster(row["label"], [row["splits"][split]["spans"] for split in shown]) for _n, row in counted[:MOST_BARS]
    ]
    return {
        "table": table,
        "whole": columns[WHOLE],
        "tags": tags,
        "clusters": clusters,
        "more": max(0, len(counted) - MOST_BARS),
        "labels": len(counted),
        "rare": sum(n < FEW_SPANS for n, _row in counted),
        "few": FEW_SPANS,
        "series": list(map(_name, columns))[:-1],
    }


def _name(split: str) -> str:
    return {"train": _("Train"), "dev": _("Dev"), "test": _("Test")}.get(split, split)


@in_project(Can.READ_NOTES, "POST")
def statistics_start(request: Request, access: Access) -> HttpResponse:
    """Start the job that counts the version `version`, a number."""
    version = selectors.version_for(access.project, number(request.POST, "version"))
    job = start_statistics(version=version, actor=access.user, token=form_token(request))
    return redirect("job", access.slug, job.number)

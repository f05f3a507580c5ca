"""Pages of label mappings: list and add, view and change, delete."""

from functools import partial
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from annotations.core.access import Can, enter, require
from annotations.core.errors import ServiceError
from annotations.core.forms import add_error, attempted
from annotations.core.requests import Request
from annotations.exchange import selectors
from annotations.exchange.events import LABEL_MAPPING_DELETED
from annotations.exchange.forms.exports import MappingForm, NewMappingForm
from annotations.exchange.services.label_mappings import add_mapping, change_mapping, delete_mapping
from annotations.models import LabelMapping
from annotations.projects.services.projects import shipped_label_sets


@require_http_methods(["GET", "HEAD", "POST"])
def label_mappings(request: Request, slug: str) -> HttpResponse:
    """The label mappings of a project. A POST adds one."""
    access = enter(request.user, slug, Can.EXPORT)
    sets = shipped_label_sets()
    form = NewMappingForm(request.POST if request.method == "POST" else None, sets=sets)
    if request.method == "POST":
        require(access, Can.MANAGE)
        act = partial(add_mapping, project=access.project, actor=access.user)
        if mapping := attempted(form, lambda: act(**form.cleaned_data)):
            return redirect("label_mapping", slug, mapping.pk)
    missing = selectors.open_counts(access.project)
    lines = [
        {"mapping": one, "target": _target_name(one), "open": missing[one.pk]}
        for one in selectors.mappings_of(access.project)
    ]
    context = {"access": access, "form": form, "lines": lines}
    return render(request, "exchange/label_mappings.html", context, status=422 if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
def label_mapping(request: Request, slug: str, pk: int) -> HttpResponse:
    """A label mapping. A POST changes it; after another person's change nothing is saved, and the page shows both."""
    access = enter(request.user, slug, Can.EXPORT)
    mapping = selectors.mapping_of(access, pk)
    lines = selectors.mapping_rows(mapping)
    target = selectors.target_of(mapping.target)
    seen = selectors.seen_of(mapping)
    form = MappingForm(
        request.POST if request.method == "POST" else None, lines=lines, target=target, initial={"name": mapping.name}
    )
    context: dict[str, Any] = {"access": access, "mapping": mapping}
    if request.method == "POST":
        require(access, Can.MANAGE)
        seen = str(form["seen"].value() or "")
        if form.is_valid():
            try:
                name, codes = form.cleaned_data["name"], form.codes()
                saved = change_mapping(mapping=mapping, name=name, codes=codes, seen=seen or None, actor=access.user)
                messages.success(request, _saved(saved))
                return redirect("label_mapping", slug, pk)
            except ServiceError as error:
                add_error(form, error)
                if error.code == "stale":
                    mapping.refresh_from_db()
                    seen = selectors.seen_of(mapping)
                    context |= {"theirs": selectors.mapping_rows(mapping), "their_name": mapping.name}
    context |= {
        "form": form,
        "lines": lines,
        "seen": seen,
        "target": _target_name(mapping),
        "open": [line for line in lines if line.code is None],
        "suggested": any(line.code is None and line.suggestion for line in lines),
    }
    return render(request, "exchange/label_mapping.html", context, status=422 if form.errors else 200)


@require_POST
def label_mapping_delete(request: Request, slug: str, pk: int) -> HttpResponse:
    access = enter(request.user, slug, Can.MANAGE)
    if LABEL_MAPPING_DELETED.happened(access.project.pk, data__mapping=pk):
        return redirect("label_mappings", slug)
    mapping = selectors.mapping_of(access, pk)
    delete_mapping(mapping=mapping, actor=access.user)
    messages.success(request, _("The label mapping “%(name)s” was deleted.") % {"name": mapping.name})
    return redirect("label_mappings", slug)


def _target_name(mapping: LabelMapping) -> str:
    target = selectors.target_of(mapping.target)
    return target.name if target else ""


def _saved(mapping: LabelMapping) -> str:
    if missing := selectors.open_labels(mapping):
        return _("Saved. Labels without a choice: %(labels)s. Exports refuse this mapping until all have one.") % {
            "labels": ", ".join(f"“{label.name}”" for label in missing)
        }
    return _("Saved. Exports can use this mapping.")

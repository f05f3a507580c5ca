"""Pages of the label set: list, add, edit and merge labels."""

from functools import partial
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotations.core.access import Access, Can
from annotations.core.forms import add_error, attempted, error_beside
from annotations.core.labels import COLORS, UNDERLINES
from annotations.core.requests import FORM, Request, error_as_message, in_project, number, posted
from annotations.core.services import ServiceError
from annotations.core.spans import definitions
from annotations.models import Label, LabelSet
from annotations.projects.events import CATEGORY_DELETED, LABEL_DELETED
from annotations.projects.forms import labels as label_forms
from annotations.projects.selectors import labels as label_selectors
from annotations.projects.services import categories
from annotations.projects.services import labels as label_services
from annotations.text.attributes import as_lines
from annotations.text.names import whole_number


@in_project(Can.MANAGE, *FORM)
def labels(request: Request, access: Access) -> HttpResponse:
    """All labels by category. A POST adds a label."""
    label_set = get_object_or_404(LabelSet, project=access.project)
    form = label_forms.AddLabelForm(
        posted(request), label_set=label_set, initial={"category": number(request.GET, "category")}
    )
    if request.method == "POST":
        if _sent_twice(label_set, request.POST):
            return redirect("labels", access.slug)
        add = partial(label_services.add_label, label_set=label_set, actor=access.user)
        if attempted(form, lambda: add(**form.cleaned_data)):
            return redirect("labels", access.slug)
    context = {
        "label_set": label_set,
        "groups": label_selectors.used_labels(access.project),
        "merged": label_selectors.merged_labels(access.project),
        "form": form,
    }
    return render(request, "projects/labels.html", context, status=422 if form.errors else 200)


_ADDED = ("name", "hotkey", "description", "category", "identifier")


def _sent_twice(label_set: LabelSet, data: QueryDict) -> bool:
    """Whether exactly this label exists already, so that a double click on "Add" is not an error."""
    wanted = {field: data.get(field, "").strip() for field in _ADDED}
    there = Label.objects.filter(
        label_set=label_set, merged_into__isnull=True, name=wanted["name"], hotkey=wanted["hotkey"].lower(),
        category=whole_number(wanted["category"]), identifier=wanted["identifier"],
        description=wanted["description"].replace("\r\n", "\n"),
    )  # fmt: skip
    return there.exists()


@in_project(Can.MANAGE, *FORM)
def label_edit(request: Request, access: Access, pk: int) -> HttpResponse:
    """Edit name, category, key, placeholder and description of a label.

    If somebody else changed them meanwhile, nothing is saved and the page shows both.
    """
    label = label_selectors.label_at(access.project, pk)
    if label.merged_into_id:
        return redirect("label_edit", access.slug, label.merged_into_id)
    form = label_forms.EditLabelForm(posted(request), label_set=label.label_set, initial=label_services.current(label))
    context: dict[str, Any] = {"label": label, "form": form, "seen": label_selectors.seen_of(label)}
    context["own"] = not label_selectors.is_shipped(label)
    if request.method == "POST":
        context["seen"] = form["seen"].value() or ""
    if request.method == "POST" and form.is_valid():
        seen = form.cleaned_data.pop("seen") or None
        try:
            label_services.update_label(label=label, actor=access.user, seen=seen, **form.cleaned_data)
            messages.success(request, _("The label %(name)s was saved.") % {"name": label.name})
            return redirect("labels", access.slug)
        except ServiceError as error:
            add_error(form, error)
            if error.code == "stale":
                theirs = label_selectors.label_at(access.project, pk)
                context |= {"theirs": theirs, "seen": label_selectors.seen_of(theirs)}
                context["their_attributes"] = as_lines(definitions(theirs))
    return render(request, "projects/label_edit.html", context, status=422 if form.errors else 200)


@in_project(Can.MANAGE, "POST")
def label_move(request: Request, access: Access, pk: int) -> HttpResponse:
    """Move a label to a position in its category, counted from 0."""
    label = label_selectors.label_at(access.project, pk)
    form = label_forms.MoveForm(request.POST)
    with error_as_message(request):
        if not form.is_valid():
            raise ServiceError(_("The position is missing. The label was not moved."), code="position")
        categories.move_label(label=label, position=form.cleaned_data["position"], actor=access.user)
    return redirect(f"{access.url('labels')}#label-{pk}")


@in_project(Can.MANAGE, *FORM)
def label_delete(request: Request, access: Access, pk: int) -> HttpResponse:
    """Say where a label is used; delete it by POST if nothing uses it."""
    if request.method == "POST" and LABEL_DELETED.happened(access.project.pk, data__id=pk):
        return redirect("labels", access.slug)
    label = label_selectors.label_at(access.project, pk)
    context: dict[str, Any] = {"label": label}
    if request.method == "POST":
        try:
            label_services.delete_label(label=label, actor=access.user)
            messages.success(request, _("The label %(name)s was deleted.") % {"name": label.name})
            return redirect("labels", access.slug)
        except ServiceError as error:
            context["refused"] = str(error)
    context["uses"] = label_selectors.label_uses(label)
    return render(request, "projects/label_delete.html", context, status=409 if "refused" in context else 200)


@in_project(Can.MANAGE, *FORM)
def label_merge(request: Request, access: Access, pk: int) -> HttpResponse:
    """Choose the target (`into`) and preview the merge by GET; merge by POST."""
    source = label_selectors.label_at(access.project, pk)
    data = request.POST if request.method == "POST" else request.GET
    if source.merged_into and str(source.merged_into_id) == data.get("into"):
        # The label is already merged, as after a double click or going back in the browser.
        return redirect("labels", access.slug)
    form = label_forms.MergeForm(data if "into" in data or request.method == "POST" else None, source=source)
    context: dict[str, Any] = {"label": source, "form": form}
    if form.is_valid():
        target = form.cleaned_data["into"]
        with error_beside(form):
            if request.method == "POST":
                done = label_services.merge_labels(source=source, target=target, actor=access.user)
                messages.success(request, _merged(source, target, done["spans"]))
                return redirect("labels", access.slug)
            context |= {"target": target, "preview": label_services.merge_preview(source=source, target=target)}
            context["frozen"] = label_selectors.frozen_versions(access.project)
    return render(request, "projects/label_merge.html", context, status=422 if form.errors else 200)


def _merged(source: Label, target: Label, spans: int) -> str:
    message = ngettext(
        "%(source)s was merged into %(target)s: %(count)d span changed.",
        "%(source)s was merged into %(target)s: %(count)d spans changed.",
        spans,
    )
    return message % {"source": source.name, "target": target.name, "count": spans}


# Pages of the categories of labels: add, edit, move and delete.


@in_project(Can.MANAGE, *FORM)
def category_add(request: Request, access: Access) -> HttpResponse:
    label_set = get_object_or_404(LabelSet, project=access.project)
    others = list(label_set.categories.all())
    form = label_forms.CategoryForm(posted(request), others=others, initial={"hue": label_forms.rarest_hue(others)})
    if request.method == "POST" and form.is_valid():
        name, hue = form.cleaned_data["name"], form.cleaned_data["hue"]
        same = next((one for one in others if (one.name, one.hue) == (name, hue)), None)
        with error_beside(form):
            # The category is already there after a double click.
            category = same or categories.add_category(label_set=label_set, name=name, hue=hue, actor=access.user)
            messages.success(request, _("The category %(name)s was added.") % {"name": category.name})
            return redirect(f"{access.url('labels')}?category={category.pk}#add")
    context = {"form": form, "underline": len(others) % UNDERLINES}
    return render(request, "projects/category_edit.html", context, status=422 if form.errors else 200)


@in_project(Can.MANAGE, *FORM)
def category_edit(request: Request, access: Access, pk: int) -> HttpResponse:
    """Edit name and color. If somebody else changed them meanwhile, nothing is saved and the page shows both."""
    category = label_selectors.category_at(access.project, pk)
    seen = label_selectors.seen_of(category)
    form = label_forms.CategoryForm(
        posted(request),
        others=list(category.label_set.categories.exclude(pk=pk)),
        initial={"name": category.name, "hue": category.hue},
    )
    context: dict[str, Any] = {"form": form, "underline": category.position % UNDERLINES}
    if request.method == "POST":
        seen = str(form["seen"].value() or "")
        if form.is_valid():
            try:
                saved = categories.update_category(
                    category=category, **form.cleaned_data | {"seen": seen or None}, actor=access.user
                )
                messages.success(request, _("The category %(name)s was saved.") % {"name": saved.name})
                return redirect("labels", access.slug)
            except ServiceError as error:
                add_error(form, error)
                if error.code == "stale":
                    category.refresh_from_db()
                    seen = label_selectors.seen_of(category)
                    context |= {"theirs": category, "their_color": COLORS[category.hue]}
    context |= {"category": category, "seen": seen}
    return render(request, "projects/category_edit.html", context, status=422 if form.errors else 200)


@in_project(Can.MANAGE, "POST")
def category_move(request: Request, access: Access, pk: int) -> HttpResponse:
    """Move a category to a position in the list, counted from 0."""
    category = label_selectors.category_at(access.project, pk)
    form = label_forms.MoveForm(request.POST)
    if form.is_valid():
        categories.move_category(category=category, position=form.cleaned_data["position"], actor=access.user)
    else:
        messages.error(request, _("The position is missing. The category was not moved."))
    return redirect(f"{access.url('labels')}#category-{pk}")


@in_project(Can.MANAGE, *FORM)
def category_delete(request: Request, access: Access, pk: int) -> HttpResponse:
    """Name the labels of a category; delete it by POST if it has none."""
    if request.method == "POST" and CATEGORY_DELETED.happened(access.project.pk, data__id=pk):
        return redirect("labels", access.slug)
    category = label_selectors.category_at(access.project, pk)
    context: dict[str, Any] = {"category": category}
    if request.method == "POST":
        try:
            categories.delete_category(category=category, actor=access.user)
            messages.success(request, _("The category %(name)s was deleted.") % {"name": category.name})
            return redirect("labels", access.slug)
        except ServiceError as error:
            context["refused"] = str(error)
    context["labels"] = Label.objects.filter(category=category, merged_into__isnull=True)
    return render(request, "projects/category_delete.html", context, status=409 if "refused" in context else 200)

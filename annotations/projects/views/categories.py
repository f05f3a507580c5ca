"""Pages of the categories of labels: add, edit, move and delete."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from annotations.core.access import Access, Can, enter
from annotations.core.errors import ServiceError
from annotations.core.forms import add_error
from annotations.core.labels import COLORS, UNDERLINES
from annotations.core.requests import Request
from annotations.models import Category, Label, LabelSet
from annotations.projects.events import CATEGORY_DELETED
from annotations.projects.forms.categories import CategoryForm, MoveForm, rarest_hue
from annotations.projects.selectors.label_use import seen_of
from annotations.projects.services.categories import (
    add_category,
    delete_category,
    move_category,
    update_category,
)


@require_http_methods(["GET", "HEAD", "POST"])
def category_add(request: Request, slug: str) -> HttpResponse:
    access = enter(request.user, slug, Can.MANAGE)
    label_set = get_object_or_404(LabelSet, project=access.project)
    others = list(label_set.categories.all())
    form = CategoryForm(
        request.POST if request.method == "POST" else None, others=others, initial={"hue": rarest_hue(others)}
    )
    if request.method == "POST" and form.is_valid():
        name, hue = form.cleaned_data["name"], form.cleaned_data["hue"]
        same = next((one for one in others if (one.name, one.hue) == (name, hue)), None)
        try:
            # The category is already there after a double click.
            category = same or add_category(label_set=label_set, name=name, hue=hue, actor=access.user)
            messages.success(request, _("The category %(name)s was added.") % {"name": category.name})
            return redirect(f"{reverse('labels', args=[slug])}?category={category.pk}#add")
        except ServiceError as error:
            add_error(form, error)
    context = {"access": access, "form": form, "underline": len(others) % UNDERLINES}
    return render(request, "projects/category_edit.html", context, status=422 if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
def category_edit(request: Request, slug: str, pk: int) -> HttpResponse:
    """Edit name and color. If somebody else changed them meanwhile, nothing is saved and the page shows both."""
    access = enter(request.user, slug, Can.MANAGE)
    category = _category(access, pk)
    seen = seen_of(category)
    form = CategoryForm(
        request.POST if request.method == "POST" else None,
        others=list(category.label_set.categories.exclude(pk=pk)),
        initial={"name": category.name, "hue": category.hue},
    )
    context: dict[str, Any] = {"access": access, "form": form, "underline": category.position % UNDERLINES}
    if request.method == "POST":
        seen = str(form["seen"].value() or "")
        if form.is_valid():
            try:
                saved = update_category(
                    category=category,
                    name=form.cleaned_data["name"],
                    hue=form.cleaned_data["hue"],
                    seen=seen or None,
                    actor=access.user,
                )
                messages.success(request, _("The category %(name)s was saved.") % {"name": saved.name})
                return redirect("labels", slug)
            except ServiceError as error:
                add_error(form, error)
                if error.code == "stale":
                    category.refresh_from_db()
                    seen = seen_of(category)
                    context |= {"theirs": category, "their_color": COLORS[category.hue]}
    context |= {"category": category, "seen": seen}
    return render(request, "projects/category_edit.html", context, status=422 if form.errors else 200)


@require_POST
def category_move(request: Request, slug: str, pk: int) -> HttpResponse:
    """Move a category to a position in the list, counted from 0."""
    access = enter(request.user, slug, Can.MANAGE)
    category = _category(access, pk)
    form = MoveForm(request.POST)
    if form.is_valid():
        move_category(category=category, position=form.cleaned_data["position"], actor=access.user)
    else:
        messages.error(request, _("The position is missing. The category was not moved."))
    return redirect(f"{reverse('labels', args=[slug])}#category-{pk}")


@require_http_methods(["GET", "HEAD", "POST"])
def category_delete(request: Request, slug: str, pk: int) -> HttpResponse:
    """Name the labels of a category; delete it by POST if it has none."""
    access = enter(request.user, slug, Can.MANAGE)
    if request.method == "POST" and CATEGORY_DELETED.happened(access.project.pk, data__id=pk):
        return redirect("labels", slug)
    category = _category(access, pk)
    context: dict[str, Any] = {"access": access, "category": category}
    if request.method == "POST":
        try:
            delete_category(category=category, actor=access.user)
            messages.success(request, _("The category %(name)s was deleted.") % {"name": category.name})
            return redirect("labels", slug)
        except ServiceError as error:
            context["refused"] = str(error)
    context["labels"] = Label.objects.filter(category=category, merged_into__isnull=True)
    return render(request, "projects/category_delete.html", context, status=409 if "refused" in context else 200)


def _category(access: Access, pk: int) -> Category:
    rows = Category.objects.select_related("label_set")
    return get_object_or_404(rows, label_set__project=access.project, pk=pk)

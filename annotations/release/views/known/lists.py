"""The allow and deny lists: add and remove terms, import and export both lists."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from annotations.core.access import Access, Can, enter
from annotations.core.errors import ServiceError
from annotations.core.forms import add_error
from annotations.core.requests import Request, takes_uploads
from annotations.projects.selectors.labels import labels_of
from annotations.release.forms.known import ListsFileForm, TermForm, TermsForm
from annotations.release.services.known.lists import add_terms, export_lists, import_lists, remove_term
from annotations.release.views.known.master import context_of


@takes_uploads(Can.MANAGE)
@require_POST
def known_lists(request: Request, slug: str) -> HttpResponse:
    """Change the lists. POST `do`: add, remove or file."""
    access = enter(request.user, slug, Can.MANAGE)
    match request.POST.get("do"):
        case "add":
            return _add(request, access)
        case "remove":
            return _remove(request, access)
        case "file":
            return _import(request, access)
    messages.error(request, _("Unknown action. Nothing was changed. Reload the page."))
    return redirect("known", slug)


def _add(request: Request, access: Access) -> HttpResponse:
    form = TermsForm(request.POST, labels=labels_of(access.project), auto_id="terms_%s")
    if form.is_valid():
        chosen = form.cleaned_data
        try:
            done = add_terms(
                project=access.project,
                kind=chosen["which"],
                terms=chosen["terms"],
                label=chosen["label"],
                actor=access.user,
            )
            _say(request, done["added"], done["already"])
            return redirect("known", access.project.slug)
        except ServiceError as error:
            add_error(form, error)
    return render(request, "release/known/known.html", context_of(request, access, terms=form), status=422)


def _remove(request: Request, access: Access) -> HttpResponse:
    form = TermForm(request.POST)
    if form.is_valid() and remove_term(project=access.project, term_id=form.cleaned_data["term"], actor=access.user):
        messages.success(request, _("Term removed."))
    else:
        messages.info(request, _("This term was removed already."))
    return redirect("known", access.project.slug)


def _import(request: Request, access: Access) -> HttpResponse:
    form = ListsFileForm(request.POST, request.FILES, auto_id="lists_%s")
    if form.is_valid():
        try:
            done = import_lists(project=access.project, content=form.cleaned_data["file"], actor=access.user)
            _say(request, sum(each["added"] for each in done.values()), sum(each["already"] for each in done.values()))
            return redirect("known", access.project.slug)
        except ServiceError as error:
            form.add_error("file", str(error))
    return render(request, "release/known/known.html", context_of(request, access, lists_file=form), status=422)


def _say(request: Request, added: int, already: int) -> None:
    text = ngettext("%(count)d term was added.", "%(count)d terms were added.", added) % {"count": added}
    if already:
        text += " " + ngettext("%(count)d was on the list already.", "%(count)d were on the list already.", already) % {
            "count": already
        }
    messages.success(request, text)


@require_safe
def known_lists_csv(request: Request, slug: str) -> HttpResponse:
    """Both lists as CSV. The export is recorded."""
    access = enter(request.user, slug, Can.MANAGE)
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{access.project.slug}-lists.csv"'
    response["Cache-Control"] = "no-store"
    response.write("\ufeff")  # spreadsheet programs recognize UTF-8 only with a byte order mark
    response.writelines(export_lists(project=access.project, actor=access.user))
    return response

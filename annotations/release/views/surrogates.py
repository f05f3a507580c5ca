"""Pages of the index of surrogates: the list of entities, one entity with its mentions, and all edits."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.debug import sensitive_post_parameters

from annotations.core.access import Access, Can
from annotations.core.requests import FORM, Request, error_as_message, in_project, numbers, one_of, paged
from annotations.core.services import ServiceError
from annotations.models import SurrogateEntity
from annotations.release.forms.known import ChangeForm, SearchForm
from annotations.release.rules.redaction.policy import IdentifierType
from annotations.release.selectors import surrogates as surrogates_selectors
from annotations.release.services.surrogates import editing
from annotations.text.names import MAX_ID, whole_number

ROWS, LINES = 30, 25


@sensitive_post_parameters()
@in_project(Can.RELEASE, *FORM)
def surrogates(request: Request, access: Access) -> HttpResponse:
    """List the entities of the index, of one kind or state; a POST searches for a name or a surrogate."""
    counts = surrogates_selectors.counts_by_kind(access.project)
    kind = one_of(request, "kind", ["", *map(str, IdentifierType)])
    state = one_of(request, "state", surrogates_selectors.STATES)
    form = SearchForm(request.POST if request.method == "POST" else None, auto_id="surrogates-%s")
    searched = form.cleaned_data["text"] if form.is_bound and form.is_valid() else ""
    rows = (
        surrogates_selectors.found_by(access.project, searched)[: surrogates_selectors.MOST_FOUND]
        if searched
        else surrogates_selectors.entities_of(access.project, kind, state)
    )
    page = paged(request, rows, surrogates_selectors.MOST_FOUND if searched else ROWS)
    context = {
        "page": page,
        "rows": surrogates_selectors.shown(access, list(page)),
        "form": form,
        "searched": searched,
        "kind": kind,
        "state": state,
        "kinds": [(one, _(one.words), number) for one, number in counts.items()],
        "total": sum(counts.values()),
    }
    return render(request, "release/surrogates/surrogates.html", context, status=422 if form.errors else 200)


@in_project(Can.RELEASE, "POST")
def surrogates_merge(request: Request, access: Access) -> HttpResponse:
    """Merge the chosen entities. Each value of `entity` is an id with the version that the page showed: 12-3."""
    versions: dict[int, int] = {}
    for value in request.POST.getlist("entity"):
        pk, _dash, version = value.partition("-")
        found = whole_number(pk, MAX_ID), whole_number(version, MAX_ID)
        if found[0] is not None and found[1] is not None:
            versions[found[0]] = found[1]
    with error_as_message(request):
        kept = editing.merge(project=access.project, versions=versions, actor=access.user)
        messages.success(request, _("The entities are merged. Later releases use this surrogate for all of them."))
        return redirect("surrogate", access.slug, kept.pk)
    return redirect(f"{reverse('surrogates', args=[access.slug])}?{request.GET.urlencode()}")


@in_project(Can.RELEASE)
def surrogate(request: Request, access: Access, pk: int) -> HttpResponse:
    """Show an entity with its forms, its surrogate and its mentions, which counts as reading their notes."""
    return _page(request, access, surrogates_selectors.entity_for(access, pk))


@sensitive_post_parameters()
@in_project(Can.RELEASE, "POST")
def surrogate_change(request: Request, access: Access, pk: int) -> HttpResponse:
    """Lock, unlock, replace, draw, restore or split. After an error, the page keeps what the person typed."""
    row = surrogates_selectors.entity_for(access, pk)
    form = ChangeForm(request.POST)
    if not form.is_valid():
        messages.error(request, _("The form was not complete. Reload the page, then try again."))
        return _page(request, access, row, status=422)
    act, text = form.cleaned_data["act"], form.cleaned_data["text"]
    try:
        made = _changed(request, access, row, form)
    except ServiceError as error:
        if error.code == "gone":
            messages.error(request, str(error))
            return redirect("surrogates", access.slug)
        fresh = surrogates_selectors.entity_for(access, pk)
        return _page(request, access, fresh, error=str(error), act=act, text=text, status=422)
    messages.success(request, _done(act))
    return redirect("surrogate", access.slug, made.pk)


def _changed(request: Request, access: Access, row: SurrogateEntity, form: ChangeForm) -> SurrogateEntity:
    """Do what the form says. Return the entity to show next. Raises ServiceError."""
    act, version = form.cleaned_data["act"], form.cleaned_data["version"]
    project, actor, entity = access.project, access.user, row.pk
    if act == "split":
        mentions = numbers(request.POST.getlist("mention"))
        return editing.split(project=project, entity=entity, version=version, mentions=mentions, actor=actor)
    text = form.cleaned_data["text"]
    editing.change(project=project, entity=entity, version=version, act=act, text=text, actor=actor)
    return row


def _done(act: str) -> str:
    return {
        "lock": _("The entity is locked."),
        "unlock": _("The entity is unlocked."),
        "draw": _("The entity has another surrogate. Later releases use it."),
        "restore": _("The entity has its earlier surrogate again. Later releases use it."),
        "replace": _("The entity has the surrogate that you typed. Later releases use it."),
        "split": _("The chosen mentions are now this new entity. Later releases use its surrogate."),
    }[act]


def _page(request: Request, access: Access, row: SurrogateEntity, *, status: int = 200, **refused: str) -> HttpResponse:
    """The page of an entity. `refused`: the `error` of a change, and what it was: `act` and `text`."""
    page = paged(request, row.mentions.order_by("document", "start"), LINES)
    (entity,) = surrogates_selectors.shown(access, [row])
    context = {
        "entity": entity,
        "row": row,
        "page": page,
        "lines": surrogates_selectors.mention_lines(access, list(page)),
        "most": editing.MOST_TYPED,
    } | refused
    return render(request, "release/surrogates/surrogate.html", context, status=status)

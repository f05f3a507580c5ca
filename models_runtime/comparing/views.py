"""Runs side by side against gold: the choice, the figures with the best marked, and the places behind the counts."""

import uuid
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotations.core.access import Access, Can, enter
from annotations.core.barred import RUNS_BARRED, barred_kinds, is_barred
from annotations.core.errors import ServiceError
from annotations.core.refusals import sentence
from annotations.core.requests import Request, number, numbers
from annotations.domain.scoring.side_by_side import MISSED, ONLY, UNTOUCHED
from annotations.domain.splits import Side
from annotations.gold.selectors import versions
from annotations.models import Author
from annotations.notes.selectors.in_context import LabelLook, label_looks
from annotations.notes.views.in_context import shown_in_context
from annotations.scores.selectors import Reference, characters, readers_of
from annotations.scores.services.side_by_side import (
    FEWEST,
    MOST,
    Common,
    Together,
    common,
    kept_table,
    side_by_side,
    telling_places,
    together,
)
from models_runtime.comparing.jobs import start_comparison
from models_runtime.comparing.services import figure_rows, label_rows, learned_here, pace_rows

PAGE = 25
# About a second's work, all readers together; more is a job.
MOST_CHARACTERS = 2_000_000


@require_safe
def runs_compare(request: Request, slug: str) -> HttpResponse:
    """?gold= (a version's number, 0: as it stands), ?a= for each author, ?split=. Without authors: the choice alone."""
    access = enter(request.user, slug, Can.READ_NOTES)
    frozen = versions(access.project)
    gold = number(request.GET, "gold")
    if gold is None:
        gold = frozen[0].number if frozen else 0
    version = next((one for one in frozen if one.number == gold), None)
    if gold and version is None:
        raise Http404("no such version")
    barred = barred_kinds(access)
    readers = [
        reader
        for reader in readers_of(Reference(access.project, version))
        if reader.shared and reader.author.kind not in barred
    ]
    chosen = _authors(request.GET)
    context: dict[str, Any] = {
        "access": access,
        "versions": frozen,
        "gold": gold,
        "readers": readers,
        "chosen": set(chosen),
        "split": request.GET.get("split", ""),
        "sides": list(Side) if version and version.split_seed else [],
        "runs_barred": RUNS_BARRED if Author.Kind.RUN in barred else "",
        "fewest": FEWEST,
        "most": MOST,
    }
    if chosen:
        try:
            wish = _wish(access, request.GET)
            context |= _result(access, wish)
        except ServiceError as error:
            context["refused"] = sentence(error)
    return render(request, "comparing/compare.html", context)


def _authors(data: QueryDict) -> list[int]:
    """The ids of the authors asked for, one more than may be at most: enough to be refused."""
    return numbers(data.getlist("a"))[: MOST + 1]


def _wish(access: Access, data: QueryDict) -> Together:
    """Raises ServiceError, and 404 for a reading that is not for this person to know."""
    ids = _authors(data)
    # Before anything is refused by name.
    if any(is_barred(access, pk) for pk in ids):
        raise Http404("not for this person to know")
    return together(access.project, version=number(data, "gold") or 0, ids=ids, split=data.get("split", "")[:10])


def _query(wish: Together, **more: object) -> str:
    pairs: list[tuple[str, object]] = [("gold", wish.reference.number)]
    pairs += [("a", author.pk) for author in wish.authors]
    pairs += [("split", wish.split)] if wish.split else []
    return "?" + urlencode([*pairs, *more.items()])


def _late(wish: Together, notes: Common) -> bool:
    """Whether it is a worker's task."""
    if kept_table(wish, notes) is not None:
        return False
    return characters(notes.of[0]) * len(wish.authors) > MOST_CHARACTERS


def _result(access: Access, wish: Together) -> dict[str, Any]:
    notes = common(wish)
    if _late(wish, notes):
        return {"wish": wish, "late": True, "notes": notes.notes, "token": uuid.uuid4()}
    table = side_by_side(wish, notes=notes)
    looks = label_looks(access.project)
    learned = learned_here(wish, notes.of[0].readings)
    places = reverse("compare_places", args=[access.project.slug])
    return {
        "wish": wish,
        "table": table,
        "notes": table["notes"],
        "rows": figure_rows(table) + pace_rows(access.project, [author.pk for author in wish.authors]),
        "labels": [(looks.get(row.key) or LabelLook(row.key, row.key), row) for row in label_rows(table)],
        "learned": [(author.name, learned[author.pk]) for author in wish.authors if author.pk in learned],
        "missed_url": places + _query(wish, kind=MISSED),
        "untouched_url": places + _query(wish, kind=UNTOUCHED),
        "touched": table["missed_by_all"] - table["untouched"],
        "only": [
            (reader["author"], reader["only"], places + _query(wish, kind=f"{ONLY}{reader['author_id']}"))
            for reader in table["readers"]
        ],
    }


@require_safe
def compare_places(request: Request, slug: str) -> HttpResponse:
    """The gold spans behind one of the counts (?kind=), in their sentences."""
    access = enter(request.user, slug, Can.READ_NOTES)
    back, here = reverse("runs_compare", args=[slug]), reverse("compare_places", args=[slug])
    try:
        wish = _wish(access, request.GET)
        if _late(wish, common(wish)):
            return redirect(back + _query(wish))
        places = telling_places(wish)
    except ServiceError as error:
        messages.error(request, sentence(error))
        return redirect(back)
    names = {UNTOUCHED: _("Nobody marked any of it"), MISSED: _("Marked, but exactly by nobody")}
    names |= {f"{ONLY}{author.pk}": _("Found only by %(name)s") % {"name": author.name} for author in wish.authors}
    kind = request.GET.get("kind", "")
    if kind not in names:
        raise Http404("no such kind")
    page = Paginator(places.get(kind, []), PAGE).get_page(number(request.GET, "page"))
    shown = shown_in_context(access, list(page.object_list), "comparison")
    context = {
        "access": access,
        "wish": wish,
        "page": page,
        "entries": shown,
        "sets": {},
        "kind": kind,
        "kind_names": names,
        "kinds": [(key, name, here + _query(wish, kind=key)) for key, name in names.items()],
        "back_url": back + _query(wish),
    }
    return render(request, "comparing/compare_places.html", context)


@require_POST
def compare_start(request: Request, slug: str) -> HttpResponse:
    """POST what the page has in its address, and a `token`. Leads to the job's page."""
    access = enter(request.user, slug, Can.READ_NOTES)
    try:
        wish = _wish(access, request.POST)
    except ServiceError as error:
        messages.error(request, sentence(error))
        return redirect("runs_compare", slug)
    job = start_comparison(wish=wish, actor=access.user, token=request.POST.get("token", "")[:36])
    return redirect("job", slug, job.pk)

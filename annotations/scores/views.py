"""Scores: what can be scored, the figures, and the places behind them in context."""

import uuid
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from annotations.core.access import Access, Can, enter
from annotations.core.barred import RUNS_BARRED, barred_kinds, is_barred, not_barred
from annotations.core.errors import ServiceError
from annotations.core.refusals import sentence
from annotations.core.requests import Request, number
from annotations.domain.scoring.errors import Kind
from annotations.domain.scoring.published import PUBLISHED
from annotations.domain.splits import Side
from annotations.gold.selectors import versions
from annotations.models import Author, GoldVersion
from annotations.notes.selectors.in_context import LabelLook, label_looks, note_names
from annotations.notes.views.in_context import shown_in_context
from annotations.projects.selectors.label_maps import mapped_sets
from annotations.projects.selectors.projects import is_large
from annotations.scores.selectors import Reference, characters, compared, readers_of, reading_ids
from annotations.scores.services.scoring import Asked, asked, kept_score, score, score_errors
from annotations.scores.services.starting import start_score

PAGE = 25
# About a second's work; more is a job.
MOST_CHARACTERS = 5_000_000
# What the list computes by itself: some tenths of a second.
LIST_CHARACTERS = 1_000_000
KINDS = {
    Kind.MISSED: gettext_lazy("Missed"),
    Kind.SPURIOUS: gettext_lazy("Spurious"),
    Kind.LABEL: gettext_lazy("Other label"),
    Kind.BOUNDARY: gettext_lazy("Other bounds"),
    Kind.BOTH: gettext_lazy("Other label and bounds"),
}
LEVELS = {
    ("entity", "subcategory"): gettext_lazy("Spans, by label"),
    ("entity", "category"): gettext_lazy("Spans, by category"),
    ("entity", "binary"): gettext_lazy("Spans, personal or not"),
    ("token", "subcategory"): gettext_lazy("Tokens, by label"),
    ("token", "category"): gettext_lazy("Tokens, by category"),
    ("token", "binary"): gettext_lazy("Tokens, personal or not"),
}


@require_safe
def scores(request: Request, slug: str) -> HttpResponse:
    """Everybody whose readings can be scored, against one gold: ?gold= names a version, else the newest."""
    access = enter(request.user, slug, Can.READ_NOTES)
    frozen = versions(access.project)
    chosen = _chosen(request, frozen)
    reference = Reference(access.project, chosen)
    rows: list[dict[str, Any]] = []
    comparable = False
    left = 0 if is_large(access.project) else LIST_CHARACTERS
    barred = barred_kinds(access)
    for reader in readers_of(reference):
        if reader.author.kind in barred:
            continue
        table = None
        if reader.shared and left > 0:
            table, cost = _at_once(Asked(reference, reader.author), left)
            left -= cost
        comparable = comparable or reader.shared > 0
        rows.append({"reader": reader, "table": table})
    context = {
        "access": access,
        "versions": frozen,
        "chosen": chosen,
        "rows": rows,
        "comparable": comparable,
        "runs_barred": RUNS_BARRED if Author.Kind.RUN in barred else "",
    }
    return render(request, "scores/scores.html", context)


def _at_once(wish: Asked, most: int) -> tuple[dict[str, Any] | None, int]:
    """The figures, computed now where they take no more than `most` characters; how many they took."""
    found = kept_score(wish)
    if found is not None:
        return found.table, 0
    cost = characters(compared(wish.reference, wish.author))
    return (score(wish).table, cost) if cost <= most else (None, 0)


def _chosen(request: Request, frozen: list[GoldVersion]) -> GoldVersion | None:
    wanted = request.GET.get("gold", "")
    if wanted == "current":
        return None
    if wanted:
        found = next((version for version in frozen if str(version.number) == wanted), None)
        if found is None:
            raise Http404("no such version")
        return found
    return frozen[0] if frozen else None


@require_safe
def score_page(request: Request, slug: str, version: int, author: int) -> HttpResponse:
    """The figures of one author against one gold (version 0: as it stands). Long ones are a job."""
    access = enter(request.user, slug, Can.READ_NOTES)
    wish = _wish(request, access, version, author)
    if isinstance(wish, HttpResponse):
        return wish
    notes = compared(wish.reference, wish.author, split=wish.split)
    found = kept_score(wish)
    late = found is None and characters(notes) > MOST_CHARACTERS
    context: dict[str, Any] = {
        "access": access,
        "wish": wish,
        "query": _query(wish),
        "sides": list(Side) if wish.reference.version and wish.reference.version.split_seed else [],
        "sets": mapped_sets(access.project.label_set.key),
        "late": late,
        "notes": len(notes.readings),
        "left_out": notes,
        "token": uuid.uuid4(),
        "versions": versions(access.project),
    }
    if found is None and not late and notes.readings:
        try:
            found = score(wish)
        except ServiceError as error:
            messages.error(request, sentence(error))
            return redirect("score", slug, version, author)
    if found is not None and found.table["notes"]:
        context |= _figures(access, wish, found.table)
    return render(request, "scores/score.html", context)


def _wish(request: Request, access: Access, version: int, author: int) -> Asked | HttpResponse:
    """What is asked for; 404 for a version or author that isn't there, to the plain page for a choice that isn't."""
    if max(version, author) >= 2**31:
        raise Http404("no such score")
    try:
        plain = asked(access.project, version=version, author_id=author)
    except ServiceError as error:
        raise Http404("no such score") from error
    if is_barred(access, plain.author.pk):
        raise Http404("not for this person to know")
    split, into = request.GET.get("split", ""), request.GET.get("into", "")
    if not (split or into):
        return plain
    try:
        return asked(access.project, version=version, author_id=author, split=split, into=into)
    except ServiceError as error:
        messages.warning(request, sentence(error))
        return redirect("score", access.project.slug, version, author)


def _query(wish: Asked, **more: object) -> str:
    kept = {"split": wish.split, "into": wish.into} | more
    found = {name: value for name, value in kept.items() if value not in ("", None)}
    return f"?{urlencode(found)}" if found else ""


def _places_url(wish: Asked, **filters: object) -> str:
    slug = wish.reference.project.slug
    return reverse("score_places", args=[slug, wish.reference.number, wish.author.pk]) + _query(wish, **filters)


def _figures(access: Access, wish: Asked, table: dict[str, Any]) -> dict[str, Any]:
    looks = label_looks(access.project, wish.into)
    levels = [level | {"name": str(LEVELS[level["unit"], level["granularity"]])} for level in table["levels"]]
    for level in levels:
        key = (level["unit"], level["granularity"])
        level["published"] = [(one, one.f1[key]) for one in PUBLISHED if key in one.f1]
    return {
        "table": table,
        "levels": levels,
        "first": levels[0],
        "binary": next(level for level in levels if (level["unit"], level["granularity"]) == ("token", "binary")),
        "labels": [
            row | {"look": _look(looks, row["label"]), "url": _places_url(wish, label=row["label"])}
            for row in table["labels"]
        ],
        "rewritten": [row | {"look": _look(looks, row["label"])} for row in table["rewritten"]["labels"]],
        "kinds": [(KINDS[Kind(kind)], n, _places_url(wish, kind=kind)) for kind, n in table["kinds"].items()],
        "confusion": _confusion(wish, table["confusion"]["entity"], looks),
        "published": PUBLISHED,
        "places_url": _places_url(wish),
        "without_label": [(_look(looks, code).name, n) for code, n in table["spans_without_label"].items()],
        "per_hundred": round(100 * table["residual"]["share"]),
    }


def _look(looks: dict[str, LabelLook], code: str) -> LabelLook:
    return looks.get(code) or LabelLook(code, code)


@dataclass(frozen=True)
class Cell:
    """A count of the heat map; `share` of its row, `url` of the places behind it where these are errors."""

    n: int
    share: float | None
    url: str
    right: bool
    words: str


def _confusion(wish: Asked, found: dict[str, Any], looks: dict[str, LabelLook]) -> dict[str, Any]:
    # Missed comes first, where it is seen without scrolling.
    found = {"labels": ["", *found["labels"][:-1]], "rows": [[row[-1], *row[:-1]] for row in found["rows"]]}
    found["rows"] = [found["rows"][-1], *found["rows"][:-1]]
    names = [_look(looks, code) if code else None for code in found["labels"]]
    rows = []
    for gold, look, counts in zip(found["labels"], names, found["rows"], strict=True):
        total = sum(counts)
        cells = [
            _cell(wish, gold, predicted, n, total, look, other)
            for predicted, other, n in zip(found["labels"], names, counts, strict=True)
        ]
        if total or gold:
            rows.append({"look": look, "cells": cells, "total": total})
    return {"columns": names, "rows": rows}


def _cell(
    wish: Asked, gold: str, predicted: str, n: int, total: int, look: LabelLook | None, other: LabelLook | None
) -> Cell:
    right = gold == predicted and bool(gold)
    filters: dict[str, object] = {"gold": gold, "predicted": predicted}
    if not gold or not predicted:
        filters["kind"] = Kind.MISSED if gold else Kind.SPURIOUS
    words = _("gold %(gold)s, predicted %(predicted)s") % {
        "gold": look.name if look else _("nothing"),
        "predicted": other.name if other else _("nothing"),
    }
    return Cell(n, n / total if total and n else None, _places_url(wish, **filters) if n else "", right, words)


@require_safe
def score_places(request: Request, slug: str, version: int, author: int) -> HttpResponse:
    """What isn't right, place by place in its sentence; ?kind= ?label= ?gold= ?predicted= ?note= narrow it down."""
    access = enter(request.user, slug, Can.READ_NOTES)
    wish = _wish(request, access, version, author)
    if isinstance(wish, HttpResponse):
        return wish
    if kept_score(wish) is None:
        notes = compared(wish.reference, wish.author, split=wish.split)
        if not notes.readings or characters(notes) > MOST_CHARACTERS:
            return redirect(reverse("score", args=[slug, version, author]) + _query(wish))
    try:
        errors = score_errors(wish)
    except ServiceError as error:
        messages.error(request, sentence(error))
        return redirect("score", slug, version, author)
    chosen = _Filters.of(request)
    rows = [row for row in errors if chosen.takes(row)]
    page = Paginator(rows, PAGE).get_page(request.GET.get("page", ""))
    looks = label_looks(access.project, wish.into)
    shown = shown_in_context(access, list(page.object_list), "score", looks)
    used = {side[2] for row in errors for side in row[2:] if side}
    context = {
        "access": access,
        "wish": wish,
        "page": page,
        "entries": shown,
        "sets": reading_ids(wish.author, {entry.note for entry in shown}),
        "chosen": chosen,
        "kinds": [(str(kind), words) for kind, words in KINDS.items()],
        "kind_names": {str(kind): words for kind, words in KINDS.items()},
        "labels": [look for code, look in looks.items() if code in used],
        "pair": [looks[code] for code in (chosen.gold, chosen.predicted) if code in looks],
        "note_name": note_names([chosen.note]).get(chosen.note) if chosen.note else "",
        "all": len(errors),
        "total": score(wish).table["errors"],
        "query": _query(wish),
        "plain_url": _places_url(wish),
    }
    return render(request, "scores/places.html", context)


@dataclass(frozen=True)
class _Filters:
    """What the list is narrowed to; empty: not narrowed. `label` is on either side."""

    kind: str
    label: str
    gold: str
    predicted: str
    note: int | None

    @classmethod
    def of(cls, request: Request) -> "_Filters":
        kind = request.GET.get("kind", "")
        label, gold, predicted = (request.GET.get(name, "")[:60] for name in ("label", "gold", "predicted"))
        return cls(kind if kind in list(Kind) else "", label, gold, predicted, number(request.GET, "note"))

    @property
    def any(self) -> bool:
        return any((self.kind, self.label, self.gold, self.predicted, self.note))

    def takes(self, row: list[Any]) -> bool:
        note, kind, gold, predicted = row
        return (
            self.kind in ("", kind)
            and self.note in (None, note)
            and (not self.label or self.label in (gold and gold[2], predicted and predicted[2]))
            and (not self.gold or (bool(gold) and gold[2] == self.gold))
            and (not self.predicted or (bool(predicted) and predicted[2] == self.predicted))
        )


@require_POST
def job_start_score(request: Request, slug: str) -> HttpResponse:
    """POST `version` (0: gold as it stands), `author` (its id), `split`, `into`."""
    access = enter(request.user, slug, Can.READ_NOTES)
    try:
        wish = asked(
            access.project,
            version=number(request.POST, "version") or 0,
            author_id=number(request.POST, "author") or 0,
            split=request.POST.get("split", ""),
            into=request.POST.get("into", ""),
        )
    except ServiceError as error:
        messages.error(request, sentence(error))
        return redirect("scores", slug)
    not_barred(access, wish.author.pk)
    job = start_score(wish=wish, actor=access.user, token=request.POST.get("token", ""))
    return redirect("job", slug, job.pk)

"""Pages of scores: the list of authors, the figures of one author, and the errors in context."""

import uuid
from dataclasses import dataclass
from typing import Any, TypedDict
from urllib.parse import urlencode

from django.contrib import messages
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST, require_safe

from annotations.core.access import Access, Can, authors_for, enter
from annotations.core.errors import ServiceError
from annotations.core.requests import Request, number, one_of, paged
from annotations.core.tokenizers import KINDS
from annotations.domain.scoring.counts import Counting
from annotations.domain.scoring.errors import Kind
from annotations.domain.scoring.published import PUBLISHED, Published
from annotations.domain.scoring.rates import AverageData
from annotations.domain.scoring.similarity import THRESHOLD
from annotations.domain.scoring.table import ConfusionData, LevelData
from annotations.domain.splits import Split
from annotations.gold.selectors import versions
from annotations.jobs.tokens import form_token
from annotations.models import GoldVersion
from annotations.notes.selectors.in_context import LabelLook, label_looks, note_names
from annotations.notes.views.in_context import shown_in_context
from annotations.projects.selectors.label_maps import mapped_sets
from annotations.projects.selectors.projects import is_large
from annotations.scores.selectors import (
    LEVELS,
    Compared,
    Reference,
    annotation_set_ids,
    authors_with_notes,
    characters,
    compared,
)
from annotations.scores.services.scoring import (
    Error,
    ScoredTable,
    ScoreRequest,
    kept_score,
    score,
    score_errors,
    score_request,
)
from annotations.scores.services.shown import chosen_names, found_notes, look_of, offered_types, rewritten_text
from annotations.scores.services.starting import start_score

PAGE = 25
# Larger scores are computed by a job: this much text takes about one second.
MOST_CHARACTERS = 5_000_000
# The list computes scores of this much text itself, which takes some tenths of a second.
LIST_CHARACTERS = 1_000_000
ERROR_KINDS = {
    Kind.MISSED: gettext_lazy("Missed"),
    Kind.SPURIOUS: gettext_lazy("Spurious"),
    Kind.LABEL: gettext_lazy("Different label"),
    Kind.BOUNDARY: gettext_lazy("Different bounds"),
    Kind.BOTH: gettext_lazy("Different label and bounds"),
}
COUNTINGS = {
    Counting.TOKENS: gettext_lazy("Whole tokens"),
    Counting.SUBSTRING: gettext_lazy("Substrings"),
}


@require_safe
def scores(request: Request, slug: str) -> HttpResponse:
    """List the authors that can be scored against the gold version ?gold=, by default the newest."""
    access = enter(request.user, slug, Can.READ_NOTES)
    frozen = versions(access.project)
    chosen = _chosen(request, frozen)
    reference = Reference(access.project, chosen)
    rows: list[dict[str, Any]] = []
    comparable = False
    left = 0 if is_large(access.project) else LIST_CHARACTERS
    for author in authors_with_notes(reference, authors_for(access)):
        table = None
        if author.shared and left > 0:
            table, cost = _at_once(ScoreRequest(reference, author.author), left)
            left -= cost
        comparable = comparable or author.shared > 0
        rows.append({"counts": author, "table": table})
    context = {
        "access": access,
        "versions": frozen,
        "chosen": chosen,
        "rows": rows,
        "comparable": comparable,
        "few_notes": any(row["table"] and row["table"]["few_notes"] for row in rows),
    }
    return render(request, "scores/scores.html", context)


def _at_once(wanted: ScoreRequest, most: int) -> tuple[ScoredTable | None, int]:
    """Return the figures if they are stored or need at most `most` characters, and the number of characters scored."""
    found = kept_score(wanted)
    if found is not None:
        return found.table, 0
    cost = characters(compared(wanted.reference, wanted.author))
    return (score(wanted).table, cost) if cost <= most else (None, 0)


def _chosen(request: Request, frozen: list[GoldVersion]) -> GoldVersion | None:
    number_text = request.GET.get("gold", "")
    if number_text == "current":
        return None
    if number_text:
        found = next((version for version in frozen if str(version.number) == number_text), None)
        if found is None:
            raise Http404("This version does not exist.")
        return found
    return frozen[0] if frozen else None


@require_safe
def score_page(request: Request, slug: str, version: int, author: int) -> HttpResponse:
    """Show the scores of one author against one gold; version 0 is the current gold. Long scores are a job.

    ?split=, ?into=, ?threshold=, ?tokenizer= and ?type= (several) as for `score_request`; ?counting= is a `Counting`.
    """
    access = enter(request.user, slug, Can.READ_NOTES)
    wanted = _wanted(request, access, version, author)
    if isinstance(wanted, HttpResponse):
        return wanted
    counting = Counting(one_of(request, "counting", list(Counting)))
    looks = label_looks(access.project, wanted.into)
    types, categories = offered_types(wanted, looks)
    notes = compared(wanted.reference, wanted.author, split=wanted.split)
    found = kept_score(wanted)
    late = found is None and _is_long(wanted, notes)
    context: dict[str, Any] = {
        "access": access,
        "wanted": wanted,
        "query": _query(wanted),
        "splits": list(Split) if wanted.reference.version and wanted.reference.version.split_seed else [],
        "sets": mapped_sets(access.project.label_set.key),
        "types": types,
        "default_threshold": THRESHOLD,
        "tokenizers": [(name, _(kind.title)) for name, kind in KINDS.items()],
        "counting": counting,
        "countings": [
            (rule, name, _query(wanted, counting=rule if rule != Counting.TOKENS else ""))
            for rule, name in COUNTINGS.items()
        ],
        "late": late,
        "notes": len(notes.annotation_sets),
        "left_out": notes,
        "token": uuid.uuid4(),
        "versions": versions(access.project),
    }
    if found is None and not late and notes.annotation_sets:
        try:
            found = score(wanted)
        except ServiceError as error:
            messages.error(request, str(error))
            return redirect("score", slug, version, author)
    if found is not None and found.table["notes"]:
        context |= _figures(wanted, found.table, looks, categories) | rewritten_text(found.table, counting, looks)
    return render(request, "scores/score.html", context)


def _is_long(wanted: ScoreRequest, notes: Compared) -> bool:
    """Whether a worker must compute the score: of much text, or with a tokenizer that only workers have."""
    return bool(wanted.tokenizer) or characters(notes) > MOST_CHARACTERS


def _wanted(request: Request, access: Access, version: int, author: int) -> ScoreRequest | HttpResponse:
    """Return what the page is to show.

    Raises Http404 for an unknown version or author. Redirects to the page without choices for an unknown choice.
    """
    if max(version, author) >= 2**31:
        raise Http404("This score does not exist.")
    try:
        plain = score_request(access.project, version=version, author_id=author, among=authors_for(access))
    except ServiceError as error:
        raise Http404("This score does not exist.") from error
    choices = _choices(request.GET)
    if not any(choices.values()):
        return plain
    try:
        return score_request(access.project, version=version, author_id=author, **choices)
    except ServiceError as error:
        messages.warning(request, str(error))
        return redirect("score", access.project.slug, version, author)


class _Choices(TypedDict):
    """What a person can choose for a score, as `score_request` takes it."""

    split: str
    into: str
    threshold: str
    types: list[str]
    tokenizer: str


def _choices(data: QueryDict) -> _Choices:
    return {
        "split": data.get("split", ""),
        "into": data.get("into", ""),
        "threshold": data.get("threshold", "").strip(),
        "types": data.getlist("type"),
        "tokenizer": data.get("tokenizer", ""),
    }


def _query(wanted: ScoreRequest, **more: object) -> str:
    threshold = "" if wanted.threshold == THRESHOLD else wanted.threshold
    kept: dict[str, object] = {
        "split": wanted.split,
        "into": wanted.into,
        "threshold": threshold,
        "type": wanted.types,
    }
    kept |= {"tokenizer": wanted.tokenizer} | more
    found = {name: value for name, value in kept.items() if value not in ("", None, ())}
    return f"?{urlencode(found, doseq=True)}" if found else ""


def _errors_url(wanted: ScoreRequest, **filters: object) -> str:
    slug = wanted.reference.project.slug
    return reverse("score_errors", args=[slug, wanted.reference.number, wanted.author.pk]) + _query(wanted, **filters)


def _figures(
    wanted: ScoreRequest, table: ScoredTable, looks: dict[str, LabelLook], categories: dict[str, str]
) -> dict[str, Any]:
    levels = [_level(level) for level in table["levels"]]
    return {
        "table": table,
        "levels": levels,
        "first": levels[0],
        "binary": next(level for level in levels if (level["unit"], level["granularity"]) == ("token", "binary")),
        "labels": [
            {**row, "look": look_of(looks, row["label"]), "url": _errors_url(wanted, label=row["label"])}
            for row in table["labels"]
        ],
        "categories": [
            {**row, "name": categories.get(row["category"], row["category"])} for row in table["categories"]
        ],
        "finer": len(table["labels"]) > len(table["categories"]),
        "chosen_names": chosen_names(table, looks),
        "found_notes": found_notes(table),
        "kinds": [(ERROR_KINDS[Kind(kind)], n, _errors_url(wanted, kind=kind)) for kind, n in table["kinds"].items()],
        "confusion": _confusion(wanted, table["confusion"]["entity"], looks),
        "published": PUBLISHED,
        "errors_url": _errors_url(wanted),
        "without_label": [(look_of(looks, code).name, n) for code, n in table["spans_without_label"].items()],
        "per_hundred": round(100 * (table["residual"]["share"] or 0.0)),
    }


class _Level(LevelData):
    name: str
    averages: list[AverageData]
    published: list[tuple[Published, float]]


def _level(level: LevelData) -> _Level:
    """Return the level with its name, its averages over classes and its published figures."""
    key = (level["unit"], level["granularity"])
    published = [(one, one.f1[key]) for one in PUBLISHED if key in one.f1]
    averages = [level["macro"], level["weighted"]]
    return {**level, "name": str(LEVELS[key]), "averages": averages, "published": published}


@dataclass(frozen=True)
class Cell:
    """A count in the confusion matrix, its share of the row, and the address of its errors."""

    n: int
    share: float | None
    url: str
    right: bool
    label: str


def _confusion(wanted: ScoreRequest, found: ConfusionData, looks: dict[str, LabelLook]) -> dict[str, Any]:
    # The column “missed” comes first, where it is visible without scrolling.
    found = {"labels": ["", *found["labels"][:-1]], "rows": [[row[-1], *row[:-1]] for row in found["rows"]]}
    found["rows"] = [found["rows"][-1], *found["rows"][:-1]]
    names = [look_of(looks, code) if code else None for code in found["labels"]]
    rows = []
    for gold, look, counts in zip(found["labels"], names, found["rows"], strict=True):
        total = sum(counts)
        cells = [
            _cell(wanted, gold, predicted, n, total, look, other)
            for predicted, other, n in zip(found["labels"], names, counts, strict=True)
        ]
        if total or gold:
            rows.append({"look": look, "cells": cells, "total": total})
    return {"columns": names, "rows": rows}


def _cell(
    wanted: ScoreRequest, gold: str, predicted: str, n: int, total: int, look: LabelLook | None, other: LabelLook | None
) -> Cell:
    right = gold == predicted and bool(gold)
    filters: dict[str, object] = {"gold": gold, "predicted": predicted}
    if not gold or not predicted:
        filters["kind"] = Kind.MISSED if gold else Kind.SPURIOUS
    label = _("gold %(gold)s, predicted %(predicted)s") % {
        "gold": look.name if look else _("no span"),
        "predicted": other.name if other else _("no span"),
    }
    return Cell(n, n / total if total and n else None, _errors_url(wanted, **filters) if n else "", right, label)


@require_safe
def error_list(request: Request, slug: str, version: int, author: int) -> HttpResponse:
    """Show the errors in their sentences, filtered by ?kind= ?label= ?gold= ?predicted= ?note=."""
    access = enter(request.user, slug, Can.READ_NOTES)
    wanted = _wanted(request, access, version, author)
    if isinstance(wanted, HttpResponse):
        return wanted
    if kept_score(wanted) is None:
        notes = compared(wanted.reference, wanted.author, split=wanted.split)
        if not notes.annotation_sets or _is_long(wanted, notes):
            return redirect(reverse("score", args=[slug, version, author]) + _query(wanted))
    try:
        errors = score_errors(wanted)
    except ServiceError as error:
        messages.error(request, str(error))
        return redirect(reverse("score", args=[slug, version, author]) + _query(wanted))
    chosen = _Filters.of(request)
    rows = [row for row in errors if chosen.takes(row)]
    page = paged(request, rows, PAGE)
    looks = label_looks(access.project, wanted.into)
    shown = shown_in_context(access, list(page.object_list), "score", looks)
    used = {span[2] for row in errors for span in row[2:] if span}
    context = {
        "access": access,
        "wanted": wanted,
        "page": page,
        "entries": shown,
        "sets": annotation_set_ids(wanted.author, {entry.note for entry in shown}),
        "chosen": chosen,
        "kinds": [(str(kind), name) for kind, name in ERROR_KINDS.items()],
        "kind_names": {str(kind): name for kind, name in ERROR_KINDS.items()},
        "labels": [look for code, look in looks.items() if code in used],
        "pair": [looks[code] for code in (chosen.gold, chosen.predicted) if code in looks],
        "note_name": note_names([chosen.note]).get(chosen.note) if chosen.note else "",
        "all": len(errors),
        "total": score(wanted).table["errors"],
        "query": _query(wanted),
        "default_threshold": THRESHOLD,
        "plain_url": _errors_url(wanted),
    }
    return render(request, "scores/errors.html", context)


@dataclass(frozen=True)
class _Filters:
    """The filters of the list; an empty value filters nothing. `label` is the gold or the predicted label."""

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

    def takes(self, row: Error) -> bool:
        note, kind, *spans = row
        gold, predicted = (span[2] if span else "" for span in spans)
        return (
            self.kind in ("", kind)
            and self.note in (None, note)
            and (not self.label or self.label in (gold, predicted))
            and self.gold in ("", gold)
            and self.predicted in ("", predicted)
        )


@require_POST
def job_start_score(request: Request, slug: str) -> HttpResponse:
    """Start the job for a score.

    POST `version` (0: current gold), `author` (its id), `split`, `into`, `threshold`, `tokenizer`, `type` (several).
    """
    access = enter(request.user, slug, Can.READ_NOTES)
    try:
        wanted = score_request(
            access.project,
            version=number(request.POST, "version") or 0,
            author_id=number(request.POST, "author") or 0,
            among=authors_for(access),
            **_choices(request.POST),
        )
    except ServiceError as error:
        messages.error(request, str(error))
        return redirect("scores", slug)
    job = start_score(wanted=wanted, actor=access.user, token=form_token(request))
    return redirect("job", slug, job.number)

"""Pages of scores: the list of authors, and the figures of one author."""

import uuid
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Final

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotations.agreement.templatetags.coefficients import percent
from annotations.core import tokenizers
from annotations.core.access import Access, Can, authors_for
from annotations.core.requests import Request, error_as_message, in_project, number, one_of
from annotations.core.services import ServiceError
from annotations.core.templatetags.plots import PlotLine
from annotations.gold.rules import Split
from annotations.gold.selectors import versions
from annotations.jobs.api import form_token
from annotations.models import CauseKind
from annotations.notes.selectors.in_context import LabelLook, label_looks, look_of
from annotations.projects.selectors.labels import mapped_sets
from annotations.projects.selectors.projects import is_large
from annotations.scores import selectors
from annotations.scores.rules.causes import ErrorCounts, UnitShares
from annotations.scores.rules.errors import ErrorType
from annotations.scores.rules.published import COUNTED_LABELS, REWRITTEN, counted_f1, headlines
from annotations.scores.rules.rewritten import CountingRule
from annotations.scores.rules.scorer import THRESHOLD
from annotations.scores.rules.table import ConfusionData, LevelData, NotesAllFound
from annotations.scores.rules.tally import Criterion
from annotations.scores.services.asking import category_names, start_score, too_long
from annotations.scores.services.choices import Type, type_groups
from annotations.scores.services.errors import UNTAGGED, error_table
from annotations.scores.services.scoring import (
    Score,
    ScoredTable,
    ScoreRequest,
    kept_score,
    label_mapper,
    notes_of,
    score,
    score_request,
)
from annotations.scores.templatetags.scores import ChartRow
from annotations.scores.views.errors import KINDS, choices_of, errors_url, query_of, wanted_of

MISSED: Final = 8
"""Labels in the plot of those with most missed spans."""

# The errors of a score by category, as the charts and the table of its page.


def error_shares(wanted: ScoreRequest, score: Score) -> dict[str, Any]:
    found = error_table(wanted, score)
    names = category_names(wanted)
    rows = [(names.get(row["category"], row["category"]), row) for row in found["categories"]]
    ratios = ((name, row["tokens_per_span"]) for name, row in rows)
    return {
        "span_shares": [_shares(name, row["entity"]) for name, row in rows],
        "token_shares": [_shares(name, row["token"]) for name, row in rows],
        "ratios": [ChartRow(name, [ratio], [f"{ratio:.2f}"]) for name, ratio in ratios if ratio is not None],
        "cause_names": [kind.label for kind in CauseKind],
        "cause_rows": [_causes(wanted, name, row, category=row["category"]) for name, row in rows],
        "cause_total": _causes(wanted, "", found["all"]),
    }


def _shares(name: str, unit: UnitShares) -> ChartRow:
    counts = [(unit["spurious"], unit["spurious_share"]), (unit["missed"], unit["missed_share"])]
    texts = ["–" if share is None else f"{percent(share)} ({n:,})" for n, share in counts]
    return ChartRow(name, [share for _n, share in counts], texts)


def _causes(wanted: ScoreRequest, name: str, row: ErrorCounts, **filters: str) -> dict[str, Any]:
    """A row of the table: the count and address of all errors, and of those with each cause or without any."""
    cells = [*row["causes"].items(), (UNTAGGED, row["without_cause"])]
    return {
        "name": name,
        "all": (row["errors"], errors_url(wanted, **filters)),
        "cells": [(n, errors_url(wanted, **filters, cause=cause)) for cause, n in cells],
    }


# The list computes scores of this much text itself, which takes some tenths of a second.
LIST_CHARACTERS = 1_000_000
COUNTINGS = {CountingRule.TOKENS: gettext_lazy("Whole tokens"), CountingRule.SUBSTRING: gettext_lazy("Substrings")}


@in_project(Can.READ_NOTES)
def scores(request: Request, access: Access) -> HttpResponse:
    """List the authors that can be scored against the gold version ?gold=, by default the newest.

    With ?language=, only notes in it count.
    """
    gold = {"": None, "current": 0}.get(request.GET.get("gold", ""), number(request.GET, "gold") or -1)
    reference = selectors.Reference.of(access.project, gold)
    languages = selectors.note_languages(access.project)
    language = one_of(request, "language", ["", *languages])
    rows: list[dict[str, Any]] = []
    comparable = False
    left = 0 if is_large(access.project) else LIST_CHARACTERS
    for author in selectors.authors_with_notes(reference, authors_for(access), language=language):
        table = None
        if author.shared and left > 0:
            table, cost = _at_once(ScoreRequest(reference, author.author, language=language), left)
            left -= cost
        comparable = comparable or author.shared > 0
        rows.append({"counts": author, "table": table})
    context = {
        "versions": versions(access.project),
        "chosen": reference.version,
        "languages": languages,
        "note_language": language,
        "rows": rows,
        "comparable": comparable,
        "few_notes": any(row["table"] and row["table"]["few_notes"] for row in rows),
    }
    return render(request, "scores/scores.html", context)


def _at_once(wanted: ScoreRequest, most: int) -> tuple[ScoredTable | None, int]:
    """Return the figures if they are stored or need at most `most` characters, and the number of characters scored."""
    notes = notes_of(wanted)
    found = kept_score(wanted, notes)
    if found is not None:
        return found.table, 0
    cost = selectors.characters(notes, most)
    return (score(wanted).table, cost) if cost <= most else (None, 0)


@in_project(Can.READ_NOTES)
def score_page(request: Request, access: Access, version: int, author: int) -> HttpResponse:
    """Show the scores of one author against one gold; version 0 is the current gold. Long scores are a job.

    ?split=, ?into=, ?threshold=, ?tokenizer=, ?language= and ?type= (several) as for `score_request`.
    ?counting= is a `CountingRule`.
    """
    wanted = wanted_of(request, access, version, author)
    if isinstance(wanted, HttpResponse):
        return wanted
    counting = CountingRule(one_of(request, "counting", list(CountingRule)))
    looks = label_looks(access.project, wanted.into)
    types, categories = offered_types(wanted, looks)
    notes = notes_of(wanted)
    found = kept_score(wanted, notes)
    late = found is None and too_long(wanted, notes)
    context: dict[str, Any] = {
        "wanted": wanted,
        "query": query_of(wanted),
        "splits": list(Split) if wanted.reference.version and wanted.reference.version.split_seed else [],
        "sets": mapped_sets(access.project.label_set.key),
        "languages": selectors.note_languages(access.project),
        "types": types,
        "default_threshold": THRESHOLD,
        "masking_threshold": selectors.masking_threshold(wanted.author),
        "tokenizers": [(name, _(kind.title)) for name, kind in tokenizers.KINDS.items()],
        "counting": counting,
        "countings": [
            (rule, name, query_of(wanted, counting=rule if rule != CountingRule.TOKENS else ""))
            for rule, name in COUNTINGS.items()
        ],
        "late": late,
        "notes": notes.count,
        "learned": selectors.learned_notes(wanted.author, notes),
        "left_out": notes,
        "token": uuid.uuid4(),
        "versions": versions(access.project),
    }
    if found is None and not late and notes.count:
        try:
            found = score(wanted)
        except ServiceError as error:
            messages.error(request, str(error))
            return redirect("score", access.slug, version, author)
    if found is not None and found.table["notes"]:
        context |= _figures(wanted, found.table, looks, categories) | rewritten_text(found.table, counting, looks)
        try:
            context |= error_shares(wanted, found)
        except ServiceError as error:  # The errors were deleted, and the page can't compute them: it offers the job.
            messages.error(request, str(error))
            return redirect(request.get_full_path())
    return render(request, "scores/score.html", context)


def _figures(
    wanted: ScoreRequest, table: ScoredTable, looks: dict[str, LabelLook], categories: dict[str, str]
) -> dict[str, Any]:
    levels = [_level(level) for level in table["levels"]]
    labels: list[dict[str, Any]] = [
        {
            **row,
            "look": look_of(looks, row["label"]),
            "url": errors_url(wanted, label=row["label"]),
            "missed": row["entity"]["gold"] - row["entity"]["right"],
        }
        for row in table["labels"]
    ]
    return {
        "table": table,
        "levels": levels,
        "first": levels[0],
        "binary": next(level for level in levels if (level["unit"], level["granularity"]) == ("token", "binary")),
        "labels": labels,
        "missed_most": sorted(filter(itemgetter("missed"), labels), key=lambda row: -row["missed"])[:MISSED],
        "categories": [
            {**row, "name": categories.get(row["category"], row["category"])} for row in table["categories"]
        ],
        "passes": passes_shown(table, categories),
        "finer": len(table["labels"]) > len(table["categories"]),
        "chosen_names": chosen_names(table, looks),
        "found_notes": found_notes(table),
        "kinds": [(KINDS[ErrorType(kind)], n, errors_url(wanted, kind=kind)) for kind, n in table["kinds"].items()],
        "confusion": _confusion(wanted, table["confusion"]["entity"], looks),
        "errors_url": errors_url(wanted),
        "without_label": [(look_of(looks, code).name, n) for code, n in table["spans_without_label"].items()],
        "per_hundred": round(100 * (table["residual"]["share"] or 0.0)),
    }


def _level(level: LevelData) -> dict[str, Any]:
    """Return the level with its name, its averages over classes and its published figures."""
    unit, granularity = level["unit"], level["granularity"]
    averages = [level["macro"], level["weighted"]]
    published = headlines(unit, granularity)
    return {**level, "name": str(selectors.LEVELS[unit, granularity]), "averages": averages, "published": published}


@dataclass(frozen=True)
class ConfusionCell:
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
) -> ConfusionCell:
    right = gold == predicted and bool(gold)
    filters: dict[str, object] = {"gold": gold, "predicted": predicted}
    if not gold or not predicted:
        filters["kind"] = ErrorType.MISSED if gold else ErrorType.SPURIOUS
    label = _("gold %(gold)s, predicted %(predicted)s") % {
        "gold": look.name if look else _("no span"),
        "predicted": other.name if other else _("no span"),
    }
    return ConfusionCell(
        n, n / total if total and n else None, errors_url(wanted, **filters) if n else "", right, label
    )


def offered_types(wanted: ScoreRequest, looks: dict[str, LabelLook]) -> tuple[list[list[Type]], dict[str, str]]:
    """The labels and categories that can be chosen, and the names of categories by code.

    None if the mapping lacks a label, which the score then says.
    """
    try:
        mapper = label_mapper(wanted)
    except ServiceError:
        return [], {}
    names = {code: look.name for code, look in looks.items()}
    return type_groups(mapper.category_of, mapper.category_names, names, wanted.types), mapper.category_names


def found_notes(table: ScoredTable) -> list[tuple[str, NotesAllFound, NotesAllFound | None]]:
    """All-or-nothing recall by definition of “found”, of all and of the chosen labels."""
    whole, chosen = table["all_or_nothing"], table["all_or_nothing_chosen"]
    return [(str(name), whole[one], chosen["found"][one] if chosen else None) for one, name in selectors.FOUND.items()]


# A chart with more lines is hard to read; the table beside it has all categories.
MOST_LINES = 8


def passes_shown(table: ScoredTable, names: dict[str, str]) -> dict[str, Any] | None:
    """All-or-nothing recall by pass: of all categories, by category, and as lines of a chart; None without passes."""
    rows = table["by_pass"]
    if not rows:
        return None
    criterion = Criterion.TOLERANT_CATEGORY
    categories: list[dict[str, Any]] = [
        {
            "name": names.get(row["category"], row["category"]),
            "notes": row["notes"],
            "shares": [after["categories"][row["category"]][criterion]["share"] for after in rows],
        }
        for row in table["categories"]
        if row["notes"]
    ]
    most = sorted(categories, key=lambda row: -row["notes"])[:MOST_LINES]
    lines = [PlotLine(row["name"], row["shares"]) for row in categories if row in most]
    pooled = [after["all_or_nothing_pooled"]["categories"][criterion]["share"] for after in rows]
    return {"rows": rows, "categories": categories, "lines": [*lines, PlotLine(_("All"), pooled, main=True)]}


def chosen_names(table: ScoredTable, looks: dict[str, LabelLook]) -> str:
    """The names of the chosen labels; empty if none were chosen."""
    chosen = table["all_or_nothing_chosen"]
    return ", ".join(look_of(looks, code).name for code in chosen["labels"]) if chosen else ""


def rewritten_text(table: ScoredTable, counting: CountingRule, looks: dict[str, LabelLook]) -> dict[str, Any]:
    """The score of the rewritten text by one rule of counting, with published figures for the published rule."""
    found = table["rewritten_substring"] if counting == CountingRule.SUBSTRING else table["rewritten"]
    return {
        "counted": found,
        "rewritten": [{**row, "look": look_of(looks, row["label"])} for row in found["labels"]],
        "published_counts": counted_f1() if counting == CountingRule.SUBSTRING else {},
        "published_counts_types": COUNTED_LABELS,
        "published_counts_corpus": REWRITTEN.corpus,
        "published_counts_source": REWRITTEN.source,
    }


@in_project(Can.READ_NOTES, "POST")
def job_start_score(request: Request, access: Access) -> HttpResponse:
    """Start the job for a score.

    POST `version` (0: current gold), `author` (its id), `split`, `into`, `threshold`, `tokenizer`, `language`,
    `type` (several).
    """
    with error_as_message(request):
        wanted = score_request(
            access.project,
            version=number(request.POST, "version") or 0,
            author_id=number(request.POST, "author") or 0,
            among=authors_for(access),
            **choices_of(request.POST),
        )
        job = start_score(wanted=wanted, actor=access.user, token=form_token(request))
        return redirect("job", access.slug, job.number)
    return redirect("scores", access.slug)

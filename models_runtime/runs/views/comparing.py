"""Pages that compare runs with gold, and the loop of a project by round."""

import uuid
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotations.core.access import Access, Can, authors_for
from annotations.core.forms import attempted, error_beside, reasons
from annotations.core.requests import Request, enter_page, error_as_message, in_project, one_of, paged
from annotations.core.templatetags.planes import PlaneCurve, PlanePoint
from annotations.core.templatetags.plots import Point
from annotations.gold.forms import HoldOutForm
from annotations.gold.rules import Split
from annotations.gold.selectors import versions
from annotations.gold.services.splitting import begin_round
from annotations.jobs.api import form_token
from annotations.models import AuthorKind
from annotations.notes.selectors.in_context import label_looks, look_of, with_context
from annotations.scores.rules.operating import MISSED, ONLY, STEPS, UNTOUCHED, ReviewPoint, review_points
from annotations.scores.selectors import LEVELS, Reference, authors_with_notes, note_languages
from annotations.scores.services import side_by_side as scores
from models_runtime.core.registry import TRAINABLE
from models_runtime.runs.forms.runs import COMPARISON_REFUSED_AT, CompareForm, StrategiesForm
from models_runtime.runs.services import comparing
from models_runtime.runs.services.loop import Round, loop_of, rounds

PAGE = 25
# The authors of suggestions, and how many of the newest of them are compared unless a person chooses.
SUGGEST = {AuthorKind.RUN, AuthorKind.REFINED}
NEWEST = 4
FEWEST_ROUNDS = 3
"""From so many rounds on, the loop has plots: two points show no trend."""


@in_project(Can.READ_NOTES)
def runs_compare(request: Request, access: Access) -> HttpResponse:
    """Compare the authors ?a= with the gold version ?gold= (0: current gold), in the split ?split=, in ?language=.

    Without authors, the newest runs are compared. ?at= is the least confidence of the plane, in hundredths.
    """
    frozen = versions(access.project)
    form = CompareForm(request.GET)
    form.is_valid()
    gold = form.cleaned_data.get("gold")
    if gold is None:
        gold = frozen[0].number if frozen else 0
    version = next((one for one in frozen if one.number == gold), None)
    if gold and version is None:
        raise Http404("This version does not exist.")
    authors = [one for one in authors_with_notes(Reference(access.project, version), authors_for(access)) if one.shared]
    context: dict[str, Any] = {
        "versions": frozen,
        "gold": gold,
        "authors": authors,
        "form": form,
        "chosen": set(form.cleaned_data.get("a", [])),
        "split": form.cleaned_data.get("split", ""),
        "splits": list(Split) if version and version.split_seed else [],
        "note_language": form.cleaned_data.get("language", ""),
        "languages": note_languages(access.project),
        "fewest": scores.FEWEST,
        "most": scores.MOST,
    }
    if form.is_valid():
        if not form.cleaned_data["a"]:
            runs = sorted((one.author.pk for one in authors if one.author.kind in SUGGEST), reverse=True)
            newest = runs[:NEWEST] if len(runs) >= scores.FEWEST else []
            form.cleaned_data["a"] = newest
            context["chosen"] = set(newest)
        at = int(one_of(request, "at", [str(at) for at in range(0, STEPS + 1, comparing.EVERY)]))
        with error_beside(form, COMPARISON_REFUSED_AT):
            if context["chosen"]:
                context |= _result(access, _wanted(access, form), at)
    return render(request, "runs/comparing/compare.html", context)


@in_project(Can.READ_NOTES)
def strategies(request: Request, access: Access) -> HttpResponse:
    """Compare runs of trained models by language strategy, on notes of ?gold= in ?language= and ?split=."""
    frozen = versions(access.project)
    languages = note_languages(access.project)
    form = StrategiesForm(request.GET)
    data = form.cleaned_data if form.is_valid() else {}
    gold = data.get("gold") or (frozen[0].number if frozen else 0)
    version = next((one for one in frozen if one.number == gold), None)
    split, language = data.get("split", ""), data.get("language", "")
    if (gold and version is None) or split not in ("", *Split) or language not in ("", *languages) or form.errors:
        raise Http404("This comparison does not exist.")
    authors = authors_for(access)
    found = comparing.compared_strategies(
        access.project, version, language=language, split=split, among=authors, most=comparing.MOST_CHARACTERS
    ) if version else None  # fmt: skip
    context = {
        "versions": frozen,
        "gold": gold,
        "languages": languages,
        "note_language": language,
        "splits": list(Split) if version and version.split_seed else [],
        "split": split,
        "levels": LEVELS.values(),
        "found": found,
        "ranked": sorted(found.rows, key=lambda row: -(row.f1["entity_subcategory"] or 0)) if found else [],
    }
    return render(request, "runs/comparing/strategies.html", context)


def _wanted(access: Access, form: CompareForm) -> scores.ComparisonRequest:
    """Return what a valid form asks to compare.

    Raises ServiceError, and Http404 for annotation sets that this person may not see individually.
    """
    data = form.cleaned_data
    return comparing.asked(
        access, ids=data["a"], gold=data["gold"] or 0, split=data["split"], language=data["language"]
    )


def _sent_back(request: Request, form: CompareForm, back: str) -> HttpResponse:
    """Redirect to the page with the form, with the errors as messages."""
    for reason in reasons(form):
        messages.error(request, reason)
    return redirect(back)


def _query(wanted: scores.ComparisonRequest, **more: object) -> str:
    return "?" + urlencode([*_pairs(wanted), *more.items()])


def _pairs(wanted: scores.ComparisonRequest) -> list[tuple[str, object]]:
    pairs: list[tuple[str, object]] = [("gold", wanted.reference.number)]
    pairs += [("a", author.pk) for author in wanted.authors]
    return pairs + [(name, value) for name, value in (("split", wanted.split), ("language", wanted.language)) if value]


def _plane(wanted: scores.ComparisonRequest, table: scores.SideBySideTable, at: int) -> dict[str, Any]:
    """Return the models on the plane of precision and recall, best F1 first, with their figures at each step."""
    reviews = [
        (figures["author"], figures["review"])
        for figures in sorted(table["authors"], key=lambda each: -(_f1(each) or 0.0))
        if figures["kind"] in SUGGEST and figures["review"]["notes"]
    ]
    curves = [(name, review_points(review)) for name, review in reviews]
    stops = range(0, STEPS + 1, comparing.EVERY)
    steps = []
    for step in stops:
        rows = [{"number": n, "name": name, "point": points[step]} for n, (name, points) in enumerate(curves, 1)]
        best = next((row for row, (_name, review) in zip(rows, reviews, strict=True) if review["graded"]), None)
        steps.append({"at": step, "threshold": step / STEPS, "rows": rows, "best": best})
    return {
        "at": at,
        "every": comparing.EVERY,
        "query": _pairs(wanted),
        "notes": table["authors"][0]["review"]["notes"],
        "steps": steps,
        "curves": [
            PlaneCurve(str(n), [_on_plane(one) for one in points], {at: _on_plane(points[at]) for at in stops})
            for n, (_name, points) in enumerate(curves, 1)
        ]
        if steps[0]["best"]
        else [],
    }


def _f1(figures: scores.AuthorFigures) -> float | None:
    return figures["table"]["levels"][0]["micro"]["f1"]


def _on_plane(point: ReviewPoint) -> PlanePoint | None:
    recall, precision = point["recall"], point["precision"]
    return None if recall is None or precision is None else (recall, precision)


def _result(access: Access, wanted: scores.ComparisonRequest, at: int) -> dict[str, Any]:
    notes = scores.common_notes(wanted)
    if comparing.takes_long(wanted, notes):
        return {"wanted": wanted, "late": True, "notes": notes.notes, "token": uuid.uuid4()}
    table = scores.side_by_side(wanted, notes=notes)
    looks = label_looks(access.project)
    learned = comparing.learned_here(wanted, notes.of[0])
    thresholds = comparing.thresholds_of(author.pk for author in wanted.authors)
    spans_url = reverse("compare_spans", args=[access.slug])
    ranked = [
        {
            "author": author,
            "rates": figures["table"]["levels"][0]["micro"],
            "few": figures["table"]["few_notes"],
            "missed": figures["table"]["residual"]["share"],
        }
        for author, figures in zip(wanted.authors, table["authors"], strict=True)
    ]
    return {
        "wanted": wanted,
        "plane": _plane(wanted, table, at),
        "ranked": sorted(ranked, key=lambda row: -(row["rates"]["f1"] or 0.0)),
        "headed": [(author, thresholds.get(author.pk)) for author in wanted.authors],
        "table": table,
        "notes": table["notes"],
        "rows": comparing.figure_rows(table)
        + comparing.pace_rows(access.project, [author.pk for author in wanted.authors]),
        "few_notes": table["authors"][0]["table"]["few_notes"],
        "labels": [(look_of(looks, row.key), row) for row in comparing.label_rows(table)],
        "learned": [(author.name, learned[author.pk]) for author in wanted.authors if author.pk in learned],
        "gold_spans": table["authors"][0]["table"]["levels"][0]["micro"]["gold"],
        "missed_url": spans_url + _query(wanted, kind=MISSED),
        "untouched_url": spans_url + _query(wanted, kind=UNTOUCHED),
        "touched": table["missed_by_all"] - table["untouched"],
        "only": [
            (figures["author"], figures["only"], spans_url + _query(wanted, kind=f"{ONLY}{figures['author_id']}"))
            for figures in table["authors"]
        ],
    }


@in_project(Can.READ_NOTES)
def compare_spans(request: Request, access: Access) -> HttpResponse:
    """Show the gold spans behind one of the counts (?kind=) in their sentences."""
    back, here = reverse("runs_compare", args=[access.slug]), reverse("compare_spans", args=[access.slug])
    form = CompareForm(request.GET)
    if form.is_valid():
        with error_beside(form):
            wanted = _wanted(access, form)
            if comparing.takes_long(wanted, scores.common_notes(wanted)):
                return redirect(back + _query(wanted))
            spans = scores.telling_spans(wanted)
    if form.errors:
        return _sent_back(request, form, back)
    names = {UNTOUCHED: _("Marked by none"), MISSED: _("Marked by some, but exactly by none")}
    names |= {f"{ONLY}{author.pk}": _("Found only by %(name)s") % {"name": author.name} for author in wanted.authors}
    kind = one_of(request, "kind", list(names))
    page = paged(request, spans.get(kind, []), PAGE)
    shown = [entry for _row, entry in with_context(access, list(page.object_list), list, "comparison")]
    context = {
        "wanted": wanted,
        "page": page,
        "entries": shown,
        "sets": {},
        "kind": kind,
        "kind_names": names,
        "kinds": [(key, name, here + _query(wanted, kind=key)) for key, name in names.items()],
        "back_url": back + _query(wanted),
    }
    return render(request, "runs/comparing/compare_spans.html", context)


@in_project(Can.READ_NOTES, "POST")
def compare_start(request: Request, access: Access) -> HttpResponse:
    """Start the job for a comparison. POST the parameters of the page and a `token`."""
    back, form = reverse("runs_compare", args=[access.slug]), CompareForm(request.POST)
    wanted = attempted(form, lambda: _wanted(access, form))
    if wanted is None:
        return _sent_back(request, form, back)
    job = comparing.start_comparison(wanted=wanted, actor=access.user, token=form_token(request))
    return redirect("job", access.slug, job.number)


# The page of the loop: its rounds, and the next step among freezing, training, running and reviewing.


@require_safe
def loop(request: Request, slug: str) -> HttpResponse:
    return _loop(request, enter_page(request, slug, Can.READ_NOTES), HoldOutForm())


def _loop(request: Request, access: Access, form: HoldOutForm) -> HttpResponse:
    """Render the loop with the form that begins a round."""
    state = loop_of(access.project)
    found = rounds(access.project)
    kind, first = next(iter(TRAINABLE.items()))
    context = {
        "state": state,
        "rounds": found,
        "begun": state.version is not None or any(each.effort.acts for each in found),
        "same": sum(each.comparable for each in found),
        "few_notes": any(each.few_notes for each in found),
        "held_out": next((each.held_out for each in reversed(found) if each.comparable), 0),
        "plots": _plots(found) if len(found) >= FEWEST_ROUNDS else [],
        "form": form,
        "algorithm": f"{kind}:{next(iter(first.algorithms))}",
        "may": _may(access),
        "token": uuid.uuid4(),
    }
    return render(request, "runs/loop/loop.html", context, status=422 if form.errors else 200)


def _may(access: Access) -> dict[str, bool]:
    """Return which steps this person may take."""
    manages, decides = access.can(Can.MANAGE), access.can(Can.MAKE_GOLD)
    return {"freeze": decides, "train": manages, "run": manages, "review": decides}


def _plots(found: Sequence[Round]) -> list[dict[str, Any]]:
    """Return a plot for each figure that at least one round has."""
    versions = [each for each in found if each.version]
    f1 = _("F1 on held-out notes")
    plots: list[tuple[str, str, int, list[tuple[Round, float | None, str]]]] = [
        (_("Gold spans"), _("Spans"), 0, [(each, each.version.span_count, "") for each in found if each.version]),
        (f1, "F1", 2, [(each, each.f1 if each.comparable else None, _reason(each)) for each in versions]),
        (_("Actions per span"), _("Actions per span"), 2, [(each, each.effort.acts_per_span, "") for each in found]),
        (_("Seconds per note"), _("Seconds"), 0, [(each, each.effort.seconds_per_note, "") for each in found]),
    ]
    return [
        {
            "title": title,
            "digits": digits,
            "points": [_point(each, value, reason, interval=title == f1) for each, value, reason in rows],
            "few_notes": title == f1 and any(each.few_notes for each, value, _reason in rows if value is not None),
            "unit": unit,
        }
        for title, unit, digits, rows in plots
        if any(value is not None for _each, value, _reason in rows)
    ]


def _point(each: Round, value: float | None, reason: str, *, interval: bool) -> Point:
    few = each.few_notes if interval and value is not None else None
    if few is None:
        return Point(str(each.number), value, detail=reason)
    return Point(str(each.number), value, few["low"], few["high"], reason)


def _reason(each: Round) -> str:
    """Return why a round has no score in the plot."""
    if each.model is None:
        return _("no model")
    if each.f1 is None:
        return _("no held-out notes")
    return "" if each.comparable else _("other notes")


@in_project(Can.MAKE_GOLD, "POST")
def loop_freeze(request: Request, access: Access) -> HttpResponse:
    """Begin the next round. POST `share`, the hold-out of the first round in percent. Safe to repeat."""
    form = HoldOutForm(request.POST)
    if not form.is_valid():
        return _loop(request, access, form)
    with error_as_message(request):
        begun = begin_round(project=access.project, actor=access.user, share=form.cleaned_data["share"])
        if begun.made:
            text = _("Version %(number)s was frozen. A new round begins.")
        elif begun.split:
            text = _("Notes of version %(number)s were held out. A new round begins.")
        else:
            text = _("Gold has not changed since version %(number)s, so no new version was frozen.")
        say = messages.success if begun.made or begun.split else messages.info
        say(request, text % {"number": begun.version.number})
    return redirect("loop", access.slug)

"""The errors of an author in context, with their causes, which people set here."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse, QueryDict, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotations.agreement.views.causes import CAUSES, answer_causes, changes_causes
from annotations.core.access import Access, Can
from annotations.core.answers import csv_answer, fresh_token
from annotations.core.requests import Request, enter_page, error_as_message, in_project, number, paged, wants_json
from annotations.core.services import ServiceError
from annotations.models import CauseKind
from annotations.notes.selectors.in_context import Entry, LabelLook, label_looks, note_names, with_context
from annotations.scores.rules.causes import Causes, ErrorId
from annotations.scores.rules.errors import ErrorType
from annotations.scores.rules.scorer import THRESHOLD
from annotations.scores.selectors import annotation_set_ids
from annotations.scores.services.asking import category_names, plain_request, score_now
from annotations.scores.services.errors import UNTAGGED, ErrorFilters, ListedErrors, change_error_cause, export_errors
from annotations.scores.services.scoring import Error, ScoreRequest, score_request

PAGE = 25
KINDS = {kind: gettext_lazy(kind.words) for kind in ErrorType}


@dataclass(frozen=True)
class ShownError(Entry):
    """An error in its sentence, its id as text, and its causes."""

    error: str
    causes: set[str]


@in_project(Can.READ_NOTES)
def error_list(request: Request, access: Access, version: int, author: int) -> HttpResponse:
    """Show the errors in their sentences, filtered by ?kind= ?label= ?gold= ?predicted= ?category= ?cause= ?note=."""
    if wants_json(request):
        return fresh_token(request)
    listed = _listed(request, access, version, author)
    if isinstance(listed, HttpResponse):
        return listed
    wanted, table, errors, chosen, causes = listed.wanted, listed.table, listed.errors, listed.chosen, listed.causes
    page = paged(request, listed.rows, PAGE)
    looks = label_looks(access.project, wanted.into)
    shown = _shown(access, list(page.object_list), looks, causes)
    used = {span[2] for row in errors for span in row[2:] if span}
    context = {
        "wanted": wanted,
        "page": page,
        "entries": shown,
        "sets": annotation_set_ids(wanted.author, {entry.note for entry in shown}),
        "chosen": chosen,
        "kinds": [(str(kind), name) for kind, name in KINDS.items()],
        "kind_names": {str(kind): name for kind, name in KINDS.items()},
        "labels": [look for code, look in looks.items() if code in used],
        "category": category_names(wanted).get(chosen.category, chosen.category) if chosen.category else "",
        "note_name": note_names([chosen.note]).get(chosen.note) if chosen.note else "",
        "all": len(errors),
        "total": table["errors"],
        "query": query_of(wanted),
        "default_threshold": THRESHOLD,
        "plain_url": errors_url(wanted),
        "csv_query": _filters_query(request),
        "untagged": UNTAGGED,
        **_tagging(access, wanted, request),
    }
    return render(request, "scores/errors.html", context)


def _listed(request: Request, access: Access, version: int, author: int) -> ListedErrors | HttpResponse:
    """The errors that a request asks for; where the score must be computed first, a redirect to its page."""
    wanted = wanted_of(request, access, version, author)
    if isinstance(wanted, HttpResponse):
        return wanted
    back = reverse("score", args=[access.slug, version, author]) + query_of(wanted)
    with error_as_message(request):
        if found := score_now(wanted):
            return ListedErrors.of(wanted, found, _filters_of(request))
    return redirect(back)


@in_project(Can.EXPORT)
def errors_export(request: Request, access: Access, version: int, author: int) -> HttpResponse | StreamingHttpResponse:
    """The errors that pass the filters, as CSV. The download is recorded as an event."""
    listed = _listed(request, access, version, author)
    if isinstance(listed, HttpResponse):
        return listed
    lines, name = export_errors(project=access.project, actor=access.user, listed=listed)
    return csv_answer(lines, name)


def _shown(access: Access, rows: Sequence[Error], looks: dict[str, LabelLook], causes: Causes) -> list[ShownError]:
    shown = [(ErrorId.of(row), entry) for row, entry in with_context(access, rows, list, "score", looks)]
    return [ShownError(**vars(entry), error=str(one), causes=set(causes.get(one, ()))) for one, entry in shown]


def _tagging(access: Access, wanted: ScoreRequest, request: Request) -> dict[str, Any]:
    """What the buttons of causes need. Their address keeps the filters, for the way back without scripts."""
    here = [access.slug, wanted.reference.number, wanted.author.pk]
    query = request.GET.urlencode()
    return {
        "may_tag": access.can(Can.MAKE_GOLD),
        "causes": CAUSES,
        "cause_url": reverse("score_error_cause", args=here) + (f"?{query}" if query else ""),
    }


def _filters_query(request: Request) -> str:
    """The choices and filters of the list, for the address of the download."""
    query = request.GET.copy()
    query.pop("page", None)
    return f"?{query.urlencode()}" if query else ""


def _filters_of(request: Request) -> ErrorFilters:
    kind, cause = (request.GET.get(name, "") for name in ("kind", "cause"))
    labels = ("label", "gold", "predicted", "category")
    label, gold, predicted, category = (request.GET.get(name, "")[:60] for name in labels)
    return ErrorFilters(
        kind=kind if kind in list(ErrorType) else "",
        label=label,
        gold=gold,
        predicted=predicted,
        category=category,
        cause=cause if cause in [*CauseKind.values, UNTAGGED] else "",
        note=number(request.GET, "note"),
    )


@changes_causes
def error_cause(request: Request, slug: str, version: int, author: int) -> HttpResponse:
    """Change causes of errors, each named by `at`, an ErrorId as text."""
    access = enter_page(request, slug, Can.MAKE_GOLD)
    wanted = wanted_of(request, access, version, author)
    if isinstance(wanted, HttpResponse):
        return wanted
    found = score_now(wanted)

    def change(at: str, kind: str, present: bool) -> set[str]:
        if found is None:
            raise ServiceError(_("The gold or the annotations changed. Open the score again."), code="score")
        return change_error_cause(wanted=wanted, found=found, error=at, kind=kind, present=present, user=access.user)

    query = request.GET.urlencode()
    back = reverse("score_errors", args=[slug, version, author]) + (f"?{query}" if query else "")
    return answer_causes(request, change, action=request.get_full_path(), back=back)


# ── What the pages of one score have in common: the score that is asked for, and the addresses of its errors ──────────


def wanted_of(request: Request, access: Access, version: int, author: int) -> ScoreRequest | HttpResponse:
    """Return what the page is to show.

    Raises Http404 for an unknown version or author. Redirects to the page without choices for an unknown choice.
    """
    plain = plain_request(access, version, author)
    choices = choices_of(request.GET)
    if not any(choices.values()):
        return plain
    try:
        return score_request(access.project, version=version, author_id=author, **choices)
    except ServiceError as error:
        messages.warning(request, str(error))
        return redirect("score", access.slug, version, author)


def choices_of(data: QueryDict) -> dict[str, Any]:
    """What a person chose for a score, as `score_request` takes it."""
    words = {name: data.get(name, "").strip() for name in ("split", "into", "threshold", "tokenizer", "language")}
    return {**words, "types": data.getlist("type")}


def query_of(wanted: ScoreRequest, **more: object) -> str:
    threshold = "" if wanted.threshold == THRESHOLD else wanted.threshold
    kept: dict[str, object] = {"split": wanted.split, "into": wanted.into, "threshold": threshold, "type": wanted.types}
    kept |= {"tokenizer": wanted.tokenizer, "language": wanted.language} | more
    found = {name: value for name, value in kept.items() if value not in ("", None, ())}
    return f"?{urlencode(found, doseq=True)}" if found else ""


def errors_url(wanted: ScoreRequest, **filters: object) -> str:
    slug = wanted.reference.project.slug
    return reverse("score_errors", args=[slug, wanted.reference.number, wanted.author.pk]) + query_of(wanted, **filters)

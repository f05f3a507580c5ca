"""The errors of an author in context, with their causes, which people set here."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe
from django_htmx.http import HttpResponseClientRefresh

from annotations.core.access import Access, Can, enter
from annotations.core.errors import ServiceError
from annotations.core.events import FILE_DOWNLOADED
from annotations.core.requests import Request, number, paged
from annotations.domain.files.csv_lines import csv_line
from annotations.domain.scoring.causes import Causes, ErrorId
from annotations.domain.scoring.errors import Kind
from annotations.domain.scoring.similarity import THRESHOLD
from annotations.models import Cause
from annotations.notes.selectors.in_context import Entry, LabeledText, LabelLook, label_looks, note_names, with_entries
from annotations.notes.views.in_context import shown_in_context
from annotations.scores.selectors import annotation_set_ids
from annotations.scores.services.causes import causes_of_errors, change_error_cause
from annotations.scores.services.scoring import Error, ScoredTable, ScoreRequest, score_errors
from annotations.scores.views.wanted import KINDS, category_names, errors_url, query_of, score_now, wanted_of

PAGE = 25
# Errors whose notes are read together for a download.
AT_ONCE = 200
UNTAGGED = "none"
CAUSES = [(kind.value, kind.label) for kind in Cause.Kind]


@dataclass(frozen=True)
class ShownError(Entry):
    """An error in its sentence, its id as text, and its causes."""

    error: str
    causes: set[str]


@require_safe
def error_list(request: Request, slug: str, version: int, author: int) -> HttpResponse:
    """Show the errors in their sentences, filtered by ?kind= ?label= ?gold= ?predicted= ?category= ?cause= ?note=."""
    access = enter(request.user, slug, Can.READ_NOTES)
    listed = _listed(request, access, version, author)
    if isinstance(listed, HttpResponse):
        return listed
    wanted, table, errors, chosen, causes = listed.wanted, listed.table, listed.errors, listed.chosen, listed.causes
    page = paged(request, listed.rows, PAGE)
    looks = label_looks(access.project, wanted.into)
    shown = _shown(access, list(page.object_list), looks, causes)
    used = {span[2] for row in errors for span in row[2:] if span}
    context = {
        "access": access,
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


@dataclass(frozen=True)
class _Listed:
    """The errors of a score, and what the filters of a request choose of them."""

    wanted: ScoreRequest
    table: ScoredTable
    errors: list[Error]
    chosen: "_Filters"
    causes: Causes

    @property
    def category_of(self) -> dict[str, str]:
        return {row["label"]: row["category"] for row in self.table["labels"]}

    @property
    def rows(self) -> list[Error]:
        category_of = self.category_of
        return [row for row in self.errors if self.chosen.takes(row, category_of, self.causes)]


def _listed(request: Request, access: Access, version: int, author: int) -> _Listed | HttpResponse:
    """The errors that a request asks for; where the score must be computed first, a redirect to its page."""
    wanted = wanted_of(request, access, version, author)
    if isinstance(wanted, HttpResponse):
        return wanted
    back = reverse("score", args=[access.project.slug, version, author]) + query_of(wanted)
    try:
        found = score_now(wanted)
        errors = score_errors(wanted, found) if found else []
    except ServiceError as error:
        messages.error(request, str(error))
        return redirect(back)
    if found is None:
        return redirect(back)
    return _Listed(wanted, found.table, errors, _Filters.of(request), causes_of_errors(wanted))


@require_safe
def errors_export(request: Request, slug: str, version: int, author: int) -> HttpResponse | StreamingHttpResponse:
    """The errors that pass the filters, as CSV. The download is recorded as an event."""
    access = enter(request.user, slug, Can.EXPORT)
    listed = _listed(request, access, version, author)
    if isinstance(listed, HttpResponse):
        return listed
    FILE_DOWNLOADED.record(actor=access.user, project_id=access.project.pk, data={"errors": "csv"})
    response = StreamingHttpResponse(_lines(access, listed), content_type="text/csv; charset=utf-8")
    day = timezone.localdate().isoformat()
    response["Content-Disposition"] = f'attachment; filename="{slug}-errors-{day}.csv"'
    return response


def _lines(access: Access, listed: _Listed) -> Iterator[str]:
    """CSV by RFC 4180 with a header row. Offsets are code points, end-exclusive; labels are codes."""
    looks, category_of, rows = label_looks(access.project, listed.wanted.into), listed.category_of, listed.rows
    sides = [f"{side}_{what}" for side in ("gold", "predicted") for what in ("start", "end", "label", "text")]
    yield csv_line(["note", "line", "type", *sides, "category", "causes", "sentence"])
    for at in range(0, len(rows), AT_ONCE):
        for row, entry in with_entries(rows[at : at + AT_ONCE], looks):
            _note, kind, gold, predicted = row
            label = next(span[2] for span in (gold, predicted) if span)
            yield csv_line(
                [
                    entry.name, entry.line, str(kind), *_cells(gold, entry.first), *_cells(predicted, entry.second),
                    category_of.get(label, ""), " ".join(sorted(listed.causes.get(ErrorId.of(row), ()))),
                    entry.before + entry.marked + entry.after,
                ]
            )  # fmt: skip


def _cells(span: Sequence[Any] | None, shown: LabeledText | None) -> list[object]:
    return [*span, shown.quote] if span and shown else [None] * 4


def _shown(access: Access, rows: Sequence[Error], looks: dict[str, LabelLook], causes: Causes) -> list[ShownError]:
    entries = shown_in_context(access, rows, "score", looks)
    # Entries leave out the errors of notes that were erased meanwhile.
    present = {entry.note for entry in entries}
    ids = [ErrorId.of(row) for row in rows if row[0] in present]
    return [
        ShownError(**vars(entry), error=str(error), causes=set(causes.get(error, ())))
        for entry, error in zip(entries, ids, strict=True)
    ]


def _tagging(access: Access, wanted: ScoreRequest, request: Request) -> dict[str, Any]:
    """What the buttons of causes need. Their address keeps the filters, for the way back without scripts."""
    here = [access.project.slug, wanted.reference.number, wanted.author.pk]
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


@dataclass(frozen=True)
class _Filters:
    """The filters of the list; an empty value filters nothing. `label` is the gold or the predicted label."""

    kind: str
    label: str
    gold: str
    predicted: str
    category: str
    cause: str
    note: int | None

    @classmethod
    def of(cls, request: Request) -> "_Filters":
        kind, cause = (request.GET.get(name, "") for name in ("kind", "cause"))
        labels = ("label", "gold", "predicted", "category")
        label, gold, predicted, category = (request.GET.get(name, "")[:60] for name in labels)
        return cls(
            kind=kind if kind in list(Kind) else "",
            label=label,
            gold=gold,
            predicted=predicted,
            category=category,
            cause=cause if cause in [*Cause.Kind.values, UNTAGGED] else "",
            note=number(request.GET, "note"),
        )

    @property
    def any(self) -> bool:
        return any((self.kind, self.label, self.gold, self.predicted, self.category, self.cause, self.note))

    def takes(self, row: Error, category_of: Mapping[str, str], causes: Causes) -> bool:
        note, kind, *spans = row
        gold, predicted = (span[2] if span else "" for span in spans)
        return (
            self.kind in ("", kind)
            and self.note in (None, note)
            and (not self.label or self.label in (gold, predicted))
            and self.gold in ("", gold)
            and self.predicted in ("", predicted)
            and self.category in ("", category_of.get(gold or predicted))
            and (not self.cause or self.cause in (causes.get(ErrorId.of(row)) or (UNTAGGED,)))
        )


@require_POST
def error_cause(request: Request, slug: str, version: int, author: int) -> HttpResponse:
    """Add a cause to an error (POST `added`) or remove it (`removed`). htmx gets the updated buttons."""
    access = enter(request.user, slug, Can.MAKE_GOLD)
    wanted = wanted_of(request, access, version, author)
    if isinstance(wanted, HttpResponse):
        return wanted
    present = "added" in request.POST
    kind, error = request.POST.get("added" if present else "removed", ""), request.POST.get("error", "")
    causes, message = set[str](), ""
    try:
        found = score_now(wanted)
        if found is None:
            # The list of errors redirects to the score's page, which says why there is none.
            back = reverse("score_errors", args=[slug, version, author]) + query_of(wanted)
            return HttpResponseClientRefresh() if request.htmx else redirect(back)
        causes = change_error_cause(
            wanted=wanted, found=found, error=error, kind=kind, present=present, user=access.user
        )
    except ServiceError as refused:
        message = str(refused)
    if request.htmx:
        entry = {"error": error, "causes": causes, "message": message}
        return render(request, "scores/error_cause.html", {"entry": entry, **_tagging(access, wanted, request)})
    if message:
        messages.error(request, message)
    query = request.GET.urlencode()
    return redirect(reverse("score_errors", args=[slug, version, author]) + (f"?{query}" if query else ""))

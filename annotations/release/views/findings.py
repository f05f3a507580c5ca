"""The findings of the leak gate: their list, and decisions about them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Self

from django.contrib import messages
from django.core.paginator import Page, Paginator
from django.http import Http404, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_POST

from annotations.core import requests
from annotations.core.access import Access, Can, note_for
from annotations.core.answers import fresh_token, json_answers
from annotations.core.batches import outcomes, read_batch
from annotations.core.changes import malformed, not_whole
from annotations.core.services import ServiceError, record_reads
from annotations.models import Document, Label, LeakFinding, Release, ReleasedNoteState, ReleaseState
from annotations.notes.selectors.in_context import label_looks
from annotations.release.rules.redaction.policy import Action
from annotations.release.selectors.findings import (
    FILTER_NAMES,
    FILTERS,
    OF_STRING,
    FindingGroup,
    beside,
    finding_counts,
    findings_of,
    groups_of,
    stored_findings,
    stored_pieces,
    string_keys,
)
from annotations.release.selectors.releases import around_note, release_for
from annotations.release.services.deciding import UNDO, answer_chosen, replacements
from annotations.release.services.previewing import SURROGATES, show_released, viewed
from annotations.text.names import whole_number
from annotations.text.spans import Span

# Strings on a page, and replacements in the preview of a string.
STRINGS, INSTEAD = 10, 4


@requests.in_project(Can.RELEASE)
def findings(request: requests.Request, access: Access, number: int) -> HttpResponse:
    """List the findings, grouped by string; ?state= open, decided or all; ?string= shows one string in full."""
    found = release_for(access, number)
    if requests.wants_json(request):
        return fresh_token(request)
    if "instead" in request.GET:
        return _replacements(request, found)
    chosen = requests.one_of(request, "state", FILTERS)
    if "string" in request.GET:
        key = _key(request.GET["string"])
        count = findings_of(found).filter(string_key=key).count() if key is not None else 0
        if key is None or not count:
            raise Http404("This release has no findings of this string.")
        part: Page[Any] = requests.paged(request, range(count), OF_STRING)
        groups = groups_of(found, [key], most=OF_STRING, after=part.start_index() - 1)
    else:
        part = Paginator(string_keys(found, chosen), STRINGS).get_page(whole_number(request.GET.get("page", "")))
        groups, key = groups_of(found, list(part.object_list)), None
    context = _context(access, found, groups, chosen)
    filters = [(name, FILTER_NAMES[name], context["counts"][name]) for name in FILTERS]
    return render(request, "release/findings.html", context | {"page": part, "one": key, "filters": filters})


def _context(access: Access, release: Release, groups: list[FindingGroup], chosen: str) -> dict[str, Any]:
    """What the page and its parts show of the groups. Records each note that they show a part of as read."""
    notes = (shown.note for group in groups for shown in group.shown)
    record_reads(actor=access.user, project_id=access.project.pk, notes=notes, what="leak findings")
    return {
        "release": release,
        "groups": groups,
        "chosen": chosen,
        "counts": finding_counts(release),
        "decidable": release.state == ReleaseState.PREPARED,
        "labels": sorted(release.policy.rules),
        "one": None,
    }


def _replacements(request: requests.Request, release: Release) -> HttpResponse:
    """What would replace the open findings of a string (?instead=): a part of the page, which computes it when seen."""
    key = _key(request.GET["instead"])
    if key is None:
        raise Http404("This release has no findings of this string.")
    found = replacements(release=release, string_key=key).most_common()
    context = {"found": found[:INSTEAD], "more": len(found[INSTEAD:])}
    return render(request, "release/instead.html", context)


def _key(value: str) -> int | None:
    """The key of a string, a signed number; None for anything else."""
    found = whole_number(value.removeprefix("-"))
    return found if found is None or not value.startswith("-") else -found


def release_decide(request: requests.Request, slug: str, number: int) -> HttpResponseBase:
    """Answer findings: replace, allow, or undo. The script sends JSON, many answers at once; a form sends one."""
    return (_decide_many if requests.is_json(request) else _decide)(request, slug=slug, number=number)


@requests.in_project(Can.RELEASE, "POST")
def _decide(request: requests.Request, access: Access, number: int) -> HttpResponse:
    """Answer one finding (`finding`) or all of a string (`string`), and redirect to the list."""
    found = release_for(access, number)
    with requests.error_as_message(request):
        given = FindingAnswer.of(request.POST.dict())
        messages.success(request, _said(given.answer, _answer(access, found, [given])))
    return _back(request, found, _key(request.POST.get("string", "")))


@dataclass(frozen=True, slots=True)
class FindingAnswer:
    """An answer to a finding, or to all open findings of a string (`finding` is 0)."""

    string: int
    finding: int
    answer: str
    label: str

    @classmethod
    def of(cls, data: dict[str, Any]) -> Self:
        key, answer, label = _key(str(data.get("string"))), data.get("answer"), data.get("label", "")
        if key is None or answer not in (*LeakFinding.Answer.values, UNDO) or not isinstance(label, str):
            raise malformed(gettext_lazy("This answer is not possible. Nothing was changed. Reload the page."))
        finding = whole_number(str(data.get("finding", "0")))
        if finding is None:
            raise not_whole("finding")
        return cls(key, finding, answer, label)

    @property
    def together(self) -> tuple[object, ...]:
        """What answers that are given in one act have in common."""
        return self.answer, self.label, 0 if self.finding else self.string


def _answer(access: Access, release: Release, given: Sequence[FindingAnswer]) -> int:
    """Give answers that have `together` in common, and return how many findings were answered. Raises ServiceError."""
    first, findings = given[0], [each.finding for each in given if each.finding]
    return answer_chosen(
        release=release,
        answer=first.answer,
        findings=findings,
        string_key=None if findings else first.string,
        actor=access.user,
        label=first.label,
    )


@require_POST
@json_answers(gettext_lazy("You don't have permission to release this project's notes."))
def _decide_many(request: requests.Request, slug: str, number: int) -> HttpResponse:
    """Answer findings in the order of `changes` (annotations.core.batches), and return their groups as they are now."""
    access = requests.enter_page(request, slug, Can.RELEASE)
    found, data = release_for(access, number), requests.body_of(request)
    answers, errors = read_batch(data, FindingAnswer.of)
    for _together, run in groupby(answers.items(), lambda each: each[1].together):
        some = dict(run)
        try:
            _answer(access, found, list(some.values()))
        except ServiceError as error:
            errors |= dict.fromkeys(some, error)
    groups = groups_of(found, list(dict.fromkeys(each.string for each in answers.values())))
    context = _context(access, found, groups, str(data.get("state", "")))
    html = {
        f"g{each.key}": render_to_string("release/finding_group.html", context | {"group": each}, request)
        for each in groups
    }
    said = outcomes(len(data["changes"]), errors)
    counts = {f"count-{name}": f"{n:,}" for name, n in context["counts"].items()}
    return JsonResponse({"outcomes": said, "parts": html, "counts": counts})


def _said(answer: str, n: int) -> str:
    if not n:
        return _("Nothing was changed: these findings were decided meanwhile.")
    if answer == UNDO:
        return ngettext("%(n)d finding is open again.", "%(n)d findings are open again.", n) % {"n": n}
    if answer == LeakFinding.Answer.REPLACE:
        return ngettext(
            "%(n)d finding is replaced in the released text.", "%(n)d findings are replaced in the released text.", n
        ) % {"n": n}
    return ngettext("%(n)d finding is allowed.", "%(n)d findings are allowed.", n) % {"n": n}


def _back(request: requests.Request, release: Release, key: int | None) -> HttpResponse:
    """To the list as it was filtered, at the string."""
    state = request.POST.get("state", "")
    query = f"?state={state}" if state in FILTERS else ""
    place = f"#g{key}" if key is not None else ""
    url = reverse("release_findings", args=[release.project.slug, release.number])
    return redirect(f"{url}{query}{place}")


# A released note beside its original, and the surrogates that the pages of notes show.


MOST_SPANS = 10_000


@requests.in_project(Can.RELEASE)
def release_note(request: requests.Request, access: Access, number: int, pk: int) -> HttpResponse:
    """Show the original and the released text of a note side by side. Opening the page is recorded."""
    release = release_for(access, number)
    note = show_released(release=release, note=pk, actor=access.user)
    findings = list(note.findings.all())
    previous, following = around_note(note)
    waiting, pieces = note.state == ReleasedNoteState.PENDING, stored_pieces(note.pieces)
    context = {
        "release": release,
        "note": note,
        "rows": []
        if waiting
        else beside(
            note.document.text, note.text, pieces, stored_findings(findings, pieces), looks=label_looks(access.project)
        ),
        "findings": findings,
        "open": sum(not finding.decision for finding in findings),
        "previous": previous,
        "following": following,
    }
    return render(request, "release/note.html", context)


@require_POST
@json_answers(gettext_lazy("You don't have permission to see surrogates in this project."))
def note_surrogates(request: requests.Request, slug: str, pk: int) -> HttpResponse:
    """Surrogates for spans of a note, as JSON, for a page on which the spans change.

    The request has `spans`, a list of [start, end, label id]. The answer has `texts`: [start, end, text] of each
    stretch that the spans cover, without text where it stays: this answer has no text of the note, since only the page
    that asks has recorded that the note was opened.
    """
    access = requests.enter_page(request, slug, Can.MAKE_GOLD)
    document = note_for(access, pk)
    found = viewed(document=document, spans=_spans(document, requests.body_of(request)), view=SURROGATES)
    texts = [
        [one.start, one.end, None if one.action == Action.KEEP else found.text[one.new_start : one.new_end]]
        for one in found.pieces
    ]
    return JsonResponse({"texts": texts})


def _spans(document: Document, body: dict[str, Any]) -> list[Span]:
    rows = body.get("spans")
    if not isinstance(rows, list) or len(rows) > MOST_SPANS:
        raise malformed(
            gettext_lazy("The field “spans” must be a list of at most %(most)s spans."), most=f"{MOST_SPANS:,}"
        )
    codes = dict(Label.objects.filter(label_set__project=document.project).values_list("pk", "code"))
    spans = []
    for row in rows:
        if not isinstance(row, list) or len(row) != 3:
            raise malformed(gettext_lazy("The field “spans” must hold lists of start, end and label."))
        start, end, label = requests.bounds_of(row)
        if not start < end <= document.length or label not in codes:
            raise malformed(
                gettext_lazy("A span is outside of the text, or its label does not exist. Reload the page.")
            )
        spans.append(Span(start, end, codes[label]))
    return spans

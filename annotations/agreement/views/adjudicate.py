"""The page on which one note is adjudicated, the JSON for its script, and the outcome that its annotators see."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse, JsonResponse
from django.middleware.csrf import get_token
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST, require_safe

from annotations.agreement.rules.units import Fate, SpanOutcome
from annotations.agreement.selectors.desk import DeskState, desk, desk_state
from annotations.agreement.services.deciding import decide, decide_many, finish_adjudication, open_outcome, reopen
from annotations.agreement.services.figures import change_cause
from annotations.agreement.services.plan import WITH_A_SPAN, Act, ShownLocation
from annotations.agreement.services.plan import Request as AdjudicateRequest
from annotations.core.access import Access, Can, note_for
from annotations.core.answers import json_answers
from annotations.core.batches import outcomes, read_batch
from annotations.core.changes import change_id_of, malformed, name_of, not_one_of, value_of
from annotations.core.labels import LabelItem, labels_of
from annotations.core.requests import (
    Request,
    body_of,
    bounds_of,
    enter_page,
    in_project,
    is_json,
    paged,
    whole_of,
)
from annotations.core.services import NOTE_READ, ServiceError
from annotations.core.spans import Stored, spans_of
from annotations.gold.services.making import make_gold
from annotations.models import AnnotationSet, AnnotationSetState, AuthorKind, CauseKind, Document
from annotations.notes.selectors.comments import threads
from annotations.text.names import MAX_OFFSET
from annotations.text.segments import around
from annotations.text.spans import Span

# A request names the locations of its act. A note can't have more locations than this, because its spans are limited.
MOST_LOCATIONS = 20_000
# Spans on one page: two sets at their limit make 20,000.
ROWS = 200
FATES = {Fate.KEPT: _("Kept"), Fate.CHANGED: _("Changed"), Fate.LEFT_OUT: _("Removed"), Fate.MISSED: _("Missed")}


def _entered(request: Request, slug: str, pk: int) -> tuple[Access, Document]:
    access = enter_page(request, slug, Can.MAKE_GOLD)
    return access, note_for(access, pk)


def _state(access: Access, note: Document) -> DeskState:
    return desk_state(access.project, desk(access.project, note))


as_json = json_answers(_("You don't have permission to adjudicate in this project."), enter=_entered, now=_state)


@require_safe
def adjudicate(request: Request, slug: str, pk: int) -> HttpResponse:
    """The page of one note. Opening it is recorded."""
    access, note = _entered(request, slug, pk)
    NOTE_READ.record(actor=access.user, note=note)
    labels = labels_of(note.project_id)
    state = _state(access, note)
    urls = {name: reverse(f"adjudicate_{name}", args=[slug, pk]) for name in ("decide", "cause", "finish", "state")}
    context = {
        "note": note,
        "labels": labels,
        "nothing": [],  # The script draws the locations.
        "finished": state["finished"],
        "ready": state["ready"],
        "causes": [(kind.value, kind.label) for kind in CauseKind],
        "gold": _gold(note) if state["finished"] else None,
        "data": {
            "text": note.text,
            "labels": labels,
            "causes": {kind.value: str(kind.label) for kind in CauseKind},
            "person": access.user.pk,
            "name": access.user.username,
            "urls": urls,
            **state,
        },
    }
    return render(request, "agreement/adjudicate/adjudicate.html", context)


def _gold(note: Document) -> dict[str, Any]:
    """The adjudicated set, the note's gold, and whether both are the same, for the button that makes gold."""
    sets = AnnotationSet.objects.filter(
        document_id=note.pk, author__kind__in=[AuthorKind.ADJUDICATED, AuthorKind.GOLD]
    ).select_related("author")
    found = {each.author.kind: each for each in sets}
    gold, own = found.get(AuthorKind.GOLD), found.get(AuthorKind.ADJUDICATED)
    same = gold is not None and own is not None and _spans(gold) == _spans(own)
    is_gold = gold is not None and gold.state == AnnotationSetState.SUBMITTED
    return {"set": own, "gold": gold, "is_gold": is_gold, "same": same and is_gold}


def _spans(each: AnnotationSet) -> dict[tuple[int, int, int], Stored | None]:
    rows = each.spans.values_list("start", "end", "label_id", "attributes")
    return {(start, end, label): attributes for start, end, label, attributes in rows}


@require_POST
@as_json
def adjudicate_decide(request: Request, access: Access, note: Document) -> HttpResponse:
    """Make the acts of a batch, `changes`, or the one in the body. The answer is the note's new state.

    Of a batch, it also has the outcome of each act (annotations.core.batches).
    """
    data = body_of(request)
    if "changes" not in data:
        return JsonResponse(decide(project=access.project, document=note, user=access.user, request=_read(data)))
    requests, errors = read_batch(data, _read)
    done = decide_many(project=access.project, document=note, user=access.user, requests=requests)
    said = outcomes(len(data["changes"]), errors | done.errors)
    return JsonResponse({**done.state, "steps": done.steps, "outcomes": said})


@require_POST
@as_json
def adjudicate_cause(request: Request, access: Access, note: Document) -> HttpResponse:
    """Add a cause to a disagreement, or remove it if not `present`. The answer is the note's new state."""
    data = body_of(request)
    kind, present = data.get("kind"), data.get("present")
    if kind not in CauseKind.values:
        raise not_one_of("kind", CauseKind.values)
    if not isinstance(present, bool):
        raise malformed(_("The field “present” must be true or false."))
    start, end = (whole_of(data.get(field), field, MAX_OFFSET) for field in ("start", "end"))
    change_cause(document=note, start=start, end=end, kind=kind, present=present, user=access.user)
    return JsonResponse(_state(access, note))


@require_safe
@as_json
def adjudicate_state(request: Request, access: Access, note: Document) -> HttpResponse:
    """The note's current state, with a fresh CSRF token."""
    return JsonResponse({**_state(access, note), "person": access.user.pk, "csrf": get_token(request)})


@require_POST
@as_json
def adjudicate_finish(request: Request, access: Access, note: Document) -> HttpResponse:
    """Finish the adjudication of this note. The script gets JSON, a form the page again.

    JSON `gold`: true to make gold of the outcome and go on to the next note. Where the note has other gold, the page
    comes again, which asks whether to replace that gold.
    """
    here = access.url("adjudicate", note.pk)
    try:
        finish_adjudication(project=access.project, document=note, user=access.user)
    except ServiceError as error:
        if is_json(request):
            raise
        messages.error(request, str(error))
    if not is_json(request):
        return redirect(here)
    goes_on = request.json.get("gold") is True and _made_gold(request, access, note)
    following = f"{access.url('adjudicate_next')}?after={note.pk}"
    return JsonResponse({"next": following if goes_on else here})


def _made_gold(request: Request, access: Access, note: Document) -> bool:
    """Make gold of the adjudicated set, unless the note has other gold."""
    own = AnnotationSet.objects.get(document_id=note.pk, author__kind=AuthorKind.ADJUDICATED)
    try:
        make_gold(document=note, annotation_set=own, actor=access.user)
    except ServiceError as error:
        messages.warning(request, str(error))
        return False
    messages.success(request, gettext("Previous note: adjudicated, and its gold was made."))
    return True


@require_POST
@as_json
def adjudicate_reopen(request: Request, access: Access, note: Document) -> HttpResponse:
    """Reopen the adjudication of this note, and redirect to its page."""
    reopen(project=access.project, document=note, user=access.user)
    return redirect("adjudicate", access.slug, note.pk)


# ── The outcome, which names no other annotator ──────────────────────────────────────────────────────────────────────


@in_project(Can.ANNOTATE)
def outcome(request: Request, access: Access, pk: int) -> HttpResponse:
    """Show the outcome: 404 until the adjudication is finished, 403 where the project doesn't show outcomes."""
    note = note_for(access, pk)
    adjudicated, lines = open_outcome(access=access, note=note)
    labels = labels_of(access.project.pk)
    by_id = {str(label["id"]): label for label in labels}
    counts = {fate: sum(line.fate == fate for line in lines) for fate in Fate}
    page = paged(request, lines, ROWS)
    context: dict[str, Any] = {
        "note": note,
        "page": page,
        "lines": [_line(note, line, by_id) for line in page],
        "counts": [(fate.value, FATES[fate], counts[fate]) for fate in Fate],
        "labels": labels,
        "spans": spans_of(adjudicated.pk),
        "threads": [thread for thread in threads(access, note) if not thread.annotation_set],
    }
    return render(request, "agreement/adjudicate/outcome.html", context)


def _line(note: Document, line: SpanOutcome, labels: dict[str, LabelItem]) -> dict[str, Any]:
    either = [span for span in (line.own, line.now) if span is not None]
    start, end = min(span.start for span in either), max(span.end for span in either)
    low, high = around(note.text, start, end)
    return {
        "fate": line.fate.value,
        "name": FATES[line.fate],
        "own": _shown(note, line.own, labels),
        "now": _shown(note, line.now, labels),
        "how": _how(line),
        "before": note.text[low:start],
        "text": note.text[start:end],
        "after": note.text[end:high],
    }


def _shown(note: Document, span: Span | None, labels: dict[str, LabelItem]) -> dict[str, Any] | None:
    if span is None:
        return None
    label = labels.get(span.label)
    return {
        "text": note.text[span.start : span.end],
        "name": label["name"] if label else "?",
        "hue": label["hue"] if label else 0,
    }


def _how(line: SpanOutcome) -> str:
    if line.fate != Fate.CHANGED:
        return ""
    if line.moved and line.relabeled:
        return gettext("different bounds and label")
    return gettext("different bounds") if line.moved else gettext("different label")


# ── Parse the request ────────────────────────────────────────────────────────────────────────────────────────────────


def _read(data: dict[str, Any]) -> AdjudicateRequest:
    try:
        act = Act(str(data.get("act")))
    except ValueError:
        raise not_one_of("act", Act) from None
    quote = data.get("quote")
    if act is Act.OWN and not isinstance(quote, str):
        raise malformed(_("The field “quote” must be the marked text."))
    return AdjudicateRequest(
        change_id=change_id_of(data),
        act=act,
        seen=_seen(data.get("seen", [])),
        annotator=whole_of(data.get("annotator"), "annotator") if act is Act.ANNOTATOR else None,
        span=bounds_of([data.get(field) for field in ("start", "end", "label")]) if act in WITH_A_SPAN else None,
        quote=quote if act is Act.OWN else None,
        attribute=(name_of(data), value_of(data)) if act is Act.ATTRIBUTE else None,
    )


def _seen(value: object) -> tuple[ShownLocation, ...]:
    if not isinstance(value, list) or len(value) > MOST_LOCATIONS:
        raise malformed(_("The field “seen” must be a list of [start, end, key]."))
    found = []
    for each in value:
        if not isinstance(each, list) or len(each) != 3 or not isinstance(each[2], str):
            raise malformed(_("The field “seen” must be a list of [start, end, key]."))
        found.append(
            ShownLocation(whole_of(each[0], "seen", MAX_OFFSET), whole_of(each[1], "seen", MAX_OFFSET), each[2])
        )
    return tuple(found)

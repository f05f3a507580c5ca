"""The review of a run's suggestions in one note: a page for people, and JSON for its script."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any, Literal
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, JsonResponse
from django.middleware.csrf import get_token
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe
from pydantic import Field, TypeAdapter, ValidationError

from annotations.annotate.selectors.personal import own_labels
from annotations.core.access import Access, Can
from annotations.core.addresses import address
from annotations.core.answers import json_answers
from annotations.core.batches import outcomes, read_batch
from annotations.core.changes import Offset, Whole, malformed, read_request
from annotations.core.labels import placeholders_of
from annotations.core.requests import (
    Request,
    body_of,
    bounds_of,
    enter_page,
    error_as_message,
    in_project,
    is_json,
    number,
    paged,
)
from annotations.core.services import NOTE_READ, ServiceError
from annotations.exchange.selectors import places_in
from annotations.models import Author, Document
from annotations.review.selectors import reviewing
from annotations.review.selectors.planted import found_of, hidden_at, hints_of, suggestion_named
from annotations.review.selectors.precision import rates_of
from annotations.review.selectors.state import ReviewState, Seen, goes_on, review_state, shown_to
from annotations.review.selectors.suggestions import origin_of
from annotations.review.services.deciding import ON_A_SUGGESTION, WITH_BOUNDS, decide, decide_many
from annotations.review.services.deciding import Request as ReviewRequest
from annotations.review.services.finishing import MOST_REST, finish_review, reopen_review
from annotations.review.services.log import Act
from annotations.review.services.queue import ONE_IN, next_in_queue
from annotations.text.labels import RESERVED_HOTKEYS

# Filters that are carried from note to note. The searched text is not, because URLs must not hold note text.
KEPT = ("order", "label", "source", "state", "action", "agree", "least", "most")
LONGEST = 80
Flag = Annotated[bool, Field(strict=True)]
Numbers = Annotated[Sequence[Whole], Field(max_length=MOST_REST)]
# Rows of the list of runs.
RUNS = 30


def _entered(request: Request, slug: str, author: int, pk: int) -> tuple[Access, Author, Document]:
    access = enter_page(request, slug, Can.MAKE_GOLD)
    return access, *reviewing.review_for(access, author, pk)


def _state(access: Access, run: Author, note: Document) -> ReviewState:
    return shown_to(access, review_state(document=note, author=run, user=access.user))


as_json = json_answers(_("You don't have permission to review in this project."), enter=_entered, now=_state)


@in_project(Can.MAKE_GOLD)
def reviews(request: Request, access: Access) -> HttpResponse:
    """List the runs whose suggestions can be reviewed, newest first. A single run opens at its next note."""
    runs = reviewing.run_authors(access.project)
    if len(runs) == 1:
        return redirect("review_next", access.slug, runs[0].pk)
    page = paged(request, runs, RUNS)
    rows = [(run, reviewing.review_progress(run, access.user)) for run in page]
    return render(request, "review/reviews.html", {"page": page, "rows": rows})


@in_project(Can.MAKE_GOLD)
def review_next(request: Request, access: Access, author: int) -> HttpResponse:
    """Redirect to the next note after ?after=ID in the order of ?order= and ?label=, or say that none is left.

    The note's address says how it was chosen.
    """
    run = reviewing.run_author(access.project, author)
    queue, after = reviewing.NoteOrder.of(request.GET), number(request.GET, "after") or 0
    found = next_in_queue(run, access.project, queue, access.user, after)
    if found is not None:
        return redirect(f"{access.url('review', run.pk, found)}{kept(request, **queue.chosen)}")
    context = {"run": run, "progress": reviewing.review_progress(run, access.user)}
    return render(request, "review/done.html", context)


def kept(request: Request, **more: object) -> str:
    """The query string with this request's filters for the next URL. It never holds text."""
    pairs = [(name, str(value)) for name, value in more.items()]
    pairs += [(name, request.GET[name][:LONGEST]) for name in KEPT if request.GET.get(name)]
    return f"?{urlencode(pairs)}" if pairs else ""


@require_safe
def review(request: Request, slug: str, author: int, pk: int) -> HttpResponse:
    """The page of one note. Opening the page is recorded as an event."""
    access, run, note = _entered(request, slug, author, pk)
    NOTE_READ.record(actor=access.user, note=note, data={"run": run.pk})
    labels = own_labels(note.project_id, access.user.pk)
    for label in labels:
        # The page's own keys have priority. A label with such a key, from before it was reserved, can only be clicked.
        label["key"] = "" if label["key"].casefold() in RESERVED_HOTKEYS else label["key"]
    args = [slug, run.pk, note.pk]
    state = review_state(document=note, author=run, user=access.user)
    planting = state["planting"]
    state = shown_to(access, state)
    context = {
        "run": run,
        "note": note,
        "labels": labels,
        "progress": reviewing.review_progress(run, access.user),
        "of": range(1, 1 + max((suggestion.get("of", 0) for suggestion in state["suggestions"]), default=0)),
        "list": reviewing.review_list(run, note.pk, access.user),
        "finished": state["finished"],
        "stage": state["stage"],
        "origin": origin_of(note) if state["has_finished_gold"] and not state["finished"] else None,
        "kept": kept(request),
        "again": kept(request, **reviewing.NoteOrder.that_chose(request.GET).chosen),
        "next": kept(request, after=note.pk),
        "recent": reviewing.last_decided(run, access.user, note),
        "one_in": ONE_IN,
        "planting": planting,
        "nothing": [],  # the script draws the suggestions
        "data": {
            "text": note.text,
            "labels": labels,
            "person": access.user.pk,
            "name": access.user.username,
            "urls": {name: reverse(f"review_{name}", args=args) for name in ("decide", "finish", "state")}
            | {"surrogates": address("note.surrogates", slug, note.pk)},
            "placeholders": placeholders_of(access.project),
            "rates": [[*key, rate.right, rate.decided] for key, rate in rates_of(run).items()],
            "hints": hints_of(note, run),
            "source": places_in(slug, note),
            **state,
        },
    }
    return render(request, "review/review.html", context)


@require_POST
@as_json
def review_decide(request: Request, access: Access, run: Author, note: Document) -> HttpResponse:
    """Make the decisions of a batch, `changes`, or the one in the body. The answer is the new state of the review.

    Of a batch, it also has the outcome of each decision (annotations.core.batches), and it may be the state of the part
    of the text that the batch has changed, if the page names the `version` of the state that it has.
    """
    data, known = body_of(request), suggestion_named(access.project, run, note)
    if "changes" not in data:
        state = decide(document=note, author=run, user=access.user, request=_decision_of(data, known))
        return JsonResponse(shown_to(access, state))
    requests, errors = read_batch(data, lambda each: _decision_of(each, known))
    version = data.get("version")
    done = decide_many(document=note, author=run, user=access.user, requests=requests, version=version)
    answer = {"steps": done.steps, "outcomes": outcomes(len(data["changes"]), errors | done.errors)}
    return JsonResponse({**shown_to(access, done.state), **answer})


@require_safe
@as_json
def review_state_json(request: Request, access: Access, run: Author, note: Document) -> HttpResponse:
    """The current state of the review, with a fresh form token."""
    return JsonResponse(_state(access, run, note) | {"person": access.user.pk, "csrf": get_token(request)})


@require_POST
@as_json
def review_finish(request: Request, access: Access, run: Author, note: Document) -> HttpResponse:
    """Finish the review of this note. The script gets JSON; a form is redirected to the next note. ?chosen= is that of
    the page's address: the order by which `review_next` chose the note.

    JSON `rest`: aliases of open suggestions that finishing accepts. `removals`: numbers of open proposed removals that
    it accepts; `with_removals`: true if the person allows that. `with_gold`: true if the person allows them to be added
    to gold that the note already has. `with_doubtful`: true if the person allows doubtful ones to be accepted. If
    missed planted leaks or differences between two reviewers must be decided first, the answer is the new state of the
    review.
    """
    hidden = hidden_at(run, note)
    queue = reviewing.NoteOrder.that_chose(request.GET)
    following = f"{access.url('review_next', run.pk)}{kept(request, after=note.pk)}"
    if is_json(request):
        known = suggestion_named(access.project, run, note)
        asked = _finishing_of(body_of(request))
        rest = {known(one) for one in asked.pop("rest")}
        finish_review(document=note, author=run, user=access.user, rest=rest, queue=queue, **asked)
        state = _state(access, run, note)
        if goes_on(state):
            return JsonResponse(state | {"next": None})
        _tell_found(request, hidden)
        return JsonResponse({"next": following})
    here = f"{access.url('review', run.pk, note.pk)}{kept(request, **queue.chosen)}"
    try:
        stage = request.POST.get("stage", "first")
        finish_review(document=note, author=run, user=access.user, stage=stage, queue=queue)
    except ServiceError as error:
        messages.error(request, str(error))
        return redirect(here)
    if goes_on(review_state(document=note, author=run, user=access.user)):
        return redirect(here)
    _tell_found(request, hidden)
    return redirect(following)


def _tell_found(request: Request, hidden: list[int]) -> None:
    """Tell the reviewer on the next page how many planted leaks they found."""
    found = found_of(hidden)
    if found:
        message = ngettext(
            "Previous note: you found the %(n)d planted leak.",
            "Previous note: you found all %(n)d planted leaks.",
            found,
        )
        messages.success(request, message % {"n": found})


@require_POST
@as_json
def review_reopen(request: Request, access: Access, run: Author, note: Document) -> HttpResponse:
    """Reopen the review of this note, and redirect to its page, which shows the error if that is refused."""
    with error_as_message(request):
        reopen_review(document=note, author=run, user=access.user)
    return redirect("review", access.slug, run.pk, note.pk)


# ── Parsing the request ──────────────────────────────────────────────────────────────────────────────────────────────

_BOUNDS = ("start", "end", "label")
_FIELDS: Mapping[str, Sequence[str]] = {
    Act.ACCEPT: ["suggestion"],
    Act.REJECT: ["suggestion"],
    Act.CORRECT: ["suggestion", "quote", *_BOUNDS],
    Act.ADD: ["quote", *_BOUNDS],
    Act.REMOVE: _BOUNDS,
    Act.ATTRIBUTE: [*_BOUNDS, "name", "value"],
    Act.UNDO: [],
    Act.REDO: [],
}


@dataclass(frozen=True)
class PageRequest:
    """One act as the page's script sends it. `suggestion` may be the number of a proposed removal."""

    change_id: UUID
    act: Act
    suggestion: Whole = 0
    start: Offset = 0
    end: Offset = 0
    label: Whole = 0
    quote: str | None = None
    name: str = ""
    value: Literal[True] | str | None = None


@dataclass(frozen=True)
class FinishRequest:
    """What finishing a note accepts and includes. A page that sends no stage showed a first review."""

    rest: Numbers = ()
    removals: Numbers = ()
    stage: str = "first"
    with_gold: Flag = False
    with_doubtful: Flag = False
    with_removals: Flag = False


_PAGE_REQUEST, _FINISH_REQUEST = TypeAdapter(PageRequest), TypeAdapter(FinishRequest)


def _decision_of(data: dict[str, Any], known: Callable[[int], int]) -> ReviewRequest:
    on_a_suggestion = data.get("act") in ON_A_SUGGESTION
    of_removal = on_a_suggestion and "removal" in data
    given = read_request(_PAGE_REQUEST, "act", _FIELDS, data | {"suggestion": data["removal"]} if of_removal else data)
    return ReviewRequest(
        change_id=given.change_id,
        act=given.act,
        suggestion=known(given.suggestion) if on_a_suggestion and not of_removal else None,
        bounds=(given.start, given.end, given.label) if given.act in WITH_BOUNDS else None,
        quote=given.quote,
        seen=_seen(data.get("seen"), removal=of_removal) if on_a_suggestion else None,
        attribute=(given.name, given.value) if given.act is Act.ATTRIBUTE else None,
        removal=given.suggestion if of_removal else None,
    )


def _finishing_of(data: dict[str, Any]) -> dict[str, Any]:
    try:
        return asdict(_FINISH_REQUEST.validate_python(data))
    except ValidationError as error:
        raise malformed(_("The field “%(field)s” is not valid."), field=error.errors()[0]["loc"][0]) from None


def _seen(value: object, *, removal: bool = False) -> Seen:
    """The state of a suggestion as the page showed it: `[state]`, or `["accepted", start, end, label]`.

    Of a proposed removal, a rejected one has bounds, because its annotation stays.
    """
    bare, bounded = ("accepted", "rejected") if removal else ("rejected", "accepted")
    if isinstance(value, list) and value in (["open"], [bare]):
        return value[0], None
    if isinstance(value, list) and len(value) == 4 and value[0] == bounded:
        return bounded, bounds_of(value[1:])
    sentence = _('The field “seen” must be ["open"], ["%(bare)s"] or ["%(bounded)s", start, end, label].')
    raise malformed(sentence, bare=bare, bounded=bounded)

"""The review of a run's suggestions in one note: a page for people, and JSON for its script."""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import Http404, HttpResponse, JsonResponse
from django.middleware.csrf import get_token
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from annotations.annotate.selectors.personal import own_labels
from annotations.core.access import Access, Can, enter
from annotations.core.addresses import address
from annotations.core.answers import json_answers
from annotations.core.changes import change_id_of, malformed, name_of, not_one_of, value_of
from annotations.core.errors import ServiceError
from annotations.core.events import NOTE_READ
from annotations.core.labels import placeholders_of
from annotations.core.requests import Request, body_of, bounds_of, is_json, number, paged, whole_of
from annotations.exchange.selectors import places_in
from annotations.models import Author, Document
from annotations.review.selectors.finished_gold import origin_of
from annotations.review.selectors.listing import review_list
from annotations.review.selectors.misses import hints_of
from annotations.review.selectors.ordering import NoteOrder
from annotations.review.selectors.planted import found_of, hidden_at, suggestion_named
from annotations.review.selectors.precision import rates_of
from annotations.review.selectors.reviewing import (
    last_decided,
    review_for,
    review_progress,
    run_author,
    run_authors,
)
from annotations.review.selectors.shown import goes_on, shown_to
from annotations.review.selectors.state import ReviewState, Seen, review_state
from annotations.review.services.deciding import Request as ReviewRequest
from annotations.review.services.deciding import decide
from annotations.review.services.finishing import finish_review, reopen_review
from annotations.review.services.log import Act
from annotations.review.services.offering import ONE_IN, next_offered
from annotations.review.services.queue import next_in_queue
from annotations.text.labels import RESERVED_HOTKEYS

ON_A_SUGGESTION = (Act.ACCEPT, Act.REJECT, Act.CORRECT)
WITH_BOUNDS = (Act.CORRECT, Act.ADD, Act.REMOVE, Act.ATTRIBUTE)
QUOTED = (Act.CORRECT, Act.ADD)
# Filters that are carried from note to note. The searched text is not, because URLs must not hold note text.
KEPT = ("order", "label", "source", "state", "action", "agree", "least", "most")
LONGEST = 80
# Rows of the list of runs.
RUNS = 30
# Largest number of open suggestions that finishing one note can accept.
MOST_REST = 10_000


def _entered(request: Request, slug: str, author: int, pk: int) -> tuple[Access, Author, Document]:
    access = enter(request.user, slug, Can.MAKE_GOLD)
    return access, *review_for(access, author, pk)


def _state(access: Access, run: Author, note: Document) -> ReviewState:
    return shown_to(access, review_state(document=note, author=run, user=access.user))


as_json = json_answers(_("You don't have permission to review in this project."), enter=_entered, now=_state)


@require_safe
def reviews(request: Request, slug: str) -> HttpResponse:
    """List the runs whose suggestions can be reviewed, newest first. A single run opens at its next note."""
    access = enter(request.user, slug, Can.MAKE_GOLD)
    runs = run_authors(access.project)
    if len(runs) == 1:
        return redirect("review_next", slug, runs[0].pk)
    page = paged(request, runs, RUNS)
    rows = [(run, review_progress(run, access.user)) for run in page]
    return render(request, "review/reviews.html", {"access": access, "page": page, "rows": rows})


@require_safe
def review_next(request: Request, slug: str, author: int) -> HttpResponse:
    """Redirect to the next note after ?after=ID in the order of ?order= and ?label=, or say that none is left.

    The note's address says how it was chosen.
    """
    access = enter(request.user, slug, Can.MAKE_GOLD)
    run = run_author(access.project, author)
    if run is None:
        raise Http404("No such run.")
    queue, after = NoteOrder.of(request.GET), number(request.GET, "after") or 0
    if queue.order == "informative":
        found = next_offered(author=run, project=access.project, after=after, user=access.user)
    else:
        found = next_in_queue(run, access.project, queue, access.user, after)
    if found is not None:
        return redirect(f"{reverse('review', args=[slug, run.pk, found])}{kept(request, **queue.chosen)}")
    context = {"access": access, "run": run, "progress": review_progress(run, access.user)}
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
    NOTE_READ.record(actor=access.user, project_id=note.project_id, document_id=note.pk, data={"run": run.pk})
    labels = own_labels(note.project_id, access.user.pk)
    for label in labels:
        # The page's own keys have priority. A label with such a key, from before it was reserved, can only be clicked.
        label["key"] = "" if label["key"].casefold() in RESERVED_HOTKEYS else label["key"]
    args = [slug, run.pk, note.pk]
    state = review_state(document=note, author=run, user=access.user)
    planting = state["planting"]
    state = shown_to(access, state)
    context = {
        "access": access,
        "run": run,
        "note": note,
        "labels": labels,
        "progress": review_progress(run, access.user),
        "of": range(1, 1 + max((suggestion.get("of", 0) for suggestion in state["suggestions"]), default=0)),
        "list": review_list(run, note.pk, access.user),
        "finished": state["finished"],
        "stage": state["stage"],
        "origin": origin_of(note) if state["has_finished_gold"] and not state["finished"] else None,
        "kept": kept(request),
        "again": kept(request, **NoteOrder.that_chose(request.GET).chosen),
        "next": kept(request, after=note.pk),
        "recent": last_decided(run, access.user, note),
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
    """Make one decision. The answer is the new state of the review."""
    decision = _decision_of(body_of(request), suggestion_named(access.project, run, note))
    state = decide(document=note, author=run, user=access.user, request=decision)
    return JsonResponse(shown_to(access, state))


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
    queue = NoteOrder.that_chose(request.GET)
    following = f"{reverse('review_next', args=[access.project.slug, run.pk])}{kept(request, after=note.pk)}"
    if is_json(request):
        data = body_of(request)
        known = suggestion_named(access.project, run, note)
        rest, removals = _numbers(data, "rest", known), _numbers(data, "removals")
        finish_review(
            document=note, author=run, user=access.user, rest=rest, removals=removals, stage=_stage(data.get("stage")),
            with_gold=_yes(data, "with_gold"), with_doubtful=_yes(data, "with_doubtful"),
            with_removals=_yes(data, "with_removals"), queue=queue,
        )  # fmt: skip
        state = _state(access, run, note)
        if goes_on(state):
            return JsonResponse(state | {"next": None})
        _tell_found(request, hidden)
        return JsonResponse({"next": following})
    here = f"{reverse('review', args=[access.project.slug, run.pk, note.pk])}{kept(request, **queue.chosen)}"
    try:
        stage = _stage(request.POST.get("stage"))
        finish_review(document=note, author=run, user=access.user, stage=stage, queue=queue)
    except ServiceError as error:
        messages.error(request, str(error))
        return redirect(here)
    if goes_on(review_state(document=note, author=run, user=access.user)):
        return redirect(here)
    _tell_found(request, hidden)
    return redirect(following)


def _yes(data: Mapping[str, Any], field: str) -> bool:
    """A field that is true or false; false if it is missing."""
    value = data.get(field, False)
    if not isinstance(value, bool):
        raise malformed(_("The field “%(field)s” must be true or false.") % {"field": field})
    return value


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
    try:
        reopen_review(document=note, author=run, user=access.user)
    except ServiceError as error:
        messages.error(request, str(error))
    return redirect("review", access.project.slug, run.pk, note.pk)


# ── Parsing the request ──────────────────────────────────────────────────────────────────────────────────────────────


def _stage(value: object) -> str:
    """The stage that the page showed. A page that sends none showed a first review."""
    return value if isinstance(value, str) else "first"


def _decision_of(data: dict[str, Any], known: Callable[[int], int]) -> ReviewRequest:
    try:
        act = Act(str(data.get("act")))
    except ValueError:
        raise not_one_of("act", Act) from None
    quote = data.get("quote")
    removal = whole_of(data["removal"], "removal") if act in ON_A_SUGGESTION and "removal" in data else None
    on_a_suggestion = act in ON_A_SUGGESTION and removal is None
    if act in QUOTED and not isinstance(quote, str):
        raise malformed(_("The field “quote” must be the selected text."))
    return ReviewRequest(
        change_id=change_id_of(data),
        act=act,
        suggestion=known(whole_of(data.get("suggestion"), "suggestion")) if on_a_suggestion else None,
        bounds=bounds_of([data.get(field) for field in ("start", "end", "label")]) if act in WITH_BOUNDS else None,
        quote=quote if act in QUOTED else None,
        seen=_seen(data.get("seen"), removal=removal is not None) if act in ON_A_SUGGESTION else None,
        attribute=(name_of(data), value_of(data)) if act is Act.ATTRIBUTE else None,
        removal=removal,
    )


def _numbers(data: Mapping[str, Any], field: str, known: Callable[[int], int] = int) -> set[int]:
    value = data.get(field, [])
    if not isinstance(value, list) or len(value) > MOST_REST:
        message = _("The field “%(field)s” must be a list of at most %(most)s suggestions.")
        raise malformed(message % {"field": field, "most": f"{MOST_REST:,}"})
    return {known(whole_of(each, field)) for each in value}


def _seen(value: object, *, removal: bool = False) -> Seen:
    """The state of a suggestion as the page showed it: `[state]`, or `["accepted", start, end, label]`.

    Of a proposed removal, a rejected one has bounds, because its annotation stays.
    """
    bare, bounded = ("accepted", "rejected") if removal else ("rejected", "accepted")
    if isinstance(value, list) and value in (["open"], [bare]):
        return value[0], None
    if isinstance(value, list) and len(value) == 4 and value[0] == bounded:
        return bounded, bounds_of(value[1:])
    if removal:
        raise malformed(_('The field “seen” must be ["open"], ["accepted"] or ["rejected", start, end, label].'))
    raise malformed(_('The field “seen” must be ["open"], ["rejected"] or ["accepted", start, end, label].'))

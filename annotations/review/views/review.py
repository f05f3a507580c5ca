"""Reviewing what a run proposed for one note: a page for people, JSON for its script."""

from collections.abc import Callable
from functools import wraps
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse, JsonResponse
from django.middleware.csrf import get_token
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from annotations.annotate.selectors.personal import own_labels
from annotations.core.access import Access, Can, enter
from annotations.core.changes import Refused
from annotations.core.errors import ServiceError
from annotations.core.events import record
from annotations.core.refusals import sentence
from annotations.core.requests import Request, body_of, change_id_of, is_json, malformed, number, place_of, whole_of
from annotations.domain.labels import RESERVED_HOTKEYS
from annotations.models import Author, Document, Verb
from annotations.review.selectors.listing import review_list
from annotations.review.selectors.misses import hints_of
from annotations.review.selectors.ordering import Queue
from annotations.review.selectors.planted import aliases, found_of, hidden_at, proposal_named
from annotations.review.selectors.precision import rates_of
from annotations.review.selectors.reviewing import last_decided, proposed_note, review_progress, run_author
from annotations.review.selectors.settled import origin_of
from annotations.review.selectors.state import Seen, review_state
from annotations.review.services.closing import close_review, reopen_review
from annotations.review.services.deciding import Request as ReviewRequest
from annotations.review.services.deciding import decide
from annotations.review.services.log import Act
from annotations.review.services.offering import ONE_IN, next_offered
from annotations.review.services.planting import draw_leaks
from annotations.review.services.queue import next_in_queue

View = Callable[..., HttpResponse]
ON_A_PROPOSAL = (Act.ACCEPT, Act.REJECT, Act.CORRECT)
WITH_A_PLACE = (Act.CORRECT, Act.ADD, Act.REMOVE)
QUOTED = (Act.CORRECT, Act.ADD)
OWN_KEYS = RESERVED_HOTKEYS | set("aejkv")
# Choices that go along from note to note; what is looked for in a text does not.
KEPT = ("order", "label", "source", "state", "agree", "least", "most")
LONGEST = 80
# Open proposals accepted by closing one note.
MOST_REST = 10_000


def json_answers(view: View) -> View:
    """Refusals as JSON: {"error": code, "message": plain words} and, where it may be seen, the review as it is now."""

    @wraps(view)
    def wrapped(request: Request, slug: str, author: int, pk: int) -> HttpResponse:
        try:
            access, run, note = _entered(request, slug, author, pk)
        except PermissionDenied:
            return JsonResponse({"error": "forbidden", "message": _("You may not review in this project.")}, status=403)
        except Http404:
            return JsonResponse({"error": "not-found", "message": _("This note is not there for you.")}, status=404)
        try:
            return view(request, access, run, note)
        except ServiceError as error:
            status = error.status if isinstance(error, Refused) else 409
            body = {"error": error.code, "message": sentence(error)}
            return JsonResponse(body | _state(access, run, note), status=status)

    return wrapped


def _entered(request: Request, slug: str, author: int, pk: int) -> tuple[Access, Author, Document]:
    access = enter(request.user, slug, Can.MAKE_GOLD)
    run = run_author(access.project, author)
    note = proposed_note(run, pk) if run else None
    if run is None or note is None:
        raise Http404("no such review")
    note.project = access.project
    # Before any answer shows the note's proposals: what is hidden was never seen.
    draw_leaks(document=note, author=run, project=access.project)
    return access, run, note


@require_safe
def review_next(request: Request, slug: str, author: int) -> HttpResponse:
    """The next note to review after ?after=ID in the order of ?order=, or a page that says that all are."""
    access = enter(request.user, slug, Can.MAKE_GOLD)
    run = run_author(access.project, author)
    if run is None:
        raise Http404("no such run")
    queue, after = Queue.of(request.GET), number(request.GET, "after") or 0
    if queue.order == "informative":
        found = next_offered(author=run, project=access.project, after=after, user=access.user)
    else:
        found = next_in_queue(run, access.project, queue, access.user, after)
    if found is not None:
        return redirect(f"{reverse('review', args=[slug, run.pk, found])}{kept(request)}")
    context = {"access": access, "run": run, "progress": review_progress(run, access.user)}
    return render(request, "review/done.html", context)


def kept(request: Request, **more: object) -> str:
    """The choices of this address for the next one: choices only, never text."""
    pairs = [(name, str(value)) for name, value in more.items()]
    pairs += [(name, request.GET[name][:LONGEST]) for name in KEPT if request.GET.get(name)]
    return f"?{urlencode(pairs)}" if pairs else ""


@require_safe
def review(request: Request, slug: str, author: int, pk: int) -> HttpResponse:
    """The page of one note. Opening it is an event."""
    access, run, note = _entered(request, slug, author, pk)
    record(
        verb=Verb.NOTE_READ, actor=access.user, project_id=note.project_id, document_id=note.pk, data={"run": run.pk}
    )
    labels = own_labels(note.project_id, access.user.pk)
    for label in labels:
        # The page's own keys come first; such a label is chosen by a click here.
        label["key"] = "" if label["key"].casefold() in OWN_KEYS else label["key"]
    args = [slug, run.pk, note.pk]
    state = _state(access, run, note)
    context = {
        "access": access,
        "run": run,
        "note": note,
        "labels": labels,
        "progress": review_progress(run, access.user),
        "of": range(1, 1 + max((proposal.get("of", 0) for proposal in state["proposals"]), default=0)),
        "list": review_list(run, note.pk, access.user),
        "closed": state["closed"],
        "stage": state["stage"],
        "origin": origin_of(note) if state["settled"] and not state["closed"] else None,
        "kept": kept(request),
        "next": kept(request, after=note.pk),
        "recent": last_decided(run, access.user, note),
        "one_in": ONE_IN,
        "nothing": [],  # the script paints the proposals with their states
        "data": {
            "text": note.text,
            "labels": labels,
            "person": access.user.pk,
            "name": access.user.username,
            "urls": {name: reverse(f"review_{name}", args=args) for name in ("decide", "close", "state")},
            "rates": [[*key, rate.right, rate.decided] for key, rate in rates_of(run).items()],
            "hints": hints_of(note, run),
            **state,
        },
    }
    return render(request, "review/review.html", context)


@require_POST
@json_answers
def review_decide(request: Request, access: Access, run: Author, note: Document) -> HttpResponse:
    """One decision. The answer is the review as it then stands."""
    asked = _read(body_of(request), proposal_named(access.project, run, note))
    state = decide(document=note, author=run, user=access.user, request=asked)
    return JsonResponse(_named(state, access))


@require_safe
@json_answers
def review_state_json(request: Request, access: Access, run: Author, note: Document) -> HttpResponse:
    """The review as it stands, with a fresh form token."""
    return JsonResponse(_state(access, run, note) | {"person": access.user.pk, "csrf": get_token(request)})


@require_POST
@json_answers
def review_close(request: Request, access: Access, run: Author, note: Document) -> HttpResponse:
    """End the review of this note. The script gets JSON; without it, the next note.

    JSON `rest`: ids of open proposals that are accepted by closing; `with_gold`: true where the person lets that add to
    gold that the note already has. Where the close shows something first (a planted
    leak that was missed, or what two reviewers differ in), the answer is the review as it then stands.
    """
    hidden = hidden_at(run, note)
    following = f"{reverse('review_next', args=[access.project.slug, run.pk])}{kept(request, after=note.pk)}"
    if is_json(request):
        data = body_of(request)
        known = proposal_named(access.project, run, note)
        rest, stage = _rest(data.get("rest", []), known), _stage(data.get("stage"))
        wanted = data.get("with_gold") is True
        close_review(document=note, author=run, user=access.user, rest=rest, stage=stage, with_gold=wanted)
        state = _state(access, run, note)
        if _goes_on(state):
            return JsonResponse(state | {"next": None})
        _tell_found(request, hidden)
        return JsonResponse({"next": following})
    try:
        close_review(document=note, author=run, user=access.user, stage=_stage(request.POST.get("stage")))
    except ServiceError as error:
        messages.error(request, sentence(error))
        return redirect("review", access.project.slug, run.pk, note.pk)
    if _goes_on(review_state(document=note, author=run, user=access.user)):
        return redirect("review", access.project.slug, run.pk, note.pk)
    _tell_found(request, hidden)
    return redirect(following)


def _goes_on(state: dict[str, Any]) -> bool:
    """The close showed something that is to be decided first."""
    stage: str = state["stage"]
    return stage == "settling" or (stage == "first" and bool(state["open"]))


def _tell_found(request: Request, hidden: list[int]) -> None:
    """The result afterwards, on the page that comes next, where nothing had to be decided on."""
    found = found_of(hidden)
    if found:
        told = ngettext(
            "Last note: %(n)d known identifier had been left out of the proposals, and the reading found it.",
            "Last note: %(n)d known identifiers had been left out of the proposals, and the reading found them.",
            found,
        )
        messages.success(request, told % {"n": found})


@require_POST
@json_answers
def review_reopen(request: Request, access: Access, run: Author, note: Document) -> HttpResponse:
    """Take the review of this note up again; then its page, which says why where that can't be."""
    try:
        reopen_review(document=note, author=run, user=access.user)
    except ServiceError as error:
        messages.error(request, sentence(error))
    return redirect("review", access.project.slug, run.pk, note.pk)


# ── What the page may see ────────────────────────────────────────────────────────────────────────────────────────────


def _state(access: Access, run: Author, note: Document) -> dict[str, Any]:
    return _named(review_state(document=note, author=run, user=access.user), access)


def _kind_alone(source: str) -> str:
    """Whose reading a gold span is from, without an annotator's name."""
    kind = source.partition(":")[0]
    return kind if kind == Author.Kind.ANNOTATOR else source


def _named(state: dict[str, Any], access: Access) -> dict[str, Any]:
    """As this person may know it: without annotators' names where adjudication is anonymous.

    Where leaks are planted, proposals go by other numbers than their ids: a gap in these shows what is hidden.
    """
    planting = state.pop("planting")
    if access.unnamed:
        state["gold"] = [span | {"from": _kind_alone(span["from"])} for span in state["gold"]]
    if not (access.project.planted_share or planting):
        return state
    of = aliases(access.project).of
    proposals = [
        proposal
        | {"id": of(proposal["id"])}
        | ({"rivals": [of(pk) for pk in proposal["rivals"]]} if "rivals" in proposal else {})
        for proposal in state["proposals"]
    ]
    between = state["between"]
    if between and between["outcome"]:
        said = {str(of(int(pk))): place for pk, place in between["outcome"]["proposals"].items()}
        between = between | {"outcome": between["outcome"] | {"proposals": said}}
    return state | {"proposals": proposals, "between": between}


# ── Reading the request ──────────────────────────────────────────────────────────────────────────────────────────────


def _stage(value: object) -> str:
    """What the page showed; a page from before there were two reviewers showed a first review."""
    return value if isinstance(value, str) else "first"


def _read(data: dict[str, Any], known: Callable[[int], int]) -> ReviewRequest:
    try:
        act = Act(str(data.get("act")))
    except ValueError:
        raise malformed("act", f"one of {', '.join(Act)}") from None
    quote = data.get("quote")
    if act in QUOTED and not isinstance(quote, str):
        raise malformed("quote", "the marked text")
    return ReviewRequest(
        change_id=change_id_of(data),
        act=act,
        proposal=known(whole_of(data.get("proposal"), "proposal")) if act in ON_A_PROPOSAL else None,
        place=place_of([data.get(field) for field in ("start", "end", "label")]) if act in WITH_A_PLACE else None,
        quote=quote if act in QUOTED else None,
        seen=_seen(data.get("seen")) if act in ON_A_PROPOSAL else None,
    )


def _rest(value: object, known: Callable[[int], int]) -> set[int]:
    if not isinstance(value, list) or len(value) > MOST_REST:
        raise malformed("rest", f"a list of at most {MOST_REST:,} proposals")
    return {known(whole_of(each, "rest")) for each in value}


def _seen(value: object) -> Seen:
    """`[state]`, or `["accepted", start, end, label]`."""
    if isinstance(value, list) and value in (["open"], ["rejected"]):
        return value[0], None
    if isinstance(value, list) and len(value) == 4 and value[0] == "accepted":
        return "accepted", place_of(value[1:])
    raise malformed("seen", '["open"], ["rejected"] or ["accepted", start, end, label]')

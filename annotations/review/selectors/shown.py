"""The state of a review as a person may see it: names of annotators, and aliases instead of ids."""

from collections.abc import Callable

from annotations.core.access import Access
from annotations.models import AuthorKind
from annotations.review.selectors.planted import aliases
from annotations.review.selectors.state import ReviewState, SuggestionView


def _without_name(source: str) -> str:
    """The origin of a gold span (“kind:name”), without the name if it is an annotator's."""
    kind = source.partition(":")[0]
    return kind if kind == AuthorKind.ANNOTATOR else source


def shown_to(access: Access, state: ReviewState) -> ReviewState:
    """The state as this person may see it: without annotators' names if adjudication is anonymous.

    If leaks are planted, aliases replace the suggestion ids, because a gap between ids would reveal a hidden one.
    """
    planting = state.pop("planting", 0)
    if access.unnamed:
        state["gold"] = [span | {"from": _without_name(span["from"])} for span in state["gold"]]
    if not (access.project.planted_share or planting):
        return state
    of = aliases(access.project).of
    suggestions = [_aliased(suggestion, of) for suggestion in state["suggestions"]]
    between = state["between"]
    if between and between["outcome"]:
        decided = {str(of(int(pk))): bounds for pk, bounds in between["outcome"]["suggestions"].items()}
        between = between | {"outcome": between["outcome"] | {"suggestions": decided}}
    return state | {"suggestions": suggestions, "between": between}


def _aliased(suggestion: SuggestionView, of: Callable[[int], int]) -> SuggestionView:
    aliased = suggestion | {"id": of(suggestion["id"])}
    if "conflicting" in suggestion:
        aliased["conflicting"] = [of(pk) for pk in suggestion["conflicting"]]
    return aliased


def goes_on(state: ReviewState) -> bool:
    """Whether the reviewer must decide on revealed leaks or differences before the review can be finished."""
    return state["stage"] == "resolving" or (state["stage"] == "first" and bool(state["open"]))

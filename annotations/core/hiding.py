"""Suggestions of model runs that are hidden from people for now.

A feature that hides suggestions registers its functions here. All other features ask `shown` and `hidden_in` about
individual suggestions, and `annotations.core.access` about complete annotation sets.
"""

from collections.abc import Callable, Collection

from django.db.models import QuerySet

from annotations.models import Author, Project, Span

Without = Callable[[QuerySet[Span]], QuerySet[Span]]
HiddenInSet = Callable[[int], set[int]]
Withheld = Callable[[Project], str]
Stored = Callable[[Author, Collection[int]], None]
_RULES: list[tuple[Without, HiddenInSet, Withheld, Stored]] = []


def register(without: Without, hidden_in_set: HiddenInSet, withheld: Withheld, stored: Stored) -> None:
    """Register a feature that hides suggestions.

    `without` removes hidden suggestions from a query of spans; `hidden_in_set` returns the ids of the hidden ones in an
    annotation set. `withheld` returns a sentence that says why complete annotation sets of runs would show reviewers
    what is hidden, or an empty string where they would not. `stored` gets the author and the notes of suggestions that
    were just stored and counted, in the same transaction, and may hide some of them before anybody sees them.
    """
    _RULES.append((without, hidden_in_set, withheld, stored))


def shown(spans: QuerySet[Span]) -> QuerySet[Span]:
    """Return the query without the spans that are hidden now."""
    for without, *_ in _RULES:
        spans = without(spans)
    return spans


def hidden_in(annotation_set: int) -> set[int]:
    """Return the ids of the annotation set's spans that are hidden now."""
    return set().union(*(hidden(annotation_set) for _, hidden, *_ in _RULES))


def withheld(project: Project) -> str:
    """Return the reason why reviewers get no complete annotation sets of runs now; empty where they get them."""
    return next((why for _, _, rule, _ in _RULES if (why := rule(project))), "")


def stored(author: Author, notes: Collection[int]) -> None:
    """Tell the registered features that the caller's transaction has stored and counted suggestions for these notes."""
    for *_, rule in _RULES:
        rule(author, notes)

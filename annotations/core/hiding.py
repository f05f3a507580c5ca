"""Proposals that no page may show now. A feature that hides some registers how; lower features only ask here."""

from collections.abc import Callable

from django.db.models import QuerySet

from annotations.models import Span

Without = Callable[[QuerySet[Span]], QuerySet[Span]]
HiddenInSet = Callable[[int], set[int]]
_WITHOUT: list[Without] = []
_HIDDEN_IN_SET: list[HiddenInSet] = []


def register(without: Without, hidden_in_set: HiddenInSet) -> None:
    """`without` takes the hidden ones out of spans; `hidden_in_set` gives the ids of those in an annotation set."""
    _WITHOUT.append(without)
    _HIDDEN_IN_SET.append(hidden_in_set)


def shown(spans: QuerySet[Span]) -> QuerySet[Span]:
    """These spans as people may see them now."""
    for without in _WITHOUT:
        spans = without(spans)
    return spans


def hidden_in(annotation_set: int) -> set[int]:
    """The ids of the annotation set's spans that are hidden now."""
    return set().union(*(hidden(annotation_set) for hidden in _HIDDEN_IN_SET))

"""The strings that runs propose, the most open or the most uncertain first: from prepared counts, page by page."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from django.db.models import F, FloatField, Max, Min, QuerySet, Sum
from django.db.models.functions import Cast, Substr

from annotations.models import ProposedString, Span

ROWS = 50
Order = Literal["open", "uncertainty"]


@dataclass(frozen=True, slots=True)
class Row:
    """A string under one label in the chosen runs; `pk` is that of one of its prepared rows, and its address."""

    pk: int
    text: str
    label: int
    count: int
    open: int
    confidence: float | None


@dataclass(frozen=True, slots=True)
class Page:
    """`number` counts from 1; `more`: there is a next page."""

    rows: list[Row]
    number: int
    more: bool


def strings(runs: Sequence[int], *, label: int | None = None, order: Order = "open", number: int = 1) -> Page:
    """The strings of these runs with something open. Of one run the order comes from an index."""
    found = ProposedString.objects.filter(author__in=runs, open__gt=0)
    if label is not None:
        found = found.filter(label_id=label)
    first = (number - 1) * ROWS
    rows = list((_of_one(found, order) if len(runs) == 1 else _of_several(found, order))[first : first + ROWS + 1])
    texts = _texts([row["shown"] for row in rows[:ROWS]])
    shown = [
        Row(
            row["row"], texts.get(row["shown"], ""), row["label_id"], row["all"], row["left"],
            row["sum"] / row["with_confidence"] if row["with_confidence"] else None,
        )
        for row in rows[:ROWS]
    ]  # fmt: skip
    return Page(shown, number, len(rows) > ROWS)


def _of_one(found: "QuerySet[ProposedString]", order: Order) -> "QuerySet[ProposedString, Any]":
    ordered = found.order_by("-open", "id") if order == "open" else found.order_by("-uncertainty", "id")
    return ordered.values(
        "label_id",
        row=F("pk"),
        shown=F("sample"),
        all=F("count"),
        left=F("open"),
        sum=F("confidence_sum"),
        with_confidence=F("scored"),
    )


def _of_several(found: "QuerySet[ProposedString]", order: Order) -> "QuerySet[ProposedString, Any]":
    """The same string in several runs is one row. Uncertainty is that of the run that knows least."""
    grouped = found.values("string_key", "label_id").annotate(
        row=Min("pk"),
        shown=Min("sample"),
        all=Sum("count"),
        left=Sum("open"),
        sum=Cast(Sum("confidence_sum"), FloatField()),
        with_confidence=Sum("scored"),
        doubt=Max("uncertainty"),
    )
    return grouped.order_by("-left" if order == "open" else "-doubt", "row")


def _texts(samples: Sequence[int]) -> dict[int, str]:
    """What stands at these spans, cut out by the database: a note may be long."""
    cut = Substr("annotation_set__document__text", F("start") + 1, F("end") - F("start"))
    return dict(Span.objects.filter(pk__in=samples).annotate(text=cut).values_list("pk", "text"))


def spans_of(string: ProposedString, runs: Sequence[int]) -> "QuerySet[Span]":
    """Every occurrence in these runs, by note."""
    rows = Span.objects.filter(
        string_key=string.string_key, label_id=string.label_id, annotation_set__author__in=runs,
        annotation_set__state="submitted",
    )  # fmt: skip
    return rows.order_by("annotation_set__document_id", "start", "annotation_set__author_id")

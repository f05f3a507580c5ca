"""The figures of agreement as rows of the page, with names, wording of coefficients and links to disagreements."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypedDict
from urllib.parse import urlencode

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotations.agreement.rules import (
    AgreementFigures,
    ComparedUnit,
    Figure,
    Granularity,
    GranularityFigures,
    LabelFigures,
    Matching,
    NoteFigures,
    PairFigures,
    RecallOfAnnotator,
    RecallOfNumber,
    RoundFigures,
    granularities,
)
from annotations.agreement.selectors.figures import round_beginnings
from annotations.agreement.selectors.names import in_order, pairs_in_order, shown_names
from annotations.agreement.templatetags.coefficients import in_words
from annotations.core.access import Access
from annotations.core.labels import UNDERLINES
from annotations.core.templatetags.nav import nav_url
from annotations.core.templatetags.plots import Point
from annotations.models import Category, Document, Label
from annotations.text.bio import OUTSIDE

Measure = Literal["kappa", "observed", "exact", "overlap"]

MEASURES: dict[Measure, tuple[object, object]] = {
    "kappa": (
        gettext_lazy("Cohen's κ"),
        gettext_lazy("Agreement of two annotators beyond chance, given how often each uses every label."),
    ),
    "observed": (gettext_lazy("Observed"), gettext_lazy("Share of units on which both annotators agree.")),
    "exact": (
        gettext_lazy("F1, exact"),
        gettext_lazy("Spans with identical bounds and value, relative to all spans of both annotators."),
    ),
    "overlap": (
        gettext_lazy("F1, overlap"),
        gettext_lazy("Overlapping spans with the same value, matched one to one."),
    ),
}


class Links:
    """The addresses of the disagreements behind a figure; empty where the project has no such page."""

    def __init__(self, slug: str, unit: ComparedUnit) -> None:
        self.base = nav_url("disagreements", slug)
        self.unit = unit

    def __call__(self, **chosen: object) -> str:
        if not self.base:
            return ""
        return f"{self.base}?{urlencode({key: value for key, value in chosen.items() if value} | {'unit': self.unit})}"


@dataclass(frozen=True)
class Look:
    """A label or category as a chip; `pk` is the id of a label, None for a category."""

    name: str
    hue: int | None = None
    underline: int = 0
    pk: int | None = None


@dataclass(frozen=True)
class TagCell:
    figure: Figure
    url: str
    itself: bool = False


@dataclass(frozen=True)
class MatrixRow:
    name: str
    cells: list[TagCell]


class OverviewRow(TypedDict):
    """One granularity of the unit."""

    granularity: Granularity
    name: object
    current: bool
    report: GranularityFigures
    wording: str


class PairRow(PairFigures):
    """Two annotators by name. `url`: their disagreements."""

    url: str
    wording: str


class LabelRow(LabelFigures):
    """One value. `share`: of its units, those that all annotators gave this value."""

    look: Look
    share: float | None
    url: str
    wording: str


class RoundRow(RoundFigures):
    """One round. `began` is None for the first one."""

    began: datetime | None
    url: str
    wording: str


class NoteRow(NoteFigures):
    """One note by name."""

    name: str
    url: str


class NamedRecall(RecallOfAnnotator):
    """The recall of one annotator, with the annotator's name."""

    name: str


class RecallRow(TypedDict):
    """The estimated recall for one way to match spans; `why` if it isn't `known`."""

    matching: Matching
    found: float
    hidden: float | None
    annotators: list[RecallOfNumber]
    known: bool
    why: str
    each: list[NamedRecall]


def trend_of(rounds: Sequence[RoundFigures]) -> list[Point]:
    """The points of the plot of alpha by round; empty with fewer than two rounds."""
    if len(rounds) < 2:
        return []
    return [
        Point(
            name=_("Round %(n)d") % {"n": row["round"]},
            value=row["alpha"]["value"],
            low=row["alpha"]["low"],
            high=row["alpha"]["high"],
            detail=_("%(n)s notes") % {"n": f"{row['notes']:,}"},
        )
        for row in rounds
    ]


class GranularityRows:
    """The rows of one granularity."""

    def __init__(self, access: Access, found: AgreementFigures, unit: ComparedUnit, granularity: Granularity) -> None:
        self.access, self.found, self.granularity = access, found, granularity
        self.report = found["granularities"][granularity]
        self.links = Links(access.project.slug, unit)
        self.names = shown_names(access, found["annotators"])
        self.order = in_order(self.names)
        self.annotators = [self.names[pk] for pk in self.order]

    @property
    def hidden(self) -> bool:
        """Whether this person may not see annotators' names, because adjudication is anonymous."""
        return self.access.unnamed

    def overview(self, names: Mapping[Granularity, object]) -> list[OverviewRow]:
        """Every granularity of the unit, in a fixed order: PostgreSQL's JSON doesn't keep the order of keys."""
        return [
            {
                "granularity": key,
                "name": names[key],
                "current": key == self.granularity,
                "report": report,
                "wording": in_words(report["alpha"]["value"]),
            }
            for key in granularities(self.links.unit)
            for report in [self.found["granularities"][key]]
        ]

    def pairs(self) -> list[PairRow]:
        """Pairs of annotators by name."""
        return [
            {
                **row,
                "a": self.names[row["a"]],
                "b": self.names[row["b"]],
                "url": self._pair_url(row["a"], row["b"]),
                "wording": in_words(row["kappa"]["value"]),
            }
            for row in pairs_in_order(self.report["pairs"], self.order)
        ]

    def _pair_url(self, a: str, b: str) -> str:
        return "" if self.hidden else self.links(pair=f"{a}-{b}")

    def matrix(self, measure: Measure) -> list[MatrixRow]:
        """A measure for every pair of annotators, as a square table."""
        figures = {frozenset((row["a"], row["b"])): row[measure] for row in self.report["pairs"]}
        nobody: Figure = {"value": None, "why": "", "low": None, "high": None, "no_interval": ""}
        return [
            MatrixRow(
                self.names[a],
                [
                    TagCell(nobody, "", itself=True)
                    if a == b
                    else TagCell(figures[frozenset((a, b))], self._pair_url(a, b))
                    for b in self.order
                ],
            )
            for a in self.order
        ]

    def labels(self) -> list[LabelRow]:
        """The used labels or categories in order; empty at binary granularity, which has only one value."""
        if self.granularity is Granularity.BINARY:
            return []
        looks = self._looks()
        rows: list[LabelRow] = []
        for row in self.report["labels"]:
            look = looks.get(row["value"], Look(row["value"]))
            share = row["full"] / row["units"] if row["units"] else None
            url = self.links(label=look.pk) if look.pk else ""
            wording = in_words(row["alpha"]["value"])
            rows.append({**row, "look": look, "share": share, "url": url, "wording": wording})
        return rows

    def unused(self) -> list[str]:
        """The names of the labels or categories that nobody used."""
        given = {row["value"] for row in self.report["labels"]}
        if self.granularity in (Granularity.BINARY, Granularity.BIO):
            return []
        return [look.name for value, look in self._looks().items() if value not in given]

    def _looks(self) -> dict[str, Look]:
        project = self.access.project
        if self.granularity is Granularity.CATEGORY:
            categories = Category.objects.filter(label_set__project=project, labels__merged_into=None).distinct()
            rows = categories.values_list("code", "name", "hue", "position")
            return {_value(code): Look(name, hue, position % UNDERLINES) for code, name, hue, position in rows}
        looks = {}
        labels = Label.objects.filter(label_set__project=project, merged_into=None)
        rows_of = labels.values_list("pk", "code", "name", "category__hue", "category__position")
        for pk, code, name, hue, position in rows_of:
            if self.granularity is Granularity.BIO:
                for mark in "BI":
                    looks[f"{mark}-{code}"] = Look(f"{mark}-{name}", hue, position % UNDERLINES, pk)
            else:
                looks[_value(code)] = Look(name, hue, position % UNDERLINES, pk)
        return looks

    def rounds(self) -> list[RoundRow]:
        """Guideline rounds, each with the date on which it began."""
        beginnings = round_beginnings(self.access.project)
        return [
            {
                **row,
                "began": beginnings[row["round"] - 2] if 2 <= row["round"] <= len(beginnings) + 1 else None,
                "url": self.links(round=row["round"]),
                "wording": in_words(row["alpha"]["value"]),
            }
            for row in self.report["rounds"]
        ]

    def trend(self) -> list[Point]:
        return trend_of(self.report["rounds"])

    def notes(self, rows: list[NoteFigures]) -> list[NoteRow]:
        """The rows of one page of notes, with names."""
        found = Document.objects.filter(project=self.access.project, pk__in=[row["note"] for row in rows])
        names = dict(found.values_list("pk", "name"))
        return [
            {**row, "name": names[row["note"]], "url": self.links(note=row["note"])}
            for row in rows
            if row["note"] in names
        ]

    def recall(self) -> list[RecallRow]:
        """Estimated recall for both ways to match spans; annotators by name."""
        return [
            {
                "matching": matching,
                "found": figures["found"],
                "hidden": figures["hidden"],
                "annotators": figures["annotators"],
                "known": figures["annotators"][0]["value"] is not None,
                "why": figures["annotators"][0]["why"],
                "each": [
                    {**row, "name": self.names[row["annotator"]]}
                    for row in sorted(figures["each"], key=lambda row: self.order.index(row["annotator"]))
                ],
            }
            for matching in Matching
            for figures in [self.found["recall"][matching]]
        ]


def _value(code: str) -> str:
    """The value of a label's code in the figures (see domain.agreement.units.valuer)."""
    return f"B-{code}" if code == OUTSIDE else code

"""The figures of agreement with the names of units, of granularities and of annotators."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import cast

from django.utils.crypto import salted_hmac
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotations.agreement.rules.capture import MatchCriterion
from annotations.agreement.rules.coefficients import in_words
from annotations.agreement.rules.shown import AgreementFigures, AgreementOfPair, OverallFigures, Recall, RoundFigures
from annotations.agreement.rules.units import ComparedUnit, Granularity
from annotations.agreement.selectors.figures import LeftOutSets, annotator_names, left_out, round_beginnings
from annotations.models import Project

UNITS = {
    ComparedUnit.TOKEN: (_("Tokens"), _("All tokens of the notes, including unmarked ones.")),
    ComparedUnit.MARKED: (_("Marked tokens"), _("Only tokens that at least one annotator labeled.")),
    ComparedUnit.CHARACTER: (_("Characters"), _("All characters of the notes.")),
    ComparedUnit.ENTITY: (
        _("Spans"),
        _("Every span that any annotator marked, with exact bounds. An annotator without this span counts as O."),
    ),
}
GRANULARITIES = {
    Granularity.BINARY: _("Personal data or not"),
    Granularity.CATEGORY: _("Category"),
    Granularity.SUBCATEGORY: _("Label"),
    Granularity.BIO: _("Label with BIO prefix"),
}


class AgreementOfRound(RoundFigures):
    """The notes of one round of the guidelines, which began with an amendment; the first one with the project.

    `mixed`: notes that were annotated in several rounds.
    """

    began: datetime | None


class EstimatedRecall(Recall):
    """The spans found, the estimated spans that nobody found, and the recall of annotators."""

    matching: str


class Agreement(OverallFigures):
    """The figures at one granularity. `words` is the wording of alpha."""

    unit: str
    granularity: str
    notes: int
    annotators: list[str]
    mixed: int
    left_out: LeftOutSets
    words: str
    rounds: list[AgreementOfRound]
    recall: list[EstimatedRecall]


def agreement_of(
    project: Project, found: AgreementFigures, granularity: Granularity, names: Mapping[str, str]
) -> Agreement:
    """The figures at one granularity. `names` are those of `shown_names`; pairs and recalls are in their order."""
    report = found["granularities"][granularity]
    order = list(names)
    beginnings = [None, *round_beginnings(project)]
    figures = report | {
        "unit": found["unit"],
        "granularity": str(granularity),
        "notes": found["notes"],
        "mixed": found["mixed"],
        "annotators": list(names.values()),
        "left_out": left_out(project),
        "words": "" if report["alpha"]["value"] is None else in_words(report["alpha"]["value"]),
        "pairs": [row | {"a": names[row["a"]], "b": names[row["b"]]} for row in _in_order(report["pairs"], order)],
        "rounds": [
            row | {"began": beginnings[row["round"] - 1] if row["round"] <= len(beginnings) else None}
            for row in report["rounds"]
        ],
        "recall": [
            kept | {
                "matching": str(matching),
                "each": [
                    row | {"annotator": names[row["annotator"]]}
                    for row in sorted(kept["each"], key=lambda row: order.index(row["annotator"]))
                ],
            }
            for matching in MatchCriterion
            for kept in [found["recall"][matching]]
        ],
    }  # fmt: skip
    return cast(Agreement, figures)  # To mypy, a TypedDict with more keys is a plain dictionary.


def shown_names(project: Project, annotators: Sequence[str], *, hidden: bool) -> dict[str, str]:
    """Return the names of annotators by author id, in order; letters in an order that tells nothing, if hidden."""
    if hidden:
        secret = {pk: salted_hmac("annotations.views.agreement", pk).hexdigest() for pk in annotators}
        return {
            pk: gettext("Annotator %(n)s") % {"n": _letters(index)}
            for index, pk in enumerate(sorted(secret, key=lambda pk: secret[pk]))
        }
    names = annotator_names(project)
    return dict(sorted(((pk, names.get(pk, "?")) for pk in annotators), key=lambda row: (row[1].casefold(), row[0])))


def _in_order(pairs: Sequence[AgreementOfPair], order: Sequence[str]) -> list[AgreementOfPair]:
    """Return the pairs, and the two annotators of each, in the order of their names."""
    position = {pk: index for index, pk in enumerate(order)}
    rows: list[AgreementOfPair] = []
    for row in pairs:
        a, b = sorted((row["a"], row["b"]), key=position.__getitem__)
        rows.append({**row, "a": a, "b": b, "spans": row["spans"] if a == row["a"] else row["spans"][::-1]})
    return sorted(rows, key=lambda row: (position[row["a"]], position[row["b"]]))


def _letters(index: int) -> str:
    """A, B, … Z, AA, AB …"""
    letters = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters

"""The names of units, of granularities and of annotators, and what the units count."""

from collections.abc import Mapping, Sequence

from django.utils.crypto import salted_hmac
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotations.agreement.rules import ComparedUnit, Granularity, PairFigures
from annotations.agreement.selectors.figures import annotator_names
from annotations.core.access import Access

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


def shown_names(access: Access, annotators: Sequence[str]) -> dict[str, str]:
    """Return the names of annotators by author id: letters in an order that tells nothing, where names are hidden."""
    if not access.unnamed:
        names = annotator_names(access.project)
        return {pk: names.get(pk, "?") for pk in annotators}
    secret = {pk: salted_hmac("annotations.views.agreement", pk).hexdigest() for pk in annotators}
    return {
        pk: gettext("Annotator %(n)s") % {"n": _letters(index)}
        for index, pk in enumerate(sorted(secret, key=lambda pk: secret[pk]))
    }


def in_order(names: Mapping[str, str]) -> list[str]:
    """Return the author ids in the order of the names."""
    return sorted(names, key=lambda pk: (names[pk].casefold(), pk))


def pairs_in_order(pairs: Sequence[PairFigures], order: Sequence[str]) -> list[PairFigures]:
    """Return the pairs, and the two annotators of each, in the order of their names."""
    position = {pk: index for index, pk in enumerate(order)}
    rows: list[PairFigures] = []
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

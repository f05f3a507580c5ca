"""Places, generalized: cities and provinces to their state or region, ZIP codes to three digits.

The lists have the states of the United States, the autonomous communities of Spain and the regions of Italy, with their
larger cities: public facts, written down for this purpose.
"""

import re
from functools import cache
from pathlib import Path
from typing import Final

from annotations.text.search import words

_COUNTRY_OF: Final = {"en": "us", "es": "es", "it": "it"}

_ZIP: Final = re.compile(r"([0-9]{3})[0-9]{2}(?:[\- ]?([0-9]{4}))?")
SMALL_ZIPS: Final = frozenset(
    [
        "036",
        "059",
        "063",
        "102",
        "203",
        "556",
        "692",
        "790",
        "821",
        "823",
        "830",
        "831",
        "878",
        "879",
        "884",
        "890",
        "893",
    ]
)
"""First three digits of ZIP codes whose areas have at most 20,000 people: they become 000.

Source: 45 CFR 164.514(b)(2)(i)(B), with the areas of the census of 2000 in HHS 2012.
"""


def region_of(text: str, language: str) -> str | None:
    """The state, autonomous community or region of a place; None if the lists don't have it.

    A place that only one country's list has is found in notes of every language; one that several have, in the list of
    the note's language.
    """
    name = words(text)
    found = {country: table[name] for country, table in _tables().items() if name in table}
    if not found and "," in text:  # "Boston, MA"
        rest = [region_of(part, language) for part in text.split(",")]
        known = {region for region in rest if region}
        return known.pop() if len(known) == 1 else None
    if len(found) == 1:
        return next(iter(found.values()))
    return found.get(_COUNTRY_OF.get(language, ""))


def short_zip(text: str, language: str) -> str | None:
    """The first three digits of a ZIP code of the United States; 000 for areas with few people.

    None for other texts, and for five digits in a note that isn't English: they are another country's postal code.
    """
    match = _ZIP.fullmatch(text.strip())
    if match is None or (language != "en" and not match[2]):
        return None
    return "000" if match[1] in SMALL_ZIPS else match[1]


@cache
def _tables() -> dict[str, dict[tuple[str, ...], str]]:
    """By country: the region of each place, by the folded words of the place."""
    return {country: _table(country) for country in _COUNTRY_OF.values()}


def _table(country: str) -> dict[tuple[str, ...], str]:
    file = Path(__file__).parent / "data" / f"regions_{country}.txt"
    table: dict[tuple[str, ...], str] = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            names, _, places = line.partition("=")
            region, *others = names.split("|")
            for place in (*places.split(";"), region, *others):
                table[words(place)] = region
    return table

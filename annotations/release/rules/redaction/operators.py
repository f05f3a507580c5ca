"""What a release writes in place of an identifier, by the action of the policy."""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Final

from annotations.release.rules.redaction.ages import generalized_age
from annotations.release.rules.redaction.dates import shifted, year_of, years
from annotations.release.rules.redaction.policy import Action, IdentifierType
from annotations.release.rules.redaction.released import Mention, OperatorContext
from annotations.text.search import lines_of, words

_BRACKETS: Final = frozenset(")]}>»")
_AGED: Final = 90


@dataclass(frozen=True)
class InNote:
    """What operators know about the note: its mentions, the placeholders of labels, and what the caller provides."""

    mentions: Sequence[Mention]
    placeholder_of: Mapping[str, str]
    replacing: OperatorContext

    @cached_property
    def _years(self) -> list[tuple[int, int]]:
        """Where the note's dates name years: the start of the date, and its first year."""
        language = self.replacing.language
        dates = (mention for mention in self.mentions if mention.kind is IdentifierType.DATE)
        return [(date.start, named[0]) for date in dates if (named := years(date.text, language))]

    def replaced(self, mention: Mention, action: Action) -> str | None:
        """The text to write in place of a mention; None to mask it. After a removal, `releasing` closes the gap."""
        replacing = self.replacing
        match action:
            case Action.KEEP:
                return mention.text
            case Action.REMOVE:
                return ""
            case Action.HASH:  # the same for equal identifiers
                return f"{mention.label}-{replacing.hashed(mention)}"
            case Action.GENERALIZE:
                return self._generalized(mention)
            case Action.SHIFT:  # with the year of the last date before it that names one, else of the first after it
                at = bisect_left(self._years, (mention.start, 0))
                year = self._years[max(at - 1, 0)][1] if self._years else None
                return shifted(mention.text, replacing.days, replacing.language, year, replacing.month_first)
            case Action.SURROGATE:
                return replacing.surrogate(mention)
            case _:
                return None

    def masked(self, mention: Mention, *, numbered: bool) -> str:
        """The placeholder of the label: "[NAME]"; with the number of the entity in the note, "[NAME 1]"."""
        placeholder = self.placeholder_of[mention.label]
        if not numbered:
            return placeholder
        inside, bracket = (placeholder[:-1], placeholder[-1]) if placeholder[-1:] in _BRACKETS else (placeholder, "")
        return f"{inside} {self.replacing.number(mention)}{bracket}"

    def _generalized(self, mention: Mention) -> str | None:
        """Dates to their year, ages over 89 to "90+", places to their region, ZIP codes to three digits.

        A year that is 90 or more years before the latest year of the note tells an age over 89, so it is masked (45 CFR
        164.514(b)(2)(i)(C)).
        """
        text, language = mention.text, self.replacing.language
        match mention.kind:
            case IdentifierType.DATE:
                latest = max([self.replacing.latest_year or 0, *(year for _start, year in self._years)])
                if any(year <= latest - _AGED for year in years(text, language)):
                    return None
                return year_of(text, language)
            case IdentifierType.AGE:
                return generalized_age(text)
            case IdentifierType.ZIP:
                return short_zip(text, language)
            case IdentifierType.CITY | IdentifierType.REGION | IdentifierType.LOCATION | IdentifierType.STREET:
                return region_of(text, language) or short_zip(text, language)
            case IdentifierType.COUNTRY:
                return text  # no larger place is in use
            case _:
                return None


# Places: the lists have the states of the United States, the autonomous communities of Spain and the regions of Italy,
# with their larger cities: public facts, written down for this purpose.

_COUNTRY_OF: Final = {"en": "us", "es": "es", "it": "it"}

_ZIP: Final = re.compile(r"([0-9]{3})[0-9]{2}(?:[\- ]?([0-9]{4}))?")
_SMALL_ZIPS: Final = "036 059 063 102 203 556 692 790 821 823 830 831 878 879 884 890 893"
SMALL_ZIPS: Final = frozenset(_SMALL_ZIPS.split())
"""First three digits of ZIP codes whose areas have at most 20,000 people: they become 000.

Source: 45 CFR 164.514(b)(2)(i)(B), with the areas of the census of 2000 in HHS 2012.
"""


def region_of(text: str, language: str) -> str | None:
    """The state, autonomous community or region of a place; None if the lists don't have it.

    A place that only one country's list has is found in notes of every language; one that several have, in the list of
    the note's language.
    """
    found = _regions().get(words(text), {})
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
def _regions() -> Mapping[tuple[str, ...], dict[str, str]]:
    """The region of each place by country, by the folded words of the place."""
    found: defaultdict[tuple[str, ...], dict[str, str]] = defaultdict(dict)
    for country in _COUNTRY_OF.values():
        for line in lines_of(Path(__file__).parent / "data" / f"regions_{country}.txt"):
            names, _, places = line.partition("=")
            region, *others = names.split("|")
            for place in (*places.split(";"), region, *others):
                found[words(place)][country] = region
    return found

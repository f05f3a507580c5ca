"""Generalize: dates to their year, ages over 89 to "90+", places to their region, ZIP codes to three digits.

A year that is 90 or more years before the latest year of the note tells an age over 89, so it is masked (45 CFR
164.514(b)(2)(i)(C)). Whatever can't be generalized is masked.
"""

from typing import Final

from annotations.release.rules.redaction.ages import generalized_age
from annotations.release.rules.redaction.dates import year_of, years
from annotations.release.rules.redaction.kinds import IdentifierType
from annotations.release.rules.redaction.operators.base import InNote
from annotations.release.rules.redaction.places import region_of, short_zip
from annotations.release.rules.redaction.released import Mention

_AGED: Final = 90


def generalize(mention: Mention, note: InNote) -> str | None:
    match mention.kind:
        case IdentifierType.DATE:
            return _year(mention, note)
        case IdentifierType.AGE:
            return generalized_age(mention.text)
        case IdentifierType.ZIP:
            return short_zip(mention.text, note.language)
        case IdentifierType.CITY | IdentifierType.REGION | IdentifierType.LOCATION | IdentifierType.STREET:
            return region_of(mention.text, note.language) or short_zip(mention.text, note.language)
        case IdentifierType.COUNTRY:
            return mention.text  # no larger place is in use
        case _:
            return None


def _year(mention: Mention, note: InNote) -> str | None:
    latest = note.latest_year
    if latest is not None and any(year <= latest - _AGED for year in years(mention.text, note.language)):
        return None
    return year_of(mention.text, note.language)

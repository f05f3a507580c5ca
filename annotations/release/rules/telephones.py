"""The digits of telephone numbers, with and without the prefix of their country."""

import re
from collections.abc import Iterator
from typing import Final

EXTENSION: Final = re.compile(r"(?:\s*(?:x|ext\.?)\s*\d+)", re.IGNORECASE)
"""An extension after a telephone number."""

_COUNTRIES: Final = ("39", "34", "1", "44", "33", "49", "351", "41", "52", "54", "56", "57", "51")
_WRITTEN_FOR: Final = ("39", "34", "1")
# A national number of these begins with a zero that is left out after the prefix: 07700 900123 is +44 7700 900123.
_WITH_ZERO: Final = ("44", "33", "49")
_DIGITS: Final = re.compile(r"\d+")


def telephone_forms(value: str) -> Iterator[str]:
    """The digits of a telephone number as people write it: as it is, national, and with the prefix of a country."""
    number = EXTENSION.sub("", value)
    digits = "".join(_DIGITS.findall(number))
    yield digits
    national = digits
    if number.strip().startswith("+") or digits.startswith("00"):
        rest = digits.removeprefix("00")
        national = next((rest[len(each) :] for each in _COUNTRIES if rest.startswith(each) and len(rest) > 9), rest)
    elif len(digits) == 11 and digits.startswith(("1", "34")):
        national = digits[1:] if digits[0] == "1" else digits[2:]
    yield national
    for country in _WRITTEN_FOR:
        yield country + national
        yield "00" + country + national
    yield "001" + national
    if national.startswith("0"):
        for country in _WITH_ZERO:
            yield from (country + national[1:], "00" + country + national[1:], country + national)
    elif national != digits:
        yield "0" + national

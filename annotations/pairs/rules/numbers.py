"""Numbers and offices of decisions, by which a clear text and its published version belong together.

The patterns are those of Salierno et al. 2024, table 3. A number is unique only among the decisions of one office
(section 5.1), so the office is compared too where both texts name it.
"""

import re
import unicodedata
from dataclasses import dataclass
from typing import Final

from annotations.text.spans import tokenize

OMISSIS: Final = "OMISSIS"
# The two patterns of table 3, the longer one first: 1/2/Apple is one number, and not 2/Apple.
_NUMBER: Final = re.compile(r"\d+/\d+/[a-zA-Z]+|\d+/[a-zA-Z]+")
_OFFICE: Final = re.compile(
    r"\b(?:sezion[ei]|corte d.appello|tribunale|procura)\b[^\n.;:,()\d]{0,100}", re.IGNORECASE | re.UNICODE
)
_SMALL_WORDS: Final = frozenset(["la", "il", "lo", "le", "per", "regione", "regionale", "del", "dell", "della", "sent"])
HEADING: Final = 1000
"""The heading is the first so many code points of a text."""


@dataclass(frozen=True)
class DecisionKey:
    """What identifies a decision: the numbers in its heading and in its whole text, and the office that issued it."""

    heading: frozenset[str]
    all: frozenset[str]
    office: str

    def fits(self, other: "DecisionKey") -> bool:
        """Whether both can be the same decision.

        The numbers of the headings are compared first: one must be in both. A decision cites others, so without a
        number in one of the headings the sets of all numbers must be equal. Offices differ only where
        both are known and neither begins with the other, since other words may follow on the line.
        """
        if not (self.office.startswith(other.office) or other.office.startswith(self.office)):
            return False
        if self.heading and other.heading:
            return bool(self.heading & other.heading)
        return bool(self.all) and self.all == other.all


def is_published(text: str) -> bool:
    """Whether a text has the token OMISSIS, so that it is a published version."""
    return OMISSIS in text and any(text[start:end] == OMISSIS for start, end in tokenize(text))


def decision_key(text: str) -> DecisionKey:
    """The numbers and the office of a decision. `14270/C,R.G.` and `14270/C.R.G.` give the same number, 14270/C."""
    heading = text[:HEADING]
    return DecisionKey(frozenset(numbers_in(heading)), frozenset(numbers_in(text)), office_in(heading))


def numbers_in(text: str) -> list[str]:
    """The numbers of decisions in a text, in its order, each once, with capital letters."""
    return list(dict.fromkeys(found.upper() for found in _NUMBER.findall(text)))


def office_in(heading: str) -> str:
    """The office that a heading names, folded: without accents, articles and punctuation. Empty without one."""
    found = _OFFICE.search(heading)
    if found is None:
        return ""
    plain = unicodedata.normalize("NFKD", found.group()).encode("ascii", "ignore").decode().casefold()
    return " ".join(word for word in re.findall("[a-z]{2,}", plain) if word not in _SMALL_WORDS)

"""The reading order of lines with right-to-left letters, from the order in which they stand on the page.

It is the Unicode bidirectional algorithm (UAX 9) the other way round: a line is read from the right where most letters
run to the left, and numbers and words in other scripts within it from the left.
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

_LETTER: Final = re.compile(
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
)  # Hebrew, Arabic and the other blocks that run to the left
_FORMS: Final = re.compile("[\ufb1d-\ufdff\ufe70-\ufefc]")
_MIRRORED: Final = str.maketrans("()[]{}<>«»‹›", ")(][}{><»«›‹")


def has_right_to_left(text: str) -> bool:
    """Whether a text has a letter that runs to the left."""
    return _LETTER.search(text) is not None


def runs_left(text: str) -> bool:
    """Whether more letters of a text run to the left than to the right."""
    found = [unicodedata.bidirectional(each) for each in text]
    return found.count("R") + found.count("AL") > found.count("L")


def logical(shown: Sequence[str], *, from_right: bool) -> str:
    """The text of a line whose letters, each with its marks, stand side by side, the first one at the left.

    Letters in the forms that they have beside their neighbors become plain ones.
    """
    from fpdf.bidi import BidiParagraph
    from fpdf.enums import TextDirection

    pieces = [unicodedata.normalize("NFKC", each) if _FORMS.search(each) else each for each in shown]
    if from_right:
        pieces.reverse()
    direction = TextDirection.RTL if from_right else TextDirection.LTR
    line = BidiParagraph("".join(each[0] for each in pieces), direction, preserve_bn_chars=True)
    ordered = [
        pieces[each.character_index].translate(_MIRRORED) if each.embedding_level % 2 else pieces[each.character_index]
        for each in line.get_reordered_characters()
    ]
    return "".join(reversed(ordered) if from_right else ordered)

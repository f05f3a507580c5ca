"""Find the end of names and proper phrases, word by word from a known start.

Each function stops at the first word that can't belong to the phrase, and looks at each word once, so the time is
linear in the length of the phrase.
"""

import re
import unicodedata
from functools import cache
from itertools import takewhile
from typing import Final

from models_runtime.backends.rules.gazetteers import GIVEN_NAMES, any_of, either, listed, word_set

UP: Final = "".join(chr(code) for code in range(0x41, 0x180) if chr(code).isupper())
"""Latin capital letters, for a character class."""
LETTER: Final = r"[^\W\d_]"
SMALL_LETTER: Final = rf"[^\W\d_{UP}]"
APOSTROPHE: Final = "'’´`"
SPACE: Final = r"[ \t\xa0]"
_MARK: Final = r"[\u0300-\u036f]"

# A capital and lower-case letters, or capitals alone: "MartínezCorreo" is two words. "JIménez" is a typing error. The
# number of parts is limited, so that the time for "Rosa'Rosa'Rosa'…" doesn't grow with the square of its length.
_WORD: Final = (
    rf"(?:[dDlLO][{APOSTROPHE}]|Mc|Mac|De|Di|Lo|La)?[{UP}](?:(?:[{UP}](?={SMALL_LETTER}{{2}}))?+(?:{SMALL_LETTER}|"
    rf"{_MARK})++|(?:[{UP}ªº]|{_MARK})*+)(?:[{APOSTROPHE}\-‐‑–](?:{LETTER}|{_MARK})++){{0,6}}+"
)
_REST: Final = rf"((?:(?i:{either('name_particles')}){SPACE}){{0,3}}+)({_WORD})(\.?)"
# "J.-P. Martin" has a hyphen before an initial.
_STEP: Final = re.compile(rf"({SPACE}?|(?<=\.)-){_REST}")
# Values of fields may have two blanks between words.
_FIELD_STEP: Final = re.compile(rf"({SPACE}{{0,2}}|(?<=\.)-){_REST}")
# "Julio de 2020", "June 5" are dates.
_OF_DATE: Final = re.compile(rf"(?:{SPACE}(?:del?|of))?{SPACE}?,?{SPACE}?[0-9]")
_COMMA: Final = re.compile(rf",{SPACE}?(?=[{UP}])")
_SLASHES: Final = ("/", "\\")


def _initials(word: str) -> bool:
    return len(word) == 1 or (len(word) == 2 and word[1] in "ªº")


def _is_glued(text: str, step: re.Match[str]) -> bool:
    """Whether two or three letters with a period touch other initials: `A.Th. van den Broek`, `Th.M. van Dijk`."""
    before, following = step[1] == "" and text[step.start(3) - 1 : step.start(3)], text[step.end() : step.end() + 2]
    return step[3][1:].islower() and (before == "." or (following[:1].isupper() and following[1:] == "."))


def read_name(text: str, at: int, *, most: int = 5, comma: bool = False, announced: bool = False) -> int:
    """The end of the person's name that starts at `at`; `at` itself if there is no name.

    A name is up to `most` capitalized words, initials and particles ("de la") on one line. With `comma`, one comma may
    separate surname and given name. `announced`: a field or a title comes before the name, so that "Julio" and "June"
    are names, not months.
    """
    stops = word_set("not_names")
    end, count, all_capitals, spelled = at, 0, False, False
    while count < most:
        step = (_FIELD_STEP if announced else _STEP).match(text, end)
        if step is None or (count and not step[1] and text[end - 1] != "."):
            if comma and count and (found := _COMMA.match(text, end)):
                rest = read_name(text, found.end(), most=3)
                end = rest if rest > found.end() else end
            break
        word, lower = step[3], step[3].lower()
        short = _initials(word) or (bool(step[4]) and 1 < len(word) < 4 and _is_glued(text, step))
        month = not count and lower in listed("months", "weekdays_en")
        if month and _OF_DATE.match(text, step.end()):
            break
        titled = announced and not count and (lower in listed("months", "weekdays_en", "street_surnames"))
        if lower in stops and not titled and not (short and step[4]):
            break
        if short and text[step.end(3) : step.end(3) + 1] in _SLASHES:
            break
        if not count:
            all_capitals = word.isupper() and not short
        elif not all_capitals and not short and len(word) <= 3 and word.isupper():
            break  # "Dr. Rossi TC torace"
        dotted = bool(step[4]) and (short or lower in listed("abbreviations"))
        end = step.end() if dotted else step.end(3)
        spelled = spelled or not short
        count += 1
        if step[4] and not dotted:
            break
    return end if spelled else at


def words_of(name: str) -> list[str]:
    """The words of a name without particles and initials."""
    return [step[3] for step in _STEP.finditer(name) if len(step[3]) > 2]


_PHRASE: Final = re.compile(
    rf"({SPACE}?)((?:(?:{either('phrase_links')}){SPACE}|(?:{either('phrase_links_elided')})['’]){{0,4}}+)"
    rf"([\"“«']?)({_WORD}|[0-9]{{1,2}}{SPACE}de{SPACE}(?:octubre|mayo|{_WORD}))([\"”»']?)(\.?)"
)


def read_phrase(text: str, at: int, stops: frozenset[str], *, most: int = 8) -> int:
    """The end of the proper phrase (the name of an institution) that starts at `at`; `at` itself if there is none.

    A phrase consists of capitalized words, the lower-case words between them, quotation marks and a day ("12 de
    Octubre"). It is on one line and ends before a word of `stops`.
    """
    end, quoted = at, False
    for _ in range(most):
        step = _PHRASE.match(text, end)
        if step is None or (end > at and not step[1] and text[end - 1] != "."):
            break
        word = step[4].lower()
        if word in stops and not (step[2] and word == "camino"):  # Virgen del Camino
            break
        quoted = quoted or bool(step[3])
        closed = bool(step[5]) and quoted
        if step[6] and word in listed("phrase_short") and not step[5]:
            end = step.end()
            continue
        end = step.end(5) if closed else step.end(4)
        if step[6] or (step[5] and not closed):
            break
    return end


_TOWN_WORD: Final = rf"[{UP}]{LETTER}++(?:[{APOSTROPHE}\-]{LETTER}++)*+"
TOWN: Final = rf"{_TOWN_WORD}(?:[ ](?:(?:{either('town_links')})[ ]|[dl]['’]){{0,3}}+{_TOWN_WORD}){{0,4}}+"
"""Expression for a town that is not in the lists: capitalized words and the lower-case words between them."""


_ENDS_TOWN: Final = word_set("not_names").difference(listed("town_starts"))


def cut_town(town: str) -> str:
    """The town up to the first word that doesn't belong to it."""
    parts = list(takewhile(lambda part: part.lower() not in _ENDS_TOWN, town.split(" ")))
    while parts and parts[-1].islower():
        parts.pop()
    return " ".join(parts)


_REST_OF_WORD: Final = re.compile(r"\w+")


def before(text: str, at: int, length: int = 48) -> str:
    """Up to `length` characters before `at`, lower-cased, within the line."""
    return line_before(text, at, length).lower()


def line_before(text: str, at: int, length: int) -> str:
    """Up to `length` characters before `at`, within the line."""
    piece = window(text, at, length)
    return piece[piece.rfind("\n") + 1 :]


def window(text: str, at: int, length: int) -> str:
    """Up to `length` characters before `at`, and the character before them. A word that this would cut is left out.

    So an expression finds no start of a word or a text where the window only begins.
    """
    low = max(0, at - length - 1)
    cut = _REST_OF_WORD.match(text, low, at - 1) if low else None
    return text[cut.end() if cut else low : at]


def digits(piece: str) -> int:
    """The number of digits in a piece of text."""
    return sum(ch.isdigit() for ch in piece)


def after(text: str, at: int, length: int = 24) -> str:
    """Up to `length` characters from `at` on, lower-cased, within the line."""
    piece = text[at : at + length].lower()
    cut = piece.find("\n")
    return piece if cut < 0 else piece[:cut]


# Clinical words: words that identify nobody, however they are capitalized and wherever they stand.


# Endings of diagnoses, procedures and drugs in Italian, Spanish and English, that names don't have.
_ENDINGS: Final = rf"\w{{3,}}(?:{any_of('phrases.endings')})"


def is_clinical_word(word: str) -> bool:
    """Whether a word is one of the listed clinical words (`data/clinical.txt`), or has the ending of one."""
    return _pattern().fullmatch(_plain(word)) is not None


def _plain(word: str) -> str:
    """A word in small letters without accents."""
    letters = unicodedata.normalize("NFKD", word.casefold())
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


@cache
def _pattern() -> re.Pattern[str]:
    """The listed words, where `*` stands for any further letters, and the endings."""
    entries = {_plain(entry) for entry in word_set("clinical")}
    listed = (re.escape(entry.removesuffix("*")) + (r"\w*" if entry.endswith("*") else "") for entry in sorted(entries))
    return re.compile("|".join([*listed, _ENDINGS]))


# Words in the place of a name that are none: states of patients, illnesses, offices and services.


ALL_GIVEN: Final[frozenset[str]] = frozenset().union(*(word_set(name) for name in GIVEN_NAMES.values()))
GIVEN_OR_SURNAMES: Final = ALL_GIVEN | word_set("surnames")
# "Dr. Avvisato." and "Dr. Avisado por busca"
_NO_NAME_AFTER: Final = re.compile(rf"[ ]*(?:[.,;:)\n]|\Z)|[ ]{SMALL_LETTER}")
# Adjectives for illnesses, by endings that surnames hardly have: "Pz. Emodializzato.", "Pt. Diabetic."
_CONDITION: Final = re.compile(
    r"\w{4,}(?:izzat|izad)[oaie]|\w*(?:(?:patic|plegic|paretic|fasic|fagic|betic|bétic|cemic|oemic|émic|tensiv|pnoic|"
    r"pneic|nuric|liguric|fumator|tónic|sfigmic|ritmic|cianotic|anemic|depress|ipertes|ipotes|hipertens|"
    r"hipotens)[oaie]|(?:betic|anemic|uremic|glycemic|ischemic|volemic|oxic|septic|phasic|rhythmic|cyanotic|tensive|"
    r"plegic|paretic|icteric|pneic|verbal))"
)
_NO_CONTACTS: Final = frozenset(
    listed("services", "general_en", "general_es", "general_it", "sentence_starts", "no_towns")
)


def is_service(name: str) -> bool:
    """Whether somebody who is named is an office or a service, or no name at all: `Emergency Services`."""
    parts = name.lower().split()
    return parts[0] not in ALL_GIVEN and not _NO_CONTACTS.isdisjoint(parts)


def is_status(text: str, start: int, end: int) -> bool:
    """Whether the "name" after a title, a field or a relation is a single word that tells a state: `Dr. Avvisato.`"""
    word = text[start:end].lower()
    return word in listed("statuses") and _NO_NAME_AFTER.match(text, end) is not None


def is_condition(text: str, gap: str, start: int, end: int) -> bool:
    """Whether the "name" of a patient or relative tells a state or an illness: `Pz. Iperteso.`

    `gap`: the text before the name. After a title in it ("Pz. Sig. Depresso"), the word is a name.
    """
    if is_status(text, start, end):
        return True
    word = text[start:end].lower()
    if word in GIVEN_OR_SURNAMES or any(ch.isalpha() for ch in gap):
        return False
    told = word in listed("patient_states") or _CONDITION.fullmatch(word) is not None
    return told and _NO_NAME_AFTER.match(text, end) is not None

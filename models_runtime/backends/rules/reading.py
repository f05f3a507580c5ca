"""Readers of names and proper phrases: word by word from a known start, each word looked at once.

They stop at the first word that can't belong, so that their time grows with what they read, whatever the text.
"""

import re
from typing import Final

from models_runtime.backends.rules.gazetteers import either, listed, word_set

UP: Final = "".join(chr(code) for code in range(0x41, 0x180) if chr(code).isupper())
"""Latin capitals, for a character class."""
LETTER: Final = r"[^\W\d_]"
SMALL_LETTER: Final = rf"[^\W\d_{UP}]"
APOSTROPHE: Final = "'’´`"
SPACE: Final = r"[ \t\xa0]"
_MARK: Final = r"[\u0300-\u036f]"

# A capital and small letters, or capitals alone: "MartínezCorreo" is two words. The key was held too long: "JIménez".
_WORD: Final = (
    rf"(?:[dDlLO][{APOSTROPHE}]|Mc|Mac|De|Di|Lo|La)?"
    rf"[{UP}](?:(?:[{UP}](?={SMALL_LETTER}{{2}}))?+(?:{SMALL_LETTER}|{_MARK})++|(?:[{UP}ªº]|{_MARK})*+)"
    rf"(?:[{APOSTROPHE}\-‐‑–](?:{LETTER}|{_MARK})++)*+"
)
_REST: Final = rf"((?:(?i:{either('name_particles')}){SPACE}){{0,3}}+)({_WORD})(\.?)"
_STEP: Final = re.compile(rf"({SPACE}?){_REST}")
# A value of a field may have been put together with a blank too many.
_FIELD_STEP: Final = re.compile(rf"({SPACE}{{0,2}}){_REST}")
# "Julio de 2020", "June 5" are dates.
_OF_DATE: Final = re.compile(rf"(?:{SPACE}(?:del?|of))?{SPACE}?,?{SPACE}?[0-9]")
_COMMA: Final = re.compile(rf",{SPACE}?(?=[{UP}])")
_SLASHES: Final = ("/", "\\")


def _initials(word: str) -> bool:
    return len(word) == 1 or (len(word) == 2 and word[1] in "ªº")


def read_name(text: str, at: int, *, most: int = 5, comma: bool = False, sure: bool = False) -> int:
    """Where a person's name that starts at `at` ends; `at` if there is none there.

    A name is up to `most` capitalised words, initials and particles ("de la"), on one line; with `comma`, one comma may
    part surname and given name. `sure`, where a field or a title says that a name comes: it may be Julio or June.
    """
    stops = word_set("not_names")
    end, count, shout, spelled = at, 0, False, False
    while count < most:
        step = (_FIELD_STEP if sure else _STEP).match(text, end)
        if step is None or (count and not step[1] and text[end - 1] != "."):
            if comma and count and (found := _COMMA.match(text, end)):
                rest = read_name(text, found.end(), most=3)
                end = rest if rest > found.end() else end
            break
        word, lower = step[3], step[3].lower()
        short = _initials(word)
        month = not count and lower in listed("month_given")
        if month and _OF_DATE.match(text, step.end()):
            break
        if lower in stops and not (month and sure) and not (short and step[4]):
            break
        if short and text[step.end(3) : step.end(3) + 1] in _SLASHES:
            break
        if not count:
            shout = word.isupper() and not short
        elif not shout and not short and len(word) <= 3 and word.isupper():
            break  # "Dr. Rossi TC torace"
        dotted = bool(step[4]) and (short or lower in listed("abbreviations"))
        end = step.end() if dotted else step.end(3)
        spelled = spelled or not short
        count += 1
        if step[4] and not dotted:
            break
    return end if spelled else at


def words_of(name: str) -> list[str]:
    """The words of a name that are no particles and no initials."""
    return [step[3] for step in _STEP.finditer(name) if len(step[3]) > 2]


_PHRASE: Final = re.compile(
    rf"({SPACE}?)((?:(?:{either('phrase_links')}){SPACE}|(?:{either('phrase_links_elided')})['’]){{0,4}}+)"
    rf"([\"“«']?)({_WORD}|[0-9]{{1,2}}{SPACE}de{SPACE}(?:octubre|mayo|{_WORD}))([\"”»']?)(\.?)"
)


def read_phrase(text: str, at: int, stops: frozenset[str], *, most: int = 8) -> int:
    """Where a proper phrase (the name of an institution) that starts at `at` ends; `at` if there is none there.

    It is made of capitalised words, the small words between them, quotes and a day ("12 de Octubre"), on one line, up
    to a word of `stops`.
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
"""The name of a town that no list has: an expression for capitalised words and the small words between them."""


def cut_town(town: str) -> str:
    """The town without the words that begin something else."""
    stops = word_set("not_names")
    parts = town.split(" ")
    for at, part in enumerate(parts):
        if part.lower() in stops and part.lower() not in listed("town_starts"):
            parts = parts[:at]
            break
    while parts and parts[-1].islower():
        parts.pop()
    return " ".join(parts)


def before(text: str, at: int, length: int = 48) -> str:
    """The end of what stands before `at`, lower-cased, no further than its line."""
    piece = text[max(0, at - length) : at]
    return piece[piece.rfind("\n") + 1 :].lower()


def after(text: str, at: int, length: int = 24) -> str:
    """The start of what follows `at`, lower-cased, no further than its line."""
    piece = text[at : at + length].lower()
    cut = piece.find("\n")
    return piece if cut < 0 else piece[:cut]

"""The words of each language from which the rules make errors. Files in `lexicons/`, one per language, and eponyms."""

import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

LANGUAGES: Final = ("de", "en", "es", "it")
_FOLDER: Final = Path(__file__).with_name("lexicons")
# Part of a word: a letter, a digit or a mark that belongs to the letter before.
_INNER: Final = r"[^\W_]"


@dataclass(frozen=True)
class Lexicon:
    """Compiled patterns of some languages, without regard to case; words also match without their accents.

    `names`: common words that are names as well. `values`: what a laboratory value or vital sign is of. `pressures`:
    words beside a blood pressure. `stays`: what happens to patients at a place that treats them. `wards`: wards, units
    and specialties. `eponyms`: diseases with a person's name, which is the group `name`.
    """

    names: re.Pattern[str]
    values: re.Pattern[str]
    pressures: re.Pattern[str]
    stays: re.Pattern[str]
    wards: re.Pattern[str]
    eponyms: re.Pattern[str]


def lexicon(language: str) -> Lexicon:
    """The lexicon of a language such as `es` or `pt-BR`; of all languages together if there is none of its own."""
    base = language.lower().partition("-")[0].partition("_")[0]
    return _compiled((base,) if base in LANGUAGES else LANGUAGES)


@cache
def _compiled(languages: tuple[str, ...]) -> Lexicon:
    files = [json.loads((_FOLDER / f"{language}.json").read_text(encoding="utf-8")) for language in languages]

    def pattern(key: str) -> re.Pattern[str]:
        return re.compile(_words(word for file in files for word in file[key]), re.IGNORECASE)

    return Lexicon(
        names=pattern("names"),
        values=pattern("values"),
        pressures=pattern("pressures"),
        stays=pattern("stays"),
        wards=pattern("wards"),
        eponyms=_eponyms(files),
    )


def _eponyms(files: Sequence[dict[str, list[str]]]) -> re.Pattern[str]:
    names = _choice(json.loads((_FOLDER / "eponyms.json").read_text(encoding="utf-8")))
    before = _choice(word for file in files for word in file["before_eponyms"])
    after = _choice(word for file in files for word in file["after_eponyms"])
    tailed = rf"(?<!{_INNER})(?P<name>{names})(?=(?:{after})(?!{_INNER}))" if after else ""
    # “Morbus” is a part of the name that is taken for a patient's; other words before are not.
    headed = (
        rf"(?<!{_INNER})(?:(?P<disease>Morbus (?:{names}))|(?:{before})(?P<named>{names}))(?!{_INNER})"
        if before
        else ""
    )
    return re.compile("|".join(filter(None, (tailed, headed))), re.IGNORECASE)


def _words(words: Iterable[str]) -> str:
    return rf"(?<!{_INNER})(?:{_choice(words)})(?!{_INNER})"


def _choice(words: Iterable[str]) -> str:
    """An alternative of all words with and without their accents, the longest first."""
    spelled = {form for word in words for form in (word, _plain(word))}
    return "|".join(
        re.escape(word).replace("'", "['’]") for word in sorted(spelled, key=lambda word: (-len(word), word))
    )


def _plain(word: str) -> str:
    return "".join(letter for letter in unicodedata.normalize("NFD", word) if not unicodedata.combining(letter))

"""Names, known or not, by words that tell that somebody is meant: what a person is, does or is called."""

import re
from collections.abc import Iterator
from typing import Final

from models_runtime.backends.rules.bare import GIVEN
from models_runtime.backends.rules.gazetteers import either, listed, places, word_set
from models_runtime.backends.rules.kinds import RuleKind
from models_runtime.backends.rules.phrases import APOSTROPHE, LETTER, SMALL_LETTER, UP, before
from models_runtime.backends.rules.rule import Finder, Found, Rule
from models_runtime.backends.rules.running import NAMED_AFTER, NO_NAMES
from models_runtime.backends.rules.states import is_service

_NAME: Final = rf"(?P<name>[{UP}]{SMALL_LETTER}+(?:[{APOSTROPHE}\-][{UP}]?{SMALL_LETTER}+)?)"
_ENDS: Final = rf"(?=['’]s[ ]|[ ](?:\(|[\-–—][ ])?{SMALL_LETTER}|[ ]?[.,;:!?)\r\n]|[ ]*\Z)"
_ARTICLES: Final = frozenset(listed("given_articles", "place_prepositions")) - {"a", "to", "per", "da", "por"}

_SPEAKING: Final = frozenset(listed("before_persons"))
_APPOSED: Final = re.compile(
    rf"(?P<lead>{SMALL_LETTER}+[ ]|[:(][ ]?|\A|[.;\n•][ ]?|[{UP}]{SMALL_LETTER}*[ ]){_NAME}(?:,[ ]|[ ]\()"
    rf"(?:(?:{either('before_kin')}|(?!(?:{either('no_kin')})[ ])[a-zà-ÿ]{{3,12}})[ ]){{0,2}}(?:l['’])?\Z"
)


def _apposed(text: str, start: int, end: int) -> Iterator[Found]:
    """A name before a comma and what the person is: `Consegnato a Pasqua, operatrice`, `Tutrice: Dacia, sorella`."""
    low = max(0, start - 60)
    near = text[max(0, start - 30) : start]
    match = _APPOSED.search(text[low:start]) if "," in near or "(" in near else None
    if match is None or match["name"].lower() in NO_NAMES:
        return
    lead, name = match["lead"].strip(" .;\n•"), match["name"].lower()
    if lead[:1].isupper() and lead.lower() not in _SPEAKING:
        return
    if (not lead and name not in GIVEN) or (name in places() and lead not in ("", ":", "(")):
        return
    if name in word_set("eponyms") and lead in listed("no_kin", "has_illness"):
        return
    if lead not in _ARTICLES and (lead, name) != ("Padre", "pio"):
        yield low + match.start("name"), low + match.end("name"), RuleKind.PERSON


_CALLED: Final = re.compile(rf"(?:[ ](?:is[ ])?|[ ]?[:,][ ]){_NAME}{_ENDS}")
# "se llama" and "her name is", but "llama a la familia" and "name of the drug".
_IS_CALLED: Final = re.compile(r"(?<![a-zà-ÿ])(?:se|si|her|his|their|whose|my)[ ]\Z", re.IGNORECASE)
_THING: Final = re.compile(
    rf"(?<!{LETTER})(?:{either('eponym_heads', 'eponym_tails')}|drug|device|trial|fármaco|farmaco)[ ]\Z"
)


def _called(text: str, start: int, end: int) -> Iterator[Found]:
    """The name after `called`, `apellidado` or `di nome`."""
    match = _CALLED.match(text, end)
    if (
        match
        and text[start:end].lower() in ("llama", "chiama", "name")
        and not _IS_CALLED.search(before(text, start, 8))
    ):
        return
    if match and match["name"].lower() not in NO_NAMES and not _THING.search(before(text, start, 24)):
        yield *match.span("name"), RuleKind.PERSON


_SURNAMED: Final = re.compile(
    rf"(?P<name>[{UP}]{LETTER}+)(?:,?[ ]\((?:de[ ]|di[ ]|es[ ](?:el|su)[ ]|è[ ]il[ ])?|,?[ ](?:de|di|by)[ ]|"
    r"[ ]\(así[ ]se[ ]|[ ]\([cs]osì[ ]si[ ]|,[ ])\Z"
)


def _surnamed(text: str, start: int, end: int) -> Iterator[Found]:
    """The name before `de apellido`, `(cognome)`, `(así se llama)`."""
    low = max(0, start - 40)
    match = _SURNAMED.search(text[low:start])
    if match is not None and match["name"].lower() not in NO_NAMES:
        yield low + match.start("name"), low + match.end("name"), RuleKind.PERSON


_AFTER_WORD: Final = re.compile(rf"(?:(?<=[EeIi]nf)\.)?[ ]{_NAME}(?P<more>[ ][{UP}]{SMALL_LETTER}+)?{_ENDS}")
FIELD_OF_WORK: Final = re.compile(
    r"\w+(?:log[iíy]a?|logie|iatr[iíy]a?|iatrics|ics|ería|ica|dad|ción|zione|sione|tion|ment|mente|ing|ists?|tà|ance|"
    r"tura)\Z"
)


def _announced(kind: RuleKind, ahead: re.Pattern[str], pattern: re.Pattern[str] = _AFTER_WORD) -> Finder:
    """The name right after the trigger word, if `ahead` matches what comes before that word."""

    def find(text: str, start: int, end: int) -> Iterator[Found]:
        match = pattern.match(text, end)
        if match is None or not ahead.search(text[max(0, start - 24) : start]):
            return
        name = match["name"].lower()
        if NAMED_AFTER.match(text, match.end()) or NAMED_AFTER.match(text, match.end("name")):
            return
        if is_service(text[match.start("name") : match.end()]):
            return
        if len(name) > 2 and name not in NO_NAMES and (name in GIVEN or not FIELD_OF_WORK.match(name)):
            yield match.start("name"), match.end("more") if match["more"] else match.end("name"), kind

    return find


_ROLE_BEFORE: Final = re.compile(
    rf"(?:\A|[.:;\n(][ ]?|(?<!{LETTER})(?:{either('before_roles')})[ ]|(?<!{LETTER})l['’])\Z", re.IGNORECASE
)
_TREATED: Final = re.compile(rf"(?<!{LETTER})(?:{either('treated')})[ ]\Z", re.IGNORECASE)
_ACCOMPANIED: Final = re.compile(rf"(?<!{LETTER})(?:{either('accompanied')})[ ]\Z", re.IGNORECASE)
_PATIENT_BEFORE: Final = re.compile(r"(?<![a-zà-ÿ])(?:el|la|il|the|this|esta|este|questa|questo)[ ]\Z", re.IGNORECASE)
_SAYS_BEFORE: Final = re.compile(
    r"(?:\A|[.:;\n(¿][ ]?|(?<![a-zà-ÿ])(?:nos|me|y|que|como|ci|mi|e|che|come|lo)[ ])\Z", re.IGNORECASE
)
_SAYS_AFTER: Final = re.compile(
    rf"[ ]{_NAME}(?=[ ](?:que|si|cuándo|cuánto|cómo|dónde|por qué|che|se|quando|perché|dove|come)[ ])"
)


def _says(text: str, start: int, end: int) -> Iterator[Found]:
    """Who says or asks something, after the verb: `Nos dice Lis que no ve`, `Chiede Rita se può`."""
    match = _SAYS_AFTER.match(text, end)
    if match and match["name"].lower() not in NO_NAMES and _SAYS_BEFORE.search(text[max(0, start - 8) : start]):
        yield *match.span("name"), RuleKind.PERSON


# "Patient Blake Storm, 66"
_AGED: Final = re.compile(rf"[ ]{_NAME}(?P<more>[ ][{UP}]{SMALL_LETTER}+)(?=,?[ ]\(?[0-9]{{1,3}}(?![0-9/.,%]))")
_ANYTHING: Final = re.compile("")
# "Natale è stato operato", "May has been afebrile"
_MONTH_ACTS: Final = re.compile(rf"[ ](?:{either('month_acts')})(?!{LETTER})")


def _month(text: str, start: int, end: int) -> Iterator[Found]:
    """A month or a feast that is somebody's name, before what only persons do."""
    if _MONTH_ACTS.match(text, end):
        yield start, end, RuleKind.PERSON


_PERSONS: Final = frozenset(word for word in listed("persons") if len(word) > 3 and not word.endswith("."))
_BY: Final = frozenset({"por", "by", "da", "dal", "dalla"})
RULES: Final = (
    Rule(
        "name.apposed",
        frozenset(listed("relations", "roles", "persons", "work_es", "work_it", "work_en")),
        _apposed,
        0.85,
        rank=61,
        strong=True,
    ),
    Rule("name.called", frozenset(listed("called")), _called, 0.85, rank=57, strong=True),
    Rule("name.surnamed", frozenset(listed("surnamed")), _surnamed, 0.85, rank=57, strong=True),
    Rule(
        "name.role.surname",
        frozenset(listed("roles")),
        _announced(RuleKind.STAFF, _ROLE_BEFORE),
        0.85,
        rank=56,
        strong=True,
    ),
    Rule("name.by", _BY, _announced(RuleKind.STAFF, _TREATED), 0.8, rank=56, strong=True),
    Rule("name.by.relative", _BY, _announced(RuleKind.RELATIVE, _ACCOMPANIED), 0.8, rank=56, strong=True),
    Rule("name.patient.called", _PERSONS, _announced(RuleKind.PATIENT, _PATIENT_BEFORE), 0.8, rank=31),
    Rule(
        "name.patient.aged",
        frozenset({"patient", "paciente", "paziente"}),
        _announced(RuleKind.PATIENT, _ANYTHING, _AGED),
        0.8,
        rank=56,
    ),
    Rule(
        "name.month", frozenset(listed("month_given", "feast_given")), _month, 0.8, rank=62, strong=True, capital=True
    ),
    Rule("name.says", frozenset(listed("says")), _says, 0.85, rank=57, strong=True),
)

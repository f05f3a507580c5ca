"""Given names alone in running text: by what a name means besides, and by the words that come before and after it.

A name that means nothing else counts wherever it is written with a capital letter, unless the words around it make it
part of another name ("Herbert screw"). A name that is a word too counts within a sentence, and at its start before a
verb. One that is an eponym, a month or a well-known place needs words that go with persons only.
"""

import re
from collections.abc import Iterator
from functools import partial
from typing import Final

from models_runtime.backends.rules.bare import GIVEN, is_word
from models_runtime.backends.rules.gazetteers import RuleKind, any_of, either, listed, open_given, places, word_set
from models_runtime.backends.rules.persons import NOT_BEFORE
from models_runtime.backends.rules.phrases import (
    ALL_GIVEN,
    APOSTROPHE,
    LETTER,
    SMALL_LETTER,
    UP,
    before,
    is_clinical_word,
    is_service,
    line_before,
    read_name,
)
from models_runtime.backends.rules.rule import Finder, Found, Rule, strong

NO_NAMES: Final = word_set("not_names").union(
    word_set("drugs"),
    listed("sentence_starts", "statuses", "patient_states", "persons", "relations", "staff_words", "no_given"),
)
"""Words that are nobody's name here, whatever comes before them."""
_OPEN: Final = GIVEN.difference(NO_NAMES)
_SHADOWED: Final = _OPEN.intersection(
    word_set("eponyms").union(places(), listed("eponym_given", "month_given", "everyday_towns"))
)
_WORDS: Final = _OPEN.intersection(listed("everyday_names")) - _SHADOWED
SURE: Final = _OPEN.difference(_WORDS, _SHADOWED, word_set("surnames") - ALL_GIVEN)
"""Given names that mean nothing else."""
_THINGS: Final = word_set("eponyms").union(places())

# Words that name something after a person, before or after the name.
_NAMED_BEFORE: Final = re.compile(
    rf"(?<!{LETTER})(?:{either('eponym_heads', 'town_heads', 'named_after_places')}|{either('named_before')})"
    rf"(?:[ ](?:de|di|of|del|della|la|de la|y|e|and|[a-zà-ÿ]{{4,14}}(?:[ ](?:de|di|of))?))?[ ]\Z"
)
NAMED_AFTER: Final = re.compile(
    rf"(?:['’]s)?[ ](?:[a-zà-ÿ\-]+[ ])?"
    rf"(?:{either('eponym_tails', 'town_tails', 'named_after_tails', 'eponym_name_tails', 'named_after')})(?!{LETTER})"
)
_AGE: Final = re.compile(
    r",[ ](?:a|aa|anni|età|edad|aged?)\.?[ ][0-9]{1,3}(?![0-9])|"
    r",?[ ]\(?[0-9]{1,3}[ ]?(?:a|aa|años?|meses|yrs?|years?|months?|mo|yo|y/o|y\.o|anni|mesi|F|M|♀|♂)(?!\w)"
)
_AFTER: Final = re.compile(
    rf"(?:['’]s)?(?:[ ]+(?:\(|[\-–—][ ])?{SMALL_LETTER}|[ ]?[.,;:!?)\"”»\n]|[ ][\-–—/+&→][ ]|[ ][(\[]|[ ]*\Z)"
)
_OPENS: Final = re.compile(r"(?:\A|[.!?:;\n\t•*\"“«(\-–—¿¡] ?|\A[ ]+)\Z")
_SMALL: Final = re.compile(rf"(?<![\w.])(?P<word>{SMALL_LETTER}+|[0-9]+[ºª°]?|w/)(?P<comma>,?)[ ]\Z")
_FIRST: Final = re.compile(rf"(?:\A|[.!?:;\n•\-–—*\"“«(¿¡][ ]?)(?P<word>[{UP}]{SMALL_LETTER}*)(?P<comma>,?)[ ]\Z")
_LISTED_AFTER: Final = re.compile(rf"(?:,|[ ](?:y|e|ed|and|o|or|&))[ ](?P<word>[{UP}]{LETTER}+)")
_LISTED_BEFORE: Final = re.compile(rf"(?P<word>[{UP}]{LETTER}+)(?:['’]s)?(?:,|[ ](?:y|e|ed|and|o|or|&))[ ]\Z")
# "Vite di Herbert." and "Monitor Merlin." are things, and so is "Ahmed funcionante." at the start of a sentence.
_OF_FIRST: Final = re.compile(rf"(?:\A|[.!?:;\n•*][ ]?)(?P<head>[{UP}]{LETTER}*)[ ](?:de|di|of)[ ]\Z")
_ENDS: Final = re.compile(r"[ ]*(?:[.;:!?\n]|\Z)")
_FEW_AFTER: Final = re.compile(
    rf"(?:,?[ ]\(?(?P<next>{SMALL_LETTER}+)(?:[ ][\w]+\)?)?)?[ ]*(?:[.;:!?\n]|,[ ][0-9{UP}]|\Z)"
)
_VERB: Final = re.compile(rf"{SMALL_LETTER}+(?:ed|es|ts|ks|ps|lls|ys|ò|ó|aba|ava|eva|ía)\Z")
# "Según Max, el dolor" and "according to Max the pain": no scale comes before a comma or a subject.
_ACCORDING: Final = re.compile(r"(?<![a-zà-ÿ])(?:según|secondo|according to)[ ]\Z", re.IGNORECASE)
_CLAUSE_ENDS: Final = re.compile(r"[.,;\n]|[ ](?:and|has|is|was|had|to|who)[ ]|\Z")
_SPEAKING: Final = frozenset(listed("before_persons"))
_PERSON_LEADS: Final = frozenset(listed("person_leads", "before_persons"))
_SUBJECT_AFTER: Final = re.compile(r",[ ][a-zà-ÿ]|[ ](?:el|la|il|lo|the|no|non|se|è|ha)[ ]")
# "estado de Alba", "on behalf of Fern"
_OF_PERSONS: Final = re.compile(
    rf"(?<!{LETTER})(?:{either('of_persons', 'relations')})[ ](?:de|di|of)[ ]\Z", re.IGNORECASE
)
_NOT_WITHIN: Final = frozenset(listed("given_articles", "place_prepositions")) - {"a", "per", "por", "da", "to", "from"}
# "Habló Consuelo con la trabajadora social"
_PAST: Final = re.compile(rf"[{UP}]{SMALL_LETTER}{{2,}}ó")
_NOT_LED: Final = _NOT_WITHIN.union(("según", "secondo", "to", "no", "non", "not"))
_FIRST_WORDS: Final = frozenset(listed("before_persons", "before_given"))
_VERB_AFTER: Final = re.compile(
    rf"[ ](?:(?:{either('person_verbs')})(?!{LETTER})|(?:es|è|is)[ ](?:el|la|il|the|su|a|an|un|una|her|his|mi|my|lo|"
    rf"l['’])(?!{LETTER})|(?:ha|non ha|no ha|è)[ ](?:sido|stat[oa]|venut[oa]|{SMALL_LETTER}{{2,}}(?:ado|ido|ato|uto|"
    rf"ito))(?!{LETTER})|ha[sd]?[ ](?:been|had)[ ]{SMALL_LETTER}|(?:non|no)[ ](?:è|ha|viene|vuole|mangia|es|tiene|"
    rf"quiere|puede|come|duerme)(?!{LETTER})|{SMALL_LETTER}{{2,}}[ae][ ](?:un|una|il|la|los|las|gli|che|que|tutto|"
    rf"todo)(?!{LETTER})|{SMALL_LETTER}{{2,}}(?:s|ed)[ ](?:her|his|him|he|she|me|us|all|that|to|the|a|no|with|at|about|"
    rf"in|up|out|off)(?!{LETTER})|(?:e|y|and)[ ](?:il|la|lo|su|sus|his|her|the|el|i)(?!{LETTER})|{SMALL_LETTER}+(?:ò|ó|"
    rf"ì|aba|ava|eva)(?!{LETTER}))"
)
_PERSON_VERBS: Final = frozenset(listed("person_verbs", "verbs_of_names"))


def _running(text: str, start: int, end: int) -> Iterator[Found]:
    """A given name without a surname, by its own meanings and the words around it."""
    if not is_word(text, start, end) or not (_AFTER.match(text, end) or _AGE.match(text, end)):
        return
    word = text[start:end].lower()
    behind = line_before(text, start, 48)
    if not (
        _with_persons(behind, text, end, thing=word in _THINGS)
        or (word in SURE and _sure(text, end, behind))
        or (word in _WORDS and _within(text, end, behind))
    ):
        return
    small = behind.lower()
    if not NOT_BEFORE.search(small) and not _NAMED_BEFORE.search(small) and not NAMED_AFTER.match(text, end):
        yield start, end, RuleKind.PERSON


def _with_persons(behind: str, text: str, end: int, *, thing: bool) -> bool:
    """Whether words beside the name go with persons only. `thing`: whether it is an eponym or a place as well."""
    first = _FIRST.search(behind)
    if first is not None and (first["word"].lower() in _SPEAKING or _PAST.fullmatch(first["word"])):
        return True
    if (small := _SMALL.search(behind)) and not small["comma"] and small["word"] in _PERSON_LEADS:
        return True
    if thing:
        return False
    if small is not None and small["word"] in ("for", "both", "w/") and _CLAUSE_ENDS.match(text, end):
        return True
    if _OF_PERSONS.search(behind):
        return True
    if _ACCORDING.search(behind) and _SUBJECT_AFTER.match(text, end):
        return True
    return _OPENS.search(behind) is not None and _AGE.match(text, end) is not None


def _sure(text: str, end: int, behind: str) -> bool:
    """Whether nothing around an unambiguous name makes it a part of another name."""
    other = _LISTED_AFTER.match(text, end) or _LISTED_BEFORE.search(behind)
    if other is not None and other["word"].lower() not in GIVEN:
        return False
    if _OPENS.search(behind):
        if not behind.strip() and text[end : end + 1] == ":":
            return True
        few = _FEW_AFTER.match(text, end)
        return (
            few is None
            or _AGE.match(text, end) is not None
            or (few["next"] or "") in _PERSON_VERBS
            or _VERB.match(few["next"] or "") is not None
        )
    if first := _FIRST.search(behind):
        return first["word"].lower() in _FIRST_WORDS or (len(first["word"]) > 1 and not _ENDS.match(text, end))
    if _OF_FIRST.search(behind) and _ENDS.match(text, end):
        return _OF_PERSONS.search(behind) is not None
    return other is not None or _SMALL.search(behind) is not None


def _within(text: str, end: int, behind: str) -> bool:
    """Whether a name that is a word too stands within a sentence, or before a verb at its start."""
    if _OPENS.search(behind):
        return _VERB_AFTER.match(text, end) is not None
    if first := _FIRST.search(behind):
        return first["word"].lower() in _FIRST_WORDS
    small = _SMALL.search(behind)
    if small is None or _LISTED_AFTER.match(text, end):
        return False
    return small["word"] not in _NOT_WITHIN and not small["word"][0].isdigit()


def _whole(text: str, start: int, end: int, *, strong: bool) -> Iterator[Found]:
    """A given name of the wider lists with a surname after it: `Naima Bouzid`.

    `strong`: a full name that looks like an eponym or like words, within a sentence: `firma Luis Beck`.
    """
    if text[start - 1 : start] in ("-", "_", "@", ".", "/") or text[end : end + 1] != " ":
        return
    if not text[start + 1 : end].islower():
        return
    within = _SMALL.search(text, max(0, start - 24), start)
    spoken = _FIRST.search(text, max(0, start - 24), start)
    led = (within is not None and not within["comma"] and within["word"] not in _NOT_LED) or (
        spoken is not None and spoken["word"].lower() in _SPEAKING
    )
    if strong and not led:
        return
    stop = read_name(text, start, most=4)
    rest = [part.lower() for part in text[end:stop].split() if part[0].isupper()]
    if not rest or any(part.upper() in text[end:stop] and len(part) > 1 for part in rest):
        return
    if any(part in NO_NAMES or part in listed("common_surnames") for part in rest):
        return
    word, known = text[start:end].lower(), all(part not in word_set("eponyms") for part in rest)
    if not (known and word in SURE and not strong) and not (
        strong and word not in _SHADOWED and (word in ALL_GIVEN or all(part in GIVEN for part in rest))
    ):
        return
    behind = before(text, start, 48)
    if not NOT_BEFORE.search(behind) and not _NAMED_BEFORE.search(behind) and not NAMED_AFTER.match(text, stop):
        yield start, stop, RuleKind.PERSON


# Names, known or not, by words that tell that somebody is meant: what a person is, does or is called.


_NAME: Final = rf"(?P<name>[{UP}]{SMALL_LETTER}+(?:[{APOSTROPHE}\-][{UP}]?{SMALL_LETTER}+)?)"
_NAME_ENDS: Final = rf"(?=['’]s[ ]|[ ](?:\(|[\-–—][ ])?{SMALL_LETTER}|[ ]?[.,;:!?)\r\n]|[ ]*\Z)"
_ARTICLES: Final = frozenset(listed("given_articles", "place_prepositions")) - {"a", "to", "per", "da", "por"}

_APPOSED: Final = re.compile(
    rf"(?P<lead>{SMALL_LETTER}+[ ]|[:(][ ]?|\A|[.;\n•][ ]?|[{UP}]{SMALL_LETTER}*[ ]){_NAME}(?:,[ ]|[ ]\()"
    rf"(?:(?:{either('before_kin')}|(?!(?:{either('no_kin')})[ ])[a-zà-ÿ]{{3,12}})[ ]){{0,2}}(?:l['’])?\Z"
)


def _apposed(text: str, start: int, end: int) -> Iterator[Found]:
    """A name before a comma and what the person is: `Consegnato a Pasqua, operatrice`, `Tutrice: Dacia, sorella`."""
    near = text[max(0, start - 30) : start]
    match = _APPOSED.search(text, max(0, start - 60), start) if "," in near or "(" in near else None
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
        yield *match.span("name"), RuleKind.PERSON


_CALLED: Final = re.compile(rf"(?:[ ](?:is[ ])?|[ ]?[:,][ ]){_NAME}{_NAME_ENDS}")
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
    if (match := _SURNAMED.search(text, max(0, start - 40), start)) and match["name"].lower() not in NO_NAMES:
        yield *match.span("name"), RuleKind.PERSON


_AFTER_WORD: Final = re.compile(rf"(?:(?<=[EeIi]nf)\.)?[ ]{_NAME}(?P<more>[ ][{UP}]{SMALL_LETTER}+)?{_NAME_ENDS}")
FIELD_OF_WORK: Final = re.compile(rf"\w+(?:{any_of('running.field_of_work')})\Z")


def _announced(kind: RuleKind, ahead: re.Pattern[str], pattern: re.Pattern[str] = _AFTER_WORD) -> Finder:
    """The name right after the trigger word, if `ahead` matches what comes before that word."""

    def find(text: str, start: int, end: int) -> Iterator[Found]:
        match = pattern.match(text, end)
        if match is None or not ahead.search(text, max(0, start - 24), start):
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
_SAYS_AFTER: Final = re.compile(f"[ ]{_NAME}(?=[ ](?:{any_of('running.says_after')})[ ])")


def _says(text: str, start: int, end: int) -> Iterator[Found]:
    """Who says or asks something, after the verb: `Nos dice Lis que no ve`, `Chiede Rita se può`."""
    match = _SAYS_AFTER.match(text, end)
    if match and match["name"].lower() not in NO_NAMES and _SAYS_BEFORE.search(text, max(0, start - 8), start):
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


# Names in English text whose given names are words.


_SURNAME: Final = re.compile(rf"[ ](?P<name>[{UP}]{SMALL_LETTER}{{2,}})(?=['’]s|[ ]{SMALL_LETTER}|[.,;:!?)\n]|\Z)")
_ACTS: Final = re.compile(rf"[ ](?:{either('en.does')})(?!{LETTER})")
_LEAD: Final = re.compile(r"(?<!\w)(?:(?i:with|by|saw|met|told|asked|called|named)|[A-Z][a-z]+ [A-Z][a-z]+ and)[ ]\Z")
_NO_SURNAMES: Final = NO_NAMES.union(
    word_set("eponyms"), listed("common_surnames", "eponym_tails", "months", "weekdays_en", "services", "place_tails")
)


def _like_words(text: str, start: int, end: int) -> Iterator[Found]:
    """A full name whose given name is a word: `Hope Price called`, `came with Grace Rich`."""
    surname = _SURNAME.match(text, end) if is_word(text, start, end) else None
    if surname is None or surname["name"].lower() in _NO_SURNAMES or is_clinical_word(surname["name"]):
        return
    led = text[start:end] not in ("Will", "May") and _LEAD.search(text, max(0, start - 32), start)
    if led or _ACTS.match(text, surname.end()):
        yield start, surname.end(), RuleKind.PERSON


_LIKE_WORDS: Final = (
    (word_set("given_en") | word_set("more_given_en") | open_given("en") | {"will", "may", *listed("everyday_names")})
    & GIVEN
) - SURE.union(places())

RULES: Final = (
    strong("name.apposed", _apposed, 61, listed("relations", "roles", "persons", "work_es", "work_it", "work_en")),
    strong("name.called", _called, 57),
    strong("name.surnamed", _surnamed, 57),
    strong("name.role.surname", _announced(RuleKind.STAFF, _ROLE_BEFORE), 56, listed("roles")),
    strong("name.by", _announced(RuleKind.STAFF, _TREATED), 56, _BY),
    strong("name.by.relative", _announced(RuleKind.RELATIVE, _ACCOMPANIED), 56, _BY),
    Rule("name.patient.called", _announced(RuleKind.PATIENT, _PATIENT_BEFORE), 31, _PERSONS),
    Rule("name.patient.aged", _announced(RuleKind.PATIENT, _ANYTHING, _AGED), 56),
    strong("name.month", _month, 62, listed("month_given", "feast_given"), capital=True),
    strong("name.says", _says, 57),
    Rule("name.running", _running, 27, _OPEN, capital=True),
    Rule("name.running.whole", partial(_whole, strong=False), 42, SURE - ALL_GIVEN, capital=True),
    strong("name.running.led", partial(_whole, strong=True), 42, _OPEN - _SHADOWED, capital=True),
    Rule("name.word.en", _like_words, 44, _LIKE_WORDS, capital=True, language="en"),
)

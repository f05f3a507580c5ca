"""Given names alone in running text: by what a name means besides, and by the words that come before and after it.

A name that means nothing else counts wherever it is written with a capital letter, unless the words around it make it
part of another name ("Herbert screw"). A name that is a word too counts within a sentence, and at its start before a
verb. One that is an eponym, a month or a well-known place needs words that go with persons only.
"""

import re
from collections.abc import Iterator
from typing import Final

from models_runtime.backends.rules.bare import GIVEN, is_word
from models_runtime.backends.rules.gazetteers import either, listed, places, word_set
from models_runtime.backends.rules.kinds import Kind
from models_runtime.backends.rules.names import ALL_GIVEN
from models_runtime.backends.rules.persons import NOT_BEFORE
from models_runtime.backends.rules.phrases import APOSTROPHE, LETTER, SMALL_LETTER, UP, before, read_name
from models_runtime.backends.rules.rule import Found, Rule

_NO_NAMES: Final = word_set("not_names").union(
    word_set("drugs"), listed("sentence_starts", "acronyms", "statuses", "persons", "relations", "staff_words")
)
_SHADOWED: Final = word_set("eponyms").union(listed("eponym_given", "month_given", "everyday_towns")) | frozenset(places())
_WORDS: Final = frozenset(listed("everyday_names")).difference(_SHADOWED)
_OPEN: Final = GIVEN.difference(_NO_NAMES)
_SURE: Final = _OPEN.difference(_WORDS, _SHADOWED, word_set("surnames") - ALL_GIVEN)

# Words that name something after a person, before or after the name.
_HEADS: Final = either("eponym_heads", "town_heads", "named_after_places")
_NAMED_BEFORE: Final = re.compile(
    rf"(?<!{LETTER})(?:{_HEADS}|st\.?|santa?|san|saint|sant|queen|king|re|rey|reina|regina|hospital|institut\w*|"
    rf"university|college|clinic|clínica|via|viale|calle|plaza|piazza|street|hurricane|vitamin\w*|"
    rf"modified|modificad[oa]|modificat[oa]|secondo)"
    rf"(?:[ ](?:de|di|of|del|della|la|de la|y|e|and|[a-zà-ÿ]{{4,14}}(?:[ ](?:de|di|of))?))?[ ]\Z"
)
_TAILS: Final = either("eponym_tails", "town_tails", "named_after_tails", "eponym_name_tails")
_NAMED_AFTER: Final = re.compile(rf"(?:['’]s)?[ ](?:[a-zà-ÿ\-]+[ ])?(?:{_TAILS})(?!{LETTER})")
_AGE: Final = re.compile(
    r"[ ]\(?[0-9]{1,3}[ ]?(?:a|aa|años?|meses|m|yrs?|years?|months?|mo|yo|y/o|y\.o|anni|mesi|F|M|f|♀|♂)(?![\w])"
)
_AFTER: Final = re.compile(
    rf"(?:['’]s)?(?:[ ]+(?:\(|[\-–—][ ])?{SMALL_LETTER}|[ ]?[.,;:!?)\"”»\n]|[ ][\-–—/+&→][ ]|[ ][(\[]|[ ]*\Z)"
)
_OPENS: Final = re.compile(r"(?:\A|[.!?:;\n\t•*\"“«(\-–—¿¡/] ?|\A[ ]+)\Z")
_SMALL_BEFORE: Final = re.compile(rf"(?<![\w.])(?P<word>{SMALL_LETTER}+|[0-9]+[ºª°]?)(?P<comma>,?)[ ]\Z")
_FIRST_BEFORE: Final = re.compile(rf"(?:\A|[.!?:;\n•\-–—*\"“«(¿¡][ ]?)(?P<word>[{UP}]{SMALL_LETTER}*)(?P<comma>,?)[ ]\Z")
_ENDS_ALL: Final = re.compile(r"[ ]*(?:[.;:!?\n]|\Z)")
_LISTED_AFTER: Final = re.compile(rf"(?:,|[ ](?:y|e|ed|and|o|or|&))[ ](?P<word>[{UP}]{LETTER}+)")
_LISTED_BEFORE: Final = re.compile(rf"(?P<word>[{UP}]{LETTER}+)(?:['’]s)?(?:,|[ ](?:y|e|ed|and|o|or|&))[ ]\Z")
_ARTICLES: Final = frozenset(listed("given_articles"))
_PLACE_BEFORE: Final = frozenset(listed("place_prepositions")) - {"a", "per", "por", "da"}
_SPEECH: Final = frozenset(listed("before_persons"))
_VERB_AFTER: Final = re.compile(
    rf"[ ](?:(?:{either('person_verbs')})(?!{LETTER})|"
    rf"(?:es|è|is)[ ](?:el|la|il|the|su|a|an|un|una|her|his|mi|my|lo|l['’])(?!{LETTER})|"
    rf"(?:ha|non ha|no ha)[ ](?:sido|{SMALL_LETTER}{{2,}}(?:ado|ido|ato|uto|ito))(?!{LETTER})|"
    rf"(?:has|had)[ ]been[ ](?:admitted|afebrile|eating|sleeping|told|seen|well|asking|crying)|"
    rf"(?:non|no)[ ](?:è|ha|viene|vuole|mangia|es|ha|tiene|quiere|viene|puede|come|duerme)(?!{LETTER})|"
    rf"{SMALL_LETTER}{{2,}}(?:s|ed)[ ](?:her|his|him|he|she|me|us|all|that|to|the|a|no|with|at|about)(?!{LETTER})|"
    rf"{SMALL_LETTER}+(?:ò|ó|ì|aba|ava|eva)(?!{LETTER}))"
)


def _running(text: str, start: int, end: int) -> Iterator[Found]:
    """A given name without a surname, by its own meanings and the words around it."""
    if not is_word(text, start, end):
        return
    word = text[start:end].lower()
    behind = text[max(0, start - 48) : start].rpartition("\n")[2]
    if NOT_BEFORE.search(behind.lower()) or _NAMED_BEFORE.search(behind.lower()) or _NAMED_AFTER.match(text, end):
        return
    if not (_AFTER.match(text, end) or _AGE.match(text, end)):
        return
    if _with_persons(behind, text, end) or (
        word in _SURE and _sure(text, end, behind) or word in _WORDS and _within(text, end, behind)
    ):
        yield start, end, Kind.PERSON


def _with_persons(behind: str, text: str, end: int) -> bool:
    """Whether words that go with persons only come right before the name, or a verb of a person opens the sentence."""
    opening = _FIRST_BEFORE.search(behind)
    if opening is not None:
        return opening["word"].lower() in _SPEECH
    small = _SMALL_BEFORE.search(behind)
    return small is not None and not small["comma"] and small["word"] in listed("person_leads")


def _sure(text: str, end: int, behind: str) -> bool:
    """Whether nothing around an unambiguous name makes it a part of another name."""
    other = _LISTED_AFTER.match(text, end) or _LISTED_BEFORE.search(behind)
    if other is not None and other["word"].lower() not in GIVEN:
        return False
    if not behind or _OPENS.search(behind):
        return _ENDS_ALL.match(text, end) is None
    if _SMALL_BEFORE.search(behind) or _FIRST_BEFORE.search(behind):
        return True
    return other is not None


def _within(text: str, end: int, behind: str) -> bool:
    """Whether a name that is a word too stands within a sentence, or before a verb at its start."""
    if not behind or _OPENS.search(behind):
        return _VERB_AFTER.match(text, end) is not None or _AGE.match(text, end) is not None
    small = _SMALL_BEFORE.search(behind)
    if small is None or _LISTED_AFTER.match(text, end):
        return False
    word = small["word"]
    return len(word) > 1 and word not in _ARTICLES and word not in _PLACE_BEFORE and not word[0].isdigit()


def _whole(text: str, start: int, end: int) -> Iterator[Found]:
    """An unambiguous given name of the wider lists, with a surname after it: `Naima Bouzid`."""
    if text[start - 1 : start] in ("-", "_", "@", ".", "/") or text[end : end + 1] != " ":
        return
    behind = before(text, start, 48)
    if not text[start + 1 : end].islower() or NOT_BEFORE.search(behind) or _NAMED_BEFORE.search(behind):
        return
    stop = read_name(text, start, most=4)
    rest = text[end:stop].split()
    if not rest or _NAMED_AFTER.match(text, stop) or any(part.isupper() and len(part) > 1 for part in rest):
        return
    others = [part for part in rest if part[0].isupper()]
    if any(part.lower() in _NO_NAMES or part.lower() in listed("common_surnames") for part in others):
        return
    if all(part.lower() not in word_set("eponyms") for part in others):
        yield start, stop, Kind.PERSON


_KIN: Final = either("relations", "persons", "roles", "work_es", "work_it", "work_en")
_APPOSED: Final = re.compile(
    rf"(?P<lead>{SMALL_LETTER}{{2,}}[ ]|:[ ]|\A|[.\n][ ]?)(?P<name>[{UP}]{SMALL_LETTER}{{2,}}(?:[{APOSTROPHE}\-]{LETTER}+)?),[ ]"
    rf"(?:(?:the|a|an|her|his|el|la|il|lo|un|una|su|sua|suo|mother['’]s|father['’]s|[a-zà-ÿ]{{3,12}})[ ]){{0,2}}(?:l['’])?\Z"
)


def _apposed(text: str, start: int, end: int) -> Iterator[Found]:
    """A name before a comma and what the person is: `Consegnato a Pasqua, operatrice`, `Tutrice: Dacia, sorella`."""
    low = max(0, start - 60)
    match = _APPOSED.search(text[low:start])
    if match is None or match["name"].lower() in _NO_NAMES:
        return
    opens = not match["lead"].strip(" .\n") or match["lead"][0].isupper()
    if opens and match["name"].lower() not in GIVEN:
        return
    if match["lead"].strip() in _ARTICLES or (match["lead"].strip() in _PLACE_BEFORE):
        return
    yield low + match.start("name"), low + match.end("name"), Kind.PERSON


_CALLED: Final = re.compile(
    rf"(?:[ ]|[ ]?[:,][ ])(?P<name>[{UP}]{SMALL_LETTER}+(?:[{APOSTROPHE}\-]{LETTER}+)?)(?={_AFTER.pattern})"
)
_CALLED_BEFORE: Final = re.compile(r"(?:disease|procedure|drug|syndrome|síndrome|sindrome|fármaco|farmaco|escala|test)[ ]\Z")


def _called(text: str, start: int, end: int) -> Iterator[Found]:
    """The name after `called`, `apellidado` or `di nome`."""
    match = _CALLED.match(text, end)
    if match and match["name"].lower() not in _NO_NAMES and not _CALLED_BEFORE.search(before(text, start, 24)):
        yield match.start("name"), match.end("name"), Kind.PERSON


_SURNAMED: Final = re.compile(
    rf"(?P<name>[{UP}]{LETTER}+)(?:,?[ ]\((?:de[ ]|di[ ]|es[ ](?:el|su)[ ]|è[ ]il[ ])?|,?[ ](?:de|di|by)[ ]|,[ ])\Z"
)


def _surnamed(text: str, start: int, end: int) -> Iterator[Found]:
    """The name before `de apellido`, `(cognome)`, `by surname`."""
    low = max(0, start - 40)
    match = _SURNAMED.search(text[low:start])
    if match is not None and match["name"].lower() not in _NO_NAMES:
        yield low + match.start("name"), low + match.end("name"), Kind.PERSON


_ROLE_AFTER: Final = re.compile(
    rf"[ ](?P<name>[{UP}]{SMALL_LETTER}{{2,}}(?:[ ][{UP}]{SMALL_LETTER}{{2,}})?)(?=[ ]{SMALL_LETTER}|[.,;:)\n]|[ ]*\Z)"
)
_ROLE_BEFORE: Final = re.compile(r"(?:\A|[.:;\n(][ ]?|(?:el|la|al|del|il|lo|l['’]|della|dalla|dal|alla|the|by|with|and|e|y|con|a|por)[ ])\Z")
_FIELD_ENDS: Final = re.compile(r"\w+(?:log[iíy]a?|logie|iatr[iíy]a?|iatrics|ics|ria|ería|tica|dad|ción|zione|sione|tion|ment|mente|ing|ists?|er|tor|trice|ura)\Z")


def _role(text: str, start: int, end: int) -> Iterator[Found]:
    """The surname after a role: `la psicóloga Alegre`, `Registrar Down examined him`."""
    match = _ROLE_AFTER.match(text, end)
    if match is None or not _ROLE_BEFORE.search(before(text, start, 12)):
        return
    name = match["name"].split()[0].lower()
    if name not in _NO_NAMES and (name in GIVEN or not _FIELD_ENDS.match(name)):
        yield match.start("name"), match.end("name"), Kind.STAFF


_TREATED: Final = re.compile(rf"(?<!{LETTER})(?:{either('treated')})[ ]\Z")


def _by(text: str, start: int, end: int) -> Iterator[Found]:
    """Who treated somebody: `Operado por Hartmann`, `seen by Kocher`."""
    match = _ROLE_AFTER.match(text, end)
    if match is None or not _TREATED.search(before(text, start, 24)):
        return
    name = match["name"].split()[0].lower()
    if name not in _NO_NAMES and (name in GIVEN or not _FIELD_ENDS.match(name)):
        yield match.start("name"), match.end("name"), Kind.STAFF


RULES: Final = (
    Rule("name.running", _OPEN | _WORDS | (_SHADOWED & GIVEN), _running, 0.8, rank=27, capital=True),
    Rule("name.running.whole", _SURE - ALL_GIVEN, _whole, 0.8, rank=42, capital=True),
    Rule("name.apposed", frozenset(listed("relations", "roles", "persons", "work_es", "work_it", "work_en")), _apposed, 0.85, rank=57, strong=True),
    Rule("name.called", frozenset(listed("called")), _called, 0.85, rank=57, strong=True),
    Rule("name.surnamed", frozenset({"apellido", "apellidos", "cognome", "surname", "llama", "chiama"}), _surnamed, 0.85, rank=57, strong=True),
    Rule("name.role.surname", frozenset(listed("roles")), _role, 0.85, rank=56, strong=True),
    Rule("name.by", frozenset({"por", "by", "da", "dal", "dalla"}), _by, 0.8, rank=56, strong=True),
)

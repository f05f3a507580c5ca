"""Hospitals and care centers, by the form of their names."""

import re
from collections.abc import Collection, Iterator
from typing import Final

from models_runtime.backends.rules.gazetteers import RuleKind, any_of, either, listed, word_set
from models_runtime.backends.rules.phrases import LETTER, UP, before, line_before, read_phrase
from models_runtime.backends.rules.rule import Finder, Found, Rule, declared, pattern, strong, words

# "University of Wisconsin solution", "Maryland Hospital score"
_NO_INSTITUTION: Final = re.compile(
    rf"[ ](?:{either('eponym_tails')})(?!{LETTER})|,?[ ](?:nomogra\w+|modelo|model|score)[ ]?[0-9:,.]|"
    rf"[ ](?:{either('eponym_heads')})[ ]?[0-9]"
)
# "según las tablas de la Fundación Orbegozo"
_TABLES_BEFORE: Final = re.compile(
    r"(?:tablas?|gr[aá]ficas?|curvas?|percenti\w+|est[aá]ndares|nomogram\w*|tabelle?|curve|charts?|criteri\w*)[ ]"
    r"(?:seg[uú]n[ ])?(?:de|del|della|dell['’]|of)[ ]?(?:la[ ]|the[ ])?\Z"
)
_WORDS: Final = re.compile(rf"{LETTER}{{2,}}")
_ARTICLES: Final = frozenset(
    {"la", "el", "los", "las", "il", "lo", "le", "de", "del", "di", "della", "the", "of", "und"}
)
_DAY_CARE: Final = re.compile(f"[ ](?:{any_of('institutions.day_care')})(?!{LETTER}|[ ](?!ONCOL)[{UP}0-9])")
# "Nutrición Clínica" is a specialty, not a clinic.
_SPECIALTY: Final = re.compile(rf"(?:{any_of('institutions.specialty')})[ ]\Z")


def headed(kind: RuleKind, *, suffix: str = "", low: bool = True) -> Finder:
    """An institution that begins with the trigger word, followed by `suffix` (a pattern) and a proper phrase.

    A phrase of general words ("hospital general") counts only with capitals. `low`: whether the trigger word may be in
    lower case.
    """
    lead = re.compile(suffix)

    def find(text: str, start: int, end: int) -> Iterator[Found]:
        if not low and not text[start].isupper():
            return
        match = lead.match(text, end)
        if match is None:
            return
        stop = read_phrase(text, match.end(), word_set("not_institutions"))
        if stop == match.end() or _DAY_CARE.match(text, match.end()):
            return
        if text[start:end].lower() in ("clínica", "clinica") and _SPECIALTY.search(text[max(0, start - 16) : start]):
            return
        if _NO_INSTITUTION.match(text, stop):
            return
        if kind is RuleKind.ORGANIZATION and _TABLES_BEFORE.search(before(text, start, 40)):
            return
        named_words = [word for word in _WORDS.findall(text, match.end(), stop) if word.lower() not in _ARTICLES]
        named = [word for word in named_words if word.lower() not in _GENERAL]
        if named or (text[start].isupper() and any(word[0].isupper() for word in named_words)):
            lead_in = _BEFORE_HEAD.search(text[max(0, start - 24) : start])
            yield start - (len(lead_in["lead"]) if lead_in else 0), stop, kind

    return find


_GENERAL: Final = frozenset(listed("general_es", "general_it"))
# English names have words before "Hospital of …".
_BEFORE_HEAD: Final = re.compile(rf"(?<![A-Za-z'’])(?P<lead>(?:{any_of('institutions.before_head')})[ ])\Z")
_BEFORE_END: Final = re.compile(rf"(?:(?:[{UP}][A-Za-z'’\-]*|(?:St|Mt|Ft|[{UP}])\.|of|the|and|&)[ ]){{1,6}}\Z")
_PIECES: Final = re.compile(r"[^ ]+")


# "American College of Gastroenterology" is a society, whose guidelines are cited.
_SOCIETIES: Final = frozenset({"college", "society", "academy", "association", "board"})
_SOCIETY: Final = re.compile(r"(?:American|Royal|European|International|National|Canadian|British)[ ]\Z")


def ended(
    kind: RuleKind, tail: str = "", *, least: int = 1, general: Collection[str] = ("general_en",), lead: str = ""
) -> Finder:
    """An institution that ends with the trigger word ("Mercy Hospital"): the capitalized words before it belong to it.

    `tail` (a pattern) must follow the trigger word, and at least `least` words must precede it. `lead` (a pattern) must
    match the end of the text before the whole name. `general`: groups of words that make no name alone.
    """
    leading, more, no_names = re.compile(lead), re.compile(tail), frozenset(listed(*general))

    def find(text: str, start: int, end: int) -> Iterator[Found]:
        match = more.match(text, end) if text[start].isupper() else None
        if match is None:
            return
        line = line_before(text, start, 64)
        pieces = _words_before(line, start, _BEFORE_END)
        while pieces and _opens_no_name(pieces[0][1]):
            pieces.pop(0)
        society = text[start:end].lower() in _SOCIETIES and _SOCIETY.search(line)
        if society and text.startswith(" of ", end):
            return
        if pieces and not leading.search(text[start - len(line) : pieces[0][0]]):
            return
        if pieces and text[start:end].isupper() and text[start:end] != "VAMC" and not pieces[0][1].isupper():
            return  # "Normales RX"
        if len(pieces) >= least and any(piece.lower() not in no_names for _, piece in pieces):
            yield pieces[0][0], match.end(), kind

    return find


def _words_before(line: str, at: int, expression: re.Pattern[str]) -> list[tuple[int, str]]:
    """The words that the expression finds before `at`, with their positions. `line`: the text of the line before `at`.

    Without words if the expression begins inside a word.
    """
    found = expression.search(line)
    if found is None or (found.start() and line[found.start() - 1].isalnum()):
        return []
    first = at - len(found[0])
    return [(first + piece.start(), piece[0]) for piece in _PIECES.finditer(found[0])]


def _opens_no_name(word: str) -> bool:
    dotted = word.endswith(".") and word not in ("St.", "Mt.", "Ft.")
    return dotted or word[0].islower() or word.lower().rstrip(".") in listed("not_first_en") or word == "&"


_BACTERIA: Final = re.compile(r"(?:[Pp]ylori|[Ii]nfluenzae)")


def _initialled(text: str, start: int, end: int) -> Iterator[Found]:
    """`H. U. La Princesa`, `H. Nª Sra. de la Candela`, `C.S. Gamonal Norte`."""
    match = _INITIALS.match(text, start)
    if match is None or not text[start].isupper() or text[start - 1 : start].isalnum():
        return
    stop = read_phrase(text, match.end(), word_set("not_institutions"))
    long_words = [word for word in _WORDS.findall(text, match.end(), stop) if len(word) > 3]
    if long_words and not _BACTERIA.match(long_words[0]):
        yield start, stop, RuleKind.CARE_CENTER if match[0].startswith("C") else RuleKind.HOSPITAL


_INITIALS: Final = re.compile(rf"(?:H\.(?:[ ]?[UCGP]\.){{0,2}}|C\.[ ]?S\.)[ ](?=[{UP}])(?!Sig|Dott)")


# Universities, institutes, authorities, companies and named places other than hospitals.


_LEGAL_FORM: Final = re.compile(any_of("institutions.legal_form"))
_COMPANY: Final = re.compile(rf"(?:(?:[{UP}][A-Za-zÀ-ÿ&'’\-]*|de|del|la|di|&|y|e|El|La)[ ]){{1,5}}\Z")
_COMPANY_ARTICLES: Final = frozenset({"la", "il", "lo", "the", "presso", "ditta", "società", "empresa", "from"})


def _company(text: str, start: int, end: int) -> Iterator[Found]:
    """`Latticini Valdorba srl`: capitalized words before a company's legal form."""
    form = _LEGAL_FORM.match(text, start)
    if form is None:
        return
    pieces = _words_before(line_before(text, start, 56), start, _COMPANY)
    while pieces and (pieces[0][1][0].islower() or pieces[0][1].lower() in _COMPANY_ARTICLES):
        pieces.pop(0)
    if any(piece[0].isupper() and len(piece) > 2 for _, piece in pieces):
        yield pieces[0][0], form.end(), RuleKind.ORGANIZATION


RULES: Final = (
    *declared("headed", headed),
    *declared("ended", ended),
    strong("org.hospital.initials", _initialled, 78, words("h c"), capital=True),
    Rule("org.company", _company, 53),
    Rule(
        "org.maker",
        pattern(rf"(?P<name>{either('makers')})(?!{LETTER}|-)", name=RuleKind.MAKER),
        44,
        frozenset(re.split(r"[ -]", maker)[0].lower() for maker in listed("makers")),
        capital=True,
    ),
)

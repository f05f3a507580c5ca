"""Numbers of documents, objects and persons: after a word for one of these, or by their form alone.

The words are an open class (`coded_…` in words.txt). How many digits a code needs depends on what is between it and its
word: a sign or colon, nothing, or words that are not listed.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from models_runtime.backends.rules.contacts import is_phone
from models_runtime.backends.rules.dates import FULL, MEASURE
from models_runtime.backends.rules.gazetteers import RuleKind, any_of, either
from models_runtime.backends.rules.numbered import LAW, ORDER, is_count
from models_runtime.backends.rules.phrases import after, before, digits
from models_runtime.backends.rules.rule import DIGITS, Finder, Found, Rule, strong

_WHOLE: Final = r"(?:[A-Za-z]{1,6}[\-/.]){0,3}[A-Za-z]{0,8}[0-9][0-9A-Za-z]{0,24}(?:[\-/._][0-9A-Za-z]{1,16}){0,5}"
# Currencies and classifications, whose numbers identify nobody.
_NO_LETTERS: Final = "(?!EUR|USD|GBP|CPT|ICD|CIE|ATC|DRG|GRD|IQ|DOI|PMID)"
# One token, or capital letters and groups of digits ("STP 02 365 87725749"), or groups of digits ("W5716 23 835902").
_CODE: Final = re.compile(
    rf"(?:{_NO_LETTERS}[A-Z]{{1,4}}(?:[ ][0-9]{{1,12}}){{2,6}}(?:[ ]?[A-Z]{{1,2}})?|"
    rf"[0-9A-Z]{{0,5}}[0-9][0-9A-Z]{{0,5}}(?:[ ][0-9]{{2,12}}){{1,5}}|{_WHOLE})(?![0-9A-Za-zà-ÿ]|[.,:\-/][0-9]|[+*])"
)
# "AX 4659933", but "Accesso PS 2584873"
_PREFIXED: Final = re.compile(r"[A-Z]{1,2}[ ][0-9]{4,9}(?:[ ]?[A-Z]{1,2})?(?![0-9A-Za-zà-ÿ]|[.,/\-][0-9])")
# "serial no. RNB 771230": only after a sign or a colon, since "Accesso PS 2584873" has a word before its number.
_SERIES: Final = re.compile(
    rf"{_NO_LETTERS}[A-Z]{{1,4}}[ ][0-9]{{4,12}}(?:[ ][A-Z](?![A-Za-z]))?(?![0-9A-Za-zà-ÿ]|[.,:\-/][0-9]|[+*])"
)
# "3673 RHJ", "HB73 FCP", "FG 448 HK"
_PLATE: Final = re.compile(f"(?:{any_of('coded.plate')})(?![0-9A-Za-z])")
_ONE: Final = re.compile(rf"{_WHOLE}(?![0-9A-Za-zà-ÿ]|[+*])")
_SIGN: Final = f"{any_of('coded.sign')}"
# After the word: listed words, and a sign or a colon. The value of a field may be on the next line.
_GAP: Final = re.compile(
    rf"(?i)(?P<sign0>s?/n\b)?\.?(?:[ ](?:{either('code_qualifiers')})(?![a-zà-ÿ0-9])\.?){{0,5}}"
    rf"(?P<sign>[ ]?[(\[]?(?:{_SIGN})(?![a-zà-ÿ0-9]))?[.º°ª]{{0,2}}[)\]]?"
    r"(?:(?P<colon>[ ]?[:=#])(?:[ ]{0,4}\n)?|[ ][\-–](?=[ ]))?[ \xa0]{0,3}[(\[]?"
)
# A word for "number" right before the code.
_SIGNED: Final = re.compile(rf"(?i)(?<![^\W\d_])(?:{_SIGN})[.: ]{{0,3}}\Z")
# After the word: other words of a phrase, and then a sign, a colon or the code itself.
_NEAR: Final = re.compile(r"[^0-9;]{0,40}[0-9]")
_PHRASE: Final = re.compile(
    r"(?:[ ](?:\([A-Za-zà-ÿ ]{2,20}\)|[A-Za-zÀ-ÿ'’]{1,15}|[A-Za-zÀ-ÿ]{1,5}\.(?![ ][A-Z][a-z]))){1,4}?"
    rf"(?:[ ](?P<sign>(?i:{_SIGN}))(?![A-Za-zà-ÿ])[.:º°]{{0,2}}|(?P<colon>[ ]?:))?[ ](?=[A-Z]{{0,8}}[\-/]?[0-9])"
)
_YEAR: Final = re.compile(r"(?:18|19|20)[0-9]{2}")
# Ranges, months, pressures and thousands: "120-140", "12/2019", "120/80", "1.250.000".
_VALUE: Final = re.compile(any_of("coded.value"))
# "50.675.906"
_DOTTED: Final = re.compile(r"[0-9]{1,3}(?:\.[0-9]{3}){2}")
_STOP: Final = re.compile(r"[ ]?(?:[.,;)\n]|\Z)|[ ](?:y|e|and)[ ]")
_HYPHENATED: Final = re.compile(r"[A-Z]{1,3}-[0-9]{3}")
_DOSE: Final = re.compile(f"[0-9.]{{1,5}}(?:{any_of('coded.dose')})", re.IGNORECASE)
_UNIT: Final = re.compile(
    rf"[ ]?(?:/[ ]?(?:ml|mm|[µu]?l\b|campo|field)|€|\$|£|eur|usd|×|x[ ]?10|±|(?:{either('counted_things')})\b|"
    rf"(?:{any_of('coded.unit')})\b)"
)
# "200000 per day", but "number 441772093 per old chart".
_RATE: Final = re.compile(r"[ ]?(?:per|por)\b")
_LONGEST_RATE: Final = 6
# "Dejó recado con el número 666780344", "pedido desde el 688073040": a telephone number.
_CALLS: Final = ("numero", "número", "number", "núm", "num")
# "Last known number 7025550156"
_AMERICAN: Final = re.compile(r"[2-9][0-9]{2}[2-9][0-9]{6}")
_REACHED: Final = re.compile(rf"(?<![a-zà-ÿ])(?:{any_of('coded.reached')})[ ]+\Z")
_LEAST: Final = {"signed": (4, 3), "direct": (5, 4), "phrase": (6, 4), "colon": (4, 3)}
_OPEN_LEAST: Final = {"signed": (4, 3), "direct": (6, 4), "phrase": (7, 5), "colon": (6, 4)}
_SIGN_LEAST: Final = {"signed": (6, 3), "direct": (6, 3), "phrase": (7, 5), "colon": (6, 4)}
"""How many digits a code needs at least: of digits alone, and with letters."""


def _is_value(text: str, start: int, end: int) -> bool:
    """Whether the code is a date, a year, a range, a dose or a count."""
    code = text[start:end]
    ahead = after(text, end)
    return (
        _YEAR.fullmatch(code) is not None
        or _VALUE.fullmatch(code) is not None
        or _DOSE.fullmatch(code) is not None
        or FULL.match(text, start) is not None
        or MEASURE.match(ahead) is not None
        or _UNIT.match(ahead) is not None
        or (end - start <= _LONGEST_RATE and _RATE.match(ahead) is not None)
        or _PAGE_OR_COUNT.search(before(text, start, 16)) is not None
    )


def _enough(text: str, start: int, end: int, least: tuple[int, int], *, short: bool) -> bool:
    """Whether the code has enough digits. `short`: four are enough before a stop, three after letters and a hyphen."""
    plain, mixed = least
    code, count = text[start:end], digits(text[start:end])
    if not any(map(str.isalpha, code)):
        return count >= plain or (short and count == 4 and _STOP.match(text, end) is not None)
    if code.islower() and count < 5:
        return False
    return count >= mixed or (short and count == 3 and _HYPHENATED.fullmatch(code) is not None)


def _after_word(kind: RuleKind, least: dict[str, tuple[int, int]]) -> Finder:
    """A code after a trigger word. `least`: the digits it needs by what is between them."""

    sure, sign = least is _LEAST, least is _SIGN_LEAST
    first = {RuleKind.VEHICLE: _PLATE, RuleKind.NATIONAL: _PREFIXED}.get(kind, _CODE)

    def read(text: str, trigger: int, at: int, case: str) -> Iterable[Found]:
        code = first.match(text, at) or _CODE.match(text, at) or _ONE.match(text, at)
        if case in ("signed", "colon") or _SIGNED.search(text[max(trigger, at - 12) : at]):
            code = _SERIES.match(text, at) or code
        if code is None:
            return ()
        start, stop = code.span()
        needs = (2, 2) if code.re is _PLATE else least[case]
        if not _enough(text, start, stop, needs, short=sure and case == "direct"):
            return ()
        if _is_value(text, start, stop) and not (sure and case != "phrase" and _DOTTED.fullmatch(code[0])):
            return ()
        if _CATALOGED.match(code[0]) or (not sure and is_count(text, trigger, start, stop)):
            return ()
        if _AMERICAN.fullmatch(code[0]) and text[trigger:start].lower().startswith("number"):
            return ()
        if is_phone(text, start) and not (sure and case == "signed"):
            called = text[trigger:start].lower().startswith(_CALLS) or _REACHED.search(before(text, start, 10))
            if called or not code[0].isalnum():
                return ()
        if not (sure and case not in ("phrase", "colon")) and (
            _PRODUCT.fullmatch(code[0])
            or (not sure and _SHORT_CODE.fullmatch(code[0]))
            or _VARIANT.fullmatch(code[0])
            or _is_public(text, start)
        ):
            return ()
        return ((start, stop, kind),)

    def find(text: str, start: int, end: int) -> Iterable[Found]:
        if text[start - 1 : start] in ("-", "@", "_", ".") or not _NEAR.match(text, end):
            return ()
        if (gap := _GAP.match(text, end)) and gap.end() > end:
            signed = gap["sign"] or gap["sign0"] or gap["colon"]
            if found := read(text, start, gap.end(), "signed" if signed or sign else "direct"):
                return found
        phrase = _PHRASE.match(text, end)
        if phrase is None:
            return ()
        return read(text, start, phrase.end(), "signed" if phrase["sign"] else "colon" if phrase["colon"] else "phrase")

    return find


# Numbers of classifications, trials, publications, genes, products and laws.
_CLASSIFIED: Final = re.compile(
    f"(?<![a-zà-ÿ])(?:{any_of('coded.classified')})[ .:#=°º(]{{0,3}}(?:(?:{any_of('coded.classified_letters')})"
    r"[ .:]{0,2})?(?:[a-z]{0,2}[0-9][0-9a-z.\-]{1,12},?[ ](?:[ye][ ]|and[ ])?){0,6}\Z"
)
_CATALOGED: Final = re.compile(
    r"(?i:NCT|ISRCTN|PMC|PMID|NM_|NP_|ENS[GT]|COS[MV]|rs|CPT|ICD)[\- ]?[0-9]|[TMDPF]-[0-9]{4,5}\Z"
)
_PRODUCT: Final = re.compile(rf"(?i)(?:{any_of('coded.product')})[\-_]?[0-9]{{4,}}(?:[\-.][0-9]{{1,3}})?")
# "See page 4010232137", "platelet count 4010232137"
_PAGE_OR_COUNT: Final = re.compile(rf"(?<![a-zà-ÿ])(?:{any_of('coded.page_or_count')})[ ]?[:=]?[ ]?\Z")
_LAST_SIGN: Final = re.compile(r"(?:n[.º°]{1,2}|no\.|núm\.|number|numero|número)[ ]?\Z")
# Codes of classifications: "J1100", "M-81403".
_SHORT_CODE: Final = re.compile(r"[A-Z][0-9]{4}|[TMDPF]-[0-9]{4,5}")
_TRIAL: Final = re.compile(r"(?:19|20)[0-9]{2}-[0-9]{6}-[0-9]{2}(?:-[0-9]{2})?")
_VARIANT: Final = re.compile(r"(?:[cgmnp]\.)?[ACGT][0-9]{2,7}[ACGT]|[0-9]+(?:del|dup|ins)[ACGT0-9]*|[A-Z][0-9]+[A-Z]")
# A year and a serial number: "S24-10233", "24-H-01234", "2482/2027", "44817/24".
_WITH_YEAR: Final = re.compile(any_of("coded.with_year"))
# Letters and a long number: "CT-482913", "PJN4481720", "AN0541887730", "413451711-TC".
_LETTERED: Final = re.compile(any_of("coded.lettered"))
_LONG: Final = re.compile(r"[0-9]{6,20}|[0-9]{2,4}-[0-9]{5,10}(?:-[0-9]{1,4})?|[0-9]{6,10}[\-/][0-9]{1,4}")
_ROUND: Final = re.compile(r"[0-9]+0{3,}|[0-9]+0{3}[\-/][0-9]+0{3}")
# Among other figures, six digits are rather a value.
_AMONG: Final = re.compile(r"[0-9][^.;:]{0,31}\Z")
_JOINTS: Final = frozenset("-/")
_LEFT: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9\-/]{0,63}\Z")


def _is_public(text: str, start: int) -> bool:
    """Whether the words before a number make it one of a classification, a publication, a product or a law."""
    behind = before(text, start, 60)
    named = _LAST_SIGN.sub("", behind)
    return any(form.search(behind) or form.search(named) for form in (_CLASSIFIED, LAW, ORDER))


def _formed(text: str, start: int, end: int) -> Iterator[Found]:
    """A code by its form alone, unless it is the number of a classification, a product, a law or a count."""
    joined = text[start - 1 : start].isalnum() or text[start - 1 : start] in _JOINTS
    if end - start < 6 and not joined and not text[end : end + 1].isalnum() and text[end : end + 1] not in _JOINTS:
        return
    left = _LEFT.search(text[max(0, start - 64) : start]) if joined else None
    at = start - len(left[0]) if left else start
    code = _ONE.match(text, at)
    if code is None or text[at - 1 : at] in (".", ",", "_", "+", "*", ">", "<", "=", "~", "@", "%", "$", "€", "£"):
        return
    stop, word = code.end(), code[0]
    if not any(form.fullmatch(word) for form in (_WITH_YEAR, _LETTERED, _LONG)):
        return
    if _VARIANT.fullmatch(word) or _TRIAL.fullmatch(word) or _PRODUCT.fullmatch(word) or _ROUND.fullmatch(word):
        return
    if _is_value(text, at, stop) or text[stop : stop + 2] in (".0", ".1") or text[stop : stop + 1] in ("%", "@", "_"):
        return
    if word.isdigit() and len(word) == 6 and (not _STOP.match(text, stop) or _AMONG.search(before(text, at, 32))):
        return
    if not _is_public(text, at) and not is_count(text, at, at, stop):
        yield at, stop, RuleKind.CASE


_GROUPS: Final = ["record", "national", "card", "plan", "license", "episode", "account", "device", "vehicle", "case"]
RULES: Final = (
    *(strong(f"id.coded.{group}", _after_word(RuleKind(f"id.{group}"), _LEAST), 66) for group in _GROUPS),
    Rule("id.coded.open", _after_word(RuleKind.CASE, _OPEN_LEAST), 62),
    Rule("id.coded.sign", _after_word(RuleKind.CASE, _SIGN_LEAST), 62),
    Rule("id.form", _formed, 30, DIGITS[4:]),
)

"""Telephone and fax numbers, e-mail, web and network addresses."""

import re
from collections.abc import Iterator
from typing import Final

from models_runtime.backends.rules.codes import ipv4
from models_runtime.backends.rules.dates import MEASURE
from models_runtime.backends.rules.gazetteers import RuleKind, any_of
from models_runtime.backends.rules.phrases import after, before, digits
from models_runtime.backends.rules.rule import DIGITS, Finder, Found, Rule, declared, pattern, shape, strong, words

# Letters and digits of any script, and the ASCII names of such domains: "klinik-köln.de", "xn--kln-una.xn--p1ai".
_ALNUM: Final = r"(?:[^\W_]|[\u0300-\u036f])"
_DOMAIN: Final = (
    rf"(?:{_ALNUM}(?:{_ALNUM}|-){{0,62}}\.){{1,6}}(?:xn--[A-Za-z0-9\-]{{2,59}}|(?:[^\W\d_]|[\u0300-\u036f]){{2,24}})"
)
_LOCAL_END: Final = re.compile(r"[\w.+%'’\-\u0300-\u036f]{1,64}\Z")
_DIGITS_BEFORE: Final = re.compile(r"[0-9]{2,4}[ ,;\-]{1,2}\(?\Z")
_EMAIL_PREFIX: Final = re.compile(r"(?i)\Ae-?mail[.\-:_]")
_AFTER_AT: Final = re.compile(rf"[ ]?{_DOMAIN}(?![^\W_]|@)")


def _email(text: str, start: int, end: int) -> Iterator[Found]:
    domain = _AFTER_AT.match(text, end)
    if domain is None:
        return
    stop = start - 1 if text[start - 1 : start] == " " and text[end : end + 1] == " " else start
    local = _LOCAL_END.search(text[max(0, stop - 64) : stop])
    if local is not None and (name := _EMAIL_PREFIX.sub("", local[0]).lstrip(".-%+'’")):
        yield stop - len(name), domain.end(), RuleKind.EMAIL


# As in "j.hackett at example dot com", "ana arroba hospital punto es" and "ana [at] hospital.es".
_SPELLED: Final = re.compile(
    r"(?i)(?P<name>[\w+%\-]+(?:(?:[ ](?:dot|punto)[ ]|\.)[\w+%\-]+){0,3}[ ]?)(?P<open>[\[({]?)[ ]?\Z"
)
_DOT: Final = r"(?:[ ]?[\[({](?:dot|punto|\.)[\])}][ ]?|[ ](?:dot|punto)[ ])"
_SPELLED_HOST: Final = re.compile(
    rf"(?i)(?P<close>[\])}}]?)[ ]?(?P<host>(?!(?:the|a|an|this|that|his|her|la|el|il)[ ])"
    rf"[^\W_][\w\-]{{0,62}}(?:(?:{_DOT}|\.)[^\W_][\w\-]{{0,62}}){{0,4}}(?P<dot>{_DOT}|\.)[a-z]{{2,10}})(?![\w@])"
)


def _spelled(text: str, start: int, end: int) -> Iterator[Found]:
    """An e-mail address with "@" and "." written as words. "at" without brackets needs a "dot" too."""
    host = _SPELLED_HOST.match(text, end)
    if host is None or (text[start:end].lower() == "at" and not host["close"] and host["dot"] == "."):
        return
    if (name := _SPELLED.search(text, max(0, start - 64), start)) and bool(name["open"]) == bool(host["close"]):
        yield name.start("name"), host.end(), RuleKind.EMAIL


# A telephone number as people write it: groups of digits with single separators.
_NUMBER: Final = re.compile(r"(?:\(\+?[0-9]{1,5}\)|\+?[0-9]{1,14})(?:(?:[ ]-[ ]|[ .\-/\xa0]?)\(?[0-9]{1,12}\)?){0,7}+")
_GAP: Final = re.compile(
    rf"(?i)(?:s|fono|éfono|efono|ef|\.o|\.a)?(?:[ \xa0]?(?:{any_of('contacts.gap')})){{0,4}}+[ \xa0]{{0,3}}"
)
# "tlf fam. 610314012", "Móvil del marido, 619 95 12 89": a whole number must follow.
_WORDS_BETWEEN: Final = re.compile(
    r"(?:[/ ]?[.:]?[ ](?:\([A-Za-zà-ÿ .]{2,25}\)|(?!y\b|e\b|and\b|"
    r"o\b)[A-Za-zÀ-ÿ'’]{1,14}\.?)){1,5}?[ ]?[:,=]?[ ](?=[+(]?[0-9])"
)
# "tfno1 610057821"
_ORDINAL: Final = re.compile(r"[1-4][ :]")
_PHONE_DIGITS: Final = re.compile(
    r"(?=[+(]?[0-9](?:[0-9 ()./\-]{7,18})(?<=[0-9])(?![0-9]))\+?\(?(?!(?:19|20)[0-9]{2}[\-/.])[0-9]{2}"
)
_MORE: Final = re.compile(r"[ ]?(?:[,/;]|y|e|o|or|and)[ ]?")
# An extension belongs to the number: "216-448-1720 ext. 12", "02 4481720 (int. 204)".
_EXTENSION: Final = re.compile(
    r"(?i)[ ,;\-]{0,2}(?:\((?=[a-z. ]{1,12}[0-9]{1,6}\)))?(?:ext|extn|int|interno|extensi[oó]n|x|anexo|centralino "
    r"int)[.: ]{0,2}(?:n\.?[º°]?[ ]?)?[0-9]{1,6}(?![0-9]|[.,/%][0-9])\)?"
)


def _read_number(text: str, at: int) -> int:
    """Return where the number that starts at `at` ends.

    The number has as many groups as hold at most 15 digits together. Returns `at` if there is no number.
    """
    match = _NUMBER.match(text, at)
    if match is None:
        return at
    end = match.end()
    while digits(text[at:end]) > 15:
        cut = max(text.rfind(separator, at, end) for separator in " /-.")
        if cut <= at:
            return at
        end = cut
    piece = text[at:end].rstrip(" .-/\xa0")
    if piece.count(")") > piece.count("("):
        piece = piece[: piece.rfind(")")]
    if piece.count("(") > piece.count(")"):
        piece = piece[: piece.rfind("(")].rstrip()
    return at + len(piece) if digits(piece) >= 4 else at


def _with_extension(text: str, end: int) -> int:
    """The end of the extension after a number that ends at `end`; `end` itself if there is none."""
    extension = _EXTENSION.match(text, end)
    if extension is None:
        return end
    return extension.end() - (extension[0].endswith(")") and "(" not in extension[0])


def _after_word(kind: RuleKind) -> Finder:
    def find(text: str, start: int, end: int) -> Iterator[Found]:
        end += 1 if _ORDINAL.match(text, end) else 0
        gap = _GAP.match(text, end)
        at = gap.end() if gap else end
        if _read_number(text, at) == at and (words_between := _WORDS_BETWEEN.match(text, end)):
            at = words_between.end()
            if not _PHONE_DIGITS.match(text, at):
                return
        for _ in range(4):
            stop = _read_number(text, at)
            if stop == at:
                return
            stop = _with_extension(text, stop)
            yield at, stop, kind
            more = _MORE.match(text, stop)
            if more is None:
                return
            at = more.end()

    return find


def _international(text: str, start: int, end: int) -> Iterator[Found]:
    """A number with the prefix of a country: `+39 …`, `(+39) …`."""
    if text[start] == "(" and text[end : end + 1] != "+":
        return
    stop = _read_number(text, start)
    if digits(text[start:stop]) >= 7 and not _RATIO.match(text, stop):
        yield start, _with_extension(text, stop), RuleKind.PHONE


_RATIO: Final = re.compile(r"[ ]?%|/[ ]?(?:[0-9]|ml\b|l\b)")
_NOT_INSIDE: Final = r"(?<![0-9] )(?<![0-9A-Za-z,./\-+])"
_ENDS: Final = r"(?![0-9A-Za-z]|[ ][0-9]{3}|[.,/\-][0-9])"
_JOINTS: Final = frozenset(" .-/")
_JOINED: Final = frozenset("-/.,0123456789")


def _alone(text: str, start: int, end: int) -> Iterator[Found]:
    """A number that is a telephone number by its grouping, unless the words before it name another kind of number."""
    grouped = text[end : end + 1] in _JOINTS and (text[end + 1 : end + 2].isdigit() or text[end + 1 : end + 2] == "(")
    if not grouped and end - start < 9 and text[start] != "(":
        return
    match = _ALONE.match(text, start)
    if match is None or _is_short(match[0]):
        return
    not_phone = _NOT_PHONE.search(before(text, start, 24))
    if not_phone and not (not_phone[0].startswith("#") and _AMERICAN.fullmatch(match[0])):
        return
    yield match.start(), _with_extension(text, match.end()), RuleKind.PHONE


def is_phone(text: str, start: int) -> bool:
    """Whether a number at `start` is written like a telephone number, in groups or as a mobile number."""
    return _ALONE.match(text, start) is not None or _MOBILE.match(text, start) is not None


def _is_short(number: str) -> bool:
    """Whether an area code in brackets with 0, as in Italy and Britain, has too few digits after it.

    Numbers have nine to eleven digits there, some old Italian ones eight. Eight count only if those after the bracket
    are undivided: `(02) 123 456` and `(03) 12 45 67` may be items of a list with their values.
    """
    least = 8 if number.partition(")")[2].strip().isdigit() else 9
    return number.startswith("(0") and digits(number) < least


_ALONE: Final = re.compile(rf"{_NOT_INSIDE}(?:{any_of('contacts.telephones')}){_ENDS}")
# "her # (817) 555-0174" is a telephone number.
_AMERICAN: Final = re.compile(r"(?:\([2-9][0-9]{2}\)[ ]?|[2-9][0-9]{2}[.\-])[2-9][0-9]{2}[.\-][0-9]{4}")
_NOT_PHONE: Final = re.compile(rf"(?<![a-zà-ÿ])(?:{any_of('contacts.otherwise')})[.:ºª° ]*\Z")

# Words for a call, before digits without groups.
_CALL_WORDS: Final = re.compile(
    rf"(?:{any_of('contacts.call_words')})[^0-9]{{0,40}}(?:[0-9 +()./\-]{{7,18}}[^0-9]{{1,12}})?\Z"
)
_UNGROUPED: Final = re.compile(rf"(?<![0-9A-Za-z,./\-+])(?:{any_of('contacts.ungrouped')})(?![0-9A-Za-z])")
# "3475550162 is her cell", "… as the only contact", "… goes to voicemail"
_CALL_WORDS_AFTER: Final = re.compile(rf"[ ,]{{0,2}}(?:{any_of('contacts.call_words_after')})\b")
# Mobile numbers need no word before them, unless it is a word for another number.
_MOBILE: Final = re.compile(
    r"(?<![0-9A-Za-z,./\-+])(?<![0-9][ ])(?:6[0-9]{8}|7[1-9][0-9]{7}|3[2-9][0-9]{8}|07[0-9]{9}|0[1-9][0-9]{8,9}|"
    r"9[1-8][0-9]{7}|[89]0[0-9]{7})(?![0-9A-Za-z,./\-][0-9]|[0-9A-Za-z]|[ ][0-9]{2})"
)


def _ungrouped(text: str, start: int, end: int) -> Iterator[Found]:
    """A telephone number without groups."""
    behind, ahead = before(text, start, 80), after(text, end, 48)
    called = _UNGROUPED.match(text, start) and (_CALL_WORDS.search(behind) or _CALL_WORDS_AFTER.match(ahead))
    mobile = _MOBILE.match(text, start) and not _NOT_PHONE.search(behind, len(behind) - 24) and not MEASURE.match(ahead)
    if called or mobile:
        yield start, _with_extension(text, end), RuleKind.PHONE


# Numbers inside a hospital: "Busca del residente de guardia: 4122", "ext. 12", "bleep 2043", "DECT 71-204".
_SHORT: Final = re.compile(
    r"(?P<name>[A-Za-zÀ-ÿ]+)\.?(?P<of>(?:[ ](?!a[ñn]os|anni|"
    r"years)[A-Za-zÀ-ÿ'’\-]{1,14}){0,5}?)[ ]?(?P<sign>(?:n[.º°o]{1,2}|#|:|=)[:.]?)?[ ]{0,2}"
    r"(?P<phone>[xX*#]?[0-9]{3,6})(?![0-9A-Za-zà-ÿ]|[.,:/\-][0-9]|[ ]?(?:%|€|mg|ml|kg|cm|mm|g|h|mcg|años|anni|"
    r"euros?|pacientes|days|d[ií]as)\b)"
)
_YEAR: Final = re.compile(r"(?:19|20)[0-9]{2}")


def _short(text: str, start: int, end: int) -> Iterator[Found]:
    """A short number inside a hospital, after a word for its device or line."""
    match = _SHORT.match(text, start)
    if match is None or (match["of"] and not match["sign"]) or _DIGITS_BEFORE.search(before(text, start)):
        return
    if match["sign"] or not _YEAR.fullmatch(match["phone"]):
        yield *match.span("phone"), RuleKind.PHONE


# Seven digits, after words for a call: "No answer on 219-6052".
_LOCAL: Final = re.compile(r"(?<![0-9A-Za-z,./\-+])(?<![0-9] )[2-9][0-9]{2}-[0-9]{4}(?![0-9A-Za-z]|[.,/\-][0-9])")
_ANSWER: Final = re.compile(
    r"(?:answers?|call(?:ed|ing)?|phone|ring|rang|reach(?:ed|able)?|dial|text|voicemail|pager|message|paged?|tried|"
    r"home|cell|work)(?:[ ](?:me|him|her|them|us|back|on|at|to|is|number|the|a|left))*[ :]{1,2}\Z"
)


def _local(text: str, start: int, end: int) -> Iterator[Found]:
    """An American number without its area code."""
    if (match := _LOCAL.match(text, start)) and _ANSWER.search(before(text, start, 40)):
        yield match.start(), _with_extension(text, match.end()), RuleKind.PHONE


# Five digits of a hospital's own lines: "call the clinic at 5-0142", "tel (5-0197)", "x4-0172". "Called on 3-2019" has
# a month.
_INSIDE: Final = re.compile(r"[0-9]-(?!(?:19|20)[0-9]{2})[0-9]{4}(?![0-9A-Za-z]|[.,/\-][0-9])")
_LINE: Final = re.compile(
    r"(?<![a-z])(?:(?:ext|extn|extension|voice ?mail|tel|telephone|phone|callback|operator|switchboard)[.:]{0,2}"
    r"[ ]?\(?|(?:call(?:ed|ing)?|page[ds]?|paging|reach(?:ed)?|ring|rang|phoned?|dial(?:ed)?)"
    r"(?:[ ][a-z/'’\-]{1,16}){0,5}[ ](?:at|on)[ ])\Z"
)
_X: Final = re.compile(r"(?<![A-Za-z0-9])[xX][ ]?\Z")


def _inside(text: str, start: int, end: int) -> Iterator[Found]:
    """A number of a hospital's own lines, with the x of an extension."""
    x = _X.search(text, max(0, start - 3), start)
    at = x.start() if x else start
    if text[at - 1 : at] in _JOINED or not (match := _INSIDE.match(text, start)):
        return
    if x or _LINE.search(before(text, start, 100)):
        yield at, match.end(), RuleKind.PHONE


RULES: Final = (
    *declared("urls", shape),
    strong("contact.email", _email, 90, words("@")),
    strong("contact.email.spelled", _spelled, 89),
    strong(
        "contact.ip",
        pattern(
            r"(?<![0-9.])(?P<ip>[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3})(?![0-9]|\.[0-9])",
            check=lambda match: ipv4(match["ip"]),
            ip=RuleKind.IP,
        ),
        70,
    ),
    strong("contact.phone.word", _after_word(RuleKind.PHONE), 72),
    strong("contact.fax.word", _after_word(RuleKind.FAX), 75, words("fax telefax")),
    strong("contact.phone.short", _short, 71),
    Rule("contact.phone.local", _local, 46, (DIGITS[3],)),
    Rule("contact.phone.inside", _inside, 46, (DIGITS[1],)),
    Rule("contact.phone.plus", _international, 60, words("+ (")),
    Rule("contact.phone.ungrouped", _ungrouped, 45, (DIGITS[9],)),
    Rule("contact.phone.groups", _alone, 45, (*DIGITS[1:6], DIGITS[9])),
    # Above postal codes, because British area codes in brackets have five digits too.
    Rule("contact.phone.bracket", _alone, 60, words("(")),
)

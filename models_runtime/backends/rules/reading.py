"""What rules find in one text, with offsets in the text as it is written."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from operator import itemgetter
from typing import Final, NamedTuple

from annotations.text.spans import replaced
from models_runtime.backends.rules import abroad as other_languages
from models_runtime.backends.rules import codes, contacts
from models_runtime.backends.rules.codes import real_date
from models_runtime.backends.rules.dates import FULL, PART, could_be_part
from models_runtime.backends.rules.gazetteers import NAMES, RuleKind, any_of, either, is_month, listed, places, word_set
from models_runtime.backends.rules.phrases import ALL_GIVEN, LETTER, SMALL_LETTER, UP, is_clinical_word, words_of
from models_runtime.backends.rules.recasing import EVERYDAY, ORDINARY, PARTICLES, VERBS, prose, recased
from models_runtime.backends.rules.rule import TOKEN, Hit, Rule, Scan, TriggerTable, nothing, resolve_overlaps, scan

# Search the whole note for what a strong rule found once, as whole words.
#
# Names are searched word by word, hospitals by the distinctive part of their name, and days by the months of full
# dates.


NAME: Final = Rule("name.memory", nothing, 20)
HOSPITAL: Final = Rule("org.memory", nothing, 20)
DATE: Final = Rule("date.memory", nothing, 20)
RULES: Final = (NAME, HOSPITAL, DATE)

_JOIN: Final = re.compile(r"[ ](?:(?:de|del|della|di|la|las|los|y)[ ]){0,3}")
_INITIALS: Final = re.compile(rf"(?<![A-Za-z])(?:[{UP}]\.[ ]?){{1,2}}\Z")
_LETTERS: Final = re.compile(rf"{LETTER}+")
_TITLED: Final = re.compile(r"(?<!\w)(?:mrs?|ms|miss|dra?|sra?|srta|sig(?:\.ra)?|dott(?:\.ssa)?|prof)(?:\.[ ]?|[ ])\Z")
_OPENS: Final = re.compile(r"(?:\A|[.;:!?\n][ ]?)\Z")
_ACTS: Final = re.compile(rf"['’]s[ ]|[ ](?:{either(*VERBS)})(?!{LETTER})")
_MOST_HOSPITALS: Final = 40


def remember(text: str, scanned: Scan, hits: Sequence[Hit]) -> list[Hit]:
    """Further hits that the resolved `hits` make likely. None of them overlaps a hit or a trap."""
    names = _names(text, hits)
    small = list(_in_small_letters(text, names))
    repeated = (*_repeated(text, scanned.capitals, names, _hospitals(text, hits)), *small)
    taken = bytearray(len(text))
    for hit in (*hits, *(hit for hit in scanned.hits if hit.kind is RuleKind.TRAP)):
        taken[hit.start : hit.end] = b"\1" * (hit.end - hit.start)
    free = [found for found in repeated if taken.find(1, found[0], found[1]) < 0]
    as_names = {start for start, _, _, _ in small}
    everyday = _everyday(text, {text[start:end].lower() for start, end, _, rule in free if rule is NAME}, as_names)
    found: list[Hit] = []
    for start, end, kind, rule in (*free, *_days(text, hits)):
        if taken.find(1, start, end) >= 0 or (
            rule is NAME and start not in as_names and text[start:end].lower() in everyday
        ):
            continue
        taken[start:end] = b"\1" * (end - start)
        if rule is NAME:
            initials = _INITIALS.search(text, max(0, start - 6), start)
            start -= len(initials[0]) if initials else 0
            last = found[-1] if found else None
            if last and last.rule is NAME and last.kind is kind and _JOIN.fullmatch(text, last.end, start):
                found[-1] = Hit(last.start, end, kind, NAME)
                continue
        found.append(Hit(start, end, kind, rule))
    return found


def _everyday(text: str, names: set[str], as_names: set[int]) -> set[str]:
    """The names that the note also writes in lower case, except at `as_names`: these are everyday words."""
    written = names.intersection(TOKEN.findall(text)) if names else ()  # seldom any
    return {t[0] for t in TOKEN.finditer(text) if t[0] in written and t.start() not in as_names} if written else set()


def _in_small_letters(text: str, names: dict[str, RuleKind]) -> Iterator[tuple[int, int, RuleKind, Rule]]:
    """The names in small letters: beside each other, after a title, and where they are not other words."""
    found = sorted((at, at + len(name)) for name in names for at in _occurrences(text, name))
    for index, (start, end) in enumerate(found):
        word = text[start:end]
        beside = any(
            _JOIN.fullmatch(text, left[1], right[0]) for left, right in pairwise(found[max(0, index - 1) :][:3])
        )
        acts = _opens(text, start) and _ACTS.match(text, end) and not is_clinical_word(word)
        sure = word not in _ordinary() and (word in ALL_GIVEN or acts)
        if beside or sure or _TITLED.search(text, max(0, start - 16), start):
            yield start, end, names[word], NAME


def _opens(text: str, start: int) -> bool:
    return _OPENS.search(text, max(0, start - 2), start) is not None


def _occurrences(text: str, name: str) -> Iterator[int]:
    """Where the name stands as a whole word."""
    at = text.find(name)
    while at >= 0:
        beside = text[at - 1 : at] + text[at + len(name) : at + len(name) + 1]
        if not any(letter.isalnum() or letter in "@_-/" for letter in beside):
            yield at
        at = text.find(name, at + len(name))


@cache
def _ordinary() -> frozenset[str]:
    """Names that are other words too."""
    return prose().union(
        ORDINARY, EVERYDAY, word_set("eponyms"), word_set("drugs"), places(), listed("common_surnames", "aids")
    )


def _names(text: str, hits: Sequence[Hit]) -> dict[str, RuleKind]:
    """The words of the names that strong rules found, lower-cased, with their kinds."""
    known: dict[str, RuleKind] = {}
    for hit in hits:
        if hit.kind in NAMES and hit.rule.strong:
            for word in words_of(text[hit.start : hit.end]):
                if word.lower() not in word_set("not_names"):
                    known.setdefault(word.lower(), hit.kind)
    return known


def _hospitals(text: str, hits: Sequence[Hit]) -> dict[str, tuple[str, RuleKind]]:
    """The distinctive parts of hospital names ("virgen de la vega") by their first word, without names of towns."""
    found: dict[str, tuple[str, RuleKind]] = {}
    for hit in hits:
        if hit.kind not in (RuleKind.HOSPITAL, RuleKind.CARE_CENTER) or not hit.rule.strong:
            continue
        for word in _LETTERS.finditer(text, hit.start, hit.end):
            if word[0].lower() not in listed("general_care"):
                own = text[word.start() : hit.end].strip('"”» ').lower()
                if " " in own and own not in places() and len(found) < _MOST_HOSPITALS:
                    found.setdefault(word[0].lower(), (own, hit.kind))
                break
    return found


def _repeated(
    text: str,
    capitals: Iterable[tuple[str, int, int]],
    names: dict[str, RuleKind],
    hospitals: dict[str, tuple[str, RuleKind]],
) -> Iterator[tuple[int, int, RuleKind, Rule]]:
    """All locations of these names and hospitals."""
    if not names and not hospitals:
        return
    for lower, start, end in capitals:
        if lower in hospitals:
            own, kind = hospitals[lower]
            stop = start + len(own)
            if text[start:stop].lower() == own and not text[stop : stop + 1].isalnum():
                yield start, stop, kind, HOSPITAL
        if lower in names:
            yield start, end, names[lower], NAME


def _days(text: str, hits: Sequence[Hit]) -> Iterator[tuple[int, int, RuleKind, Rule]]:
    """Days and months in the order of the note's full dates and near them, such as `2/14` in a note of 2/17/2022."""
    near: set[tuple[bool, int]] = set()
    for hit in hits:
        full = FULL.match(text, hit.start) if hit.rule.id == "date.figures" else None
        if full is not None and not full["iso"] and "/" in full["t"]:
            for month_first, month, _day in _orders(full):
                near.update((month_first, (month + shift - 1) % 12 + 1) for shift in (-1, 0, 1))
    for part in PART.finditer(text) if near else ():
        for month_first, month, day in _orders(part) if part["s"] == "/" else ():
            if (month_first, month) in near and real_date(day, month) and could_be_part(text, part):
                yield *part.span(), RuleKind.DATE, DATE


def _orders(match: re.Match[str]) -> Iterator[tuple[bool, int, int]]:
    """Whether the month comes first in a date whose day is above 12, its month and its day."""
    a, b = int(match["a"]), int(match["b"])
    yield from (order for order in ((True, a, b), (False, b, a)) if order[1] <= 12 < order[2])


# Whether a text is written in a language that the rules don't know, by its most frequent short words.


_READ: Final = 1000
"""Characters that are read."""
_LEAST: Final = 3
"""Words of other languages that a text needs at least."""
_SHARE: Final = 12
"""At least one of so many words is such a word."""
_OTHER: Final = frozenset(listed("foreign_words"))
_OWN: Final = frozenset(listed("known_words"))


def is_foreign(text: str) -> bool:
    """Whether short words of other languages are more frequent than those of Italian, Spanish and English."""
    found = text[:_READ].lower().split()
    other = sum(map(_OTHER.__contains__, found))
    return other >= _LEAST and _SHARE * other >= len(found) and other > sum(map(_OWN.__contains__, found))


# Identifiers that a line end, a tab or a soft hyphen divides, put together for the rules: `Petrie-⏎Lund`.


_TAB: Final = re.compile(r"(?<=\S)\t(?=\S)")
_REACH: Final = 48
"""Characters before and after a line end that decide whether it divides an identifier."""

_OF: Final = ("de", "del", "of")
_LONGEST_SHORT: Final = 11
"""Characters of a title or a month with its period or comma."""
_HYPHEN: Final = re.compile(r"\w[\-‐‑@]\Z|[0-9]/\Z")
_FIELD: Final = re.compile(r"\w+[ ]?:")
_HOST_DOT: Final = re.compile(r"[^@]+@[\w\-]+\.\Z")
_TOP: Final = re.compile(r"[a-z]{2,10}(?![\w.@])")
_MONTH: Final = rf"(?:{either('months', 'months_short')})"
_DAY: Final = re.compile(r"(?<![0-9.,/\-])[0-9]{1,2}(?:st|nd|rd|th|[ºª°])?(?:[ ](?:de|of))?\Z", re.IGNORECASE)
_MONTH_NEXT: Final = re.compile(rf"(?:(?:de|of)[ ])?{_MONTH}(?!{LETTER})", re.IGNORECASE)
_MONTH_LAST: Final = re.compile(rf"(?<!{LETTER}){_MONTH}\.?,?(?:[ ](?:de|del|of))?\Z", re.IGNORECASE)
_DAY_OR_YEAR: Final = re.compile(r"(?:[0-9]{1,2}(?:st|nd|rd|th)?,?|(?:19|20)[0-9]{2})(?![0-9A-Za-z/%]|[.):]|[ ]?[mµ]g)")
_CALLED: Final = re.compile(rf"(?:{any_of('reading.called')})[a-zé]{{0,5}}[^\n]{{0,20}}[0-9)]\Z|\+[0-9][0-9 ]*\Z")
_AREA: Final = re.compile(r"(?<![0-9.,/\-])\(?[0-9]{3}\)?\Z")
_AREA_NEXT: Final = re.compile(r"[0-9]{3}[\-. ][0-9]{4}(?![0-9])")
_EXCHANGE: Final = re.compile(r"(?<![0-9.,/\-])\(?[0-9]{3}\)?[\-. ][0-9]{3}\Z")
_REST: Final = re.compile(r"[0-9]{4}(?![0-9.,/\-])")
_TITLES: Final = frozenset(listed("name_titles"))
_NAME_BEFORE: Final = re.compile(rf"(?<!\w)[{UP}](?:\.|{SMALL_LETTER}+)[ ](?:{LETTER}+[ ])?\Z")
_NAME_NEXT: Final = re.compile(
    rf"(?:(?:van|von|den|der|de|la|del|di)[ ]){{0,2}}(?P<word>(?:[{UP}]\.[ ]?)?[{UP}]{SMALL_LETTER}+)"
    rf"(?=[ ]{SMALL_LETTER}|['’]s|[,.;)]|\Z)"
)


@dataclass(slots=True)
class MendedText:
    """A text without divisions, and where characters were left out of it, for offsets in the text as written."""

    text: str
    cuts: list[tuple[int, int]] = field(default_factory=list)
    """Where characters were left out, and how many up to there."""

    def bounds(self, start: int, end: int) -> tuple[int, int]:
        """Start and end in the text as written."""
        return self._written(start), self._written(end - 1) + 1

    def _written(self, position: int) -> int:
        index = bisect_right(self.cuts, position, key=itemgetter(0))
        return position + (self.cuts[index - 1][1] if index else 0)


def mended(text: str) -> MendedText:
    """The text with divided identifiers put together."""
    if "\t" in text:
        text = _TAB.sub(" ", text)
    edits: list[tuple[int, int, str]] = []
    cuts: list[tuple[int, int]] = []
    longer = written = 0
    line_end = -1
    while (line_end := text.find("\n", line_end + 1)) >= 0:
        if _ends_apart(text, line_end):
            continue
        behind, ahead = text[max(written, line_end - _REACH) : line_end], text[line_end + 1 : line_end + _REACH]
        left, right = behind.rstrip(" \t\r"), ahead.lstrip(" \t")
        link = _link(left.rpartition("\n")[2], right) if right else None
        if link is not None:
            stop = line_end - len(behind) + len(left)
            written = line_end + 1 + len(ahead) - len(right)
            edits.append((stop, written, link))
            longer += written - stop - len(link)
            if longer:
                cuts.append((written - longer, longer))
    return MendedText(replaced(text, edits), cuts)


def _ends_apart(text: str, line_end: int) -> bool:
    """Whether a line ends like a sentence or a field, as most lines do, or before an empty line."""
    last = text[line_end - 1 : line_end]
    if last in ":;\n" or text[line_end + 1 : line_end + 2] in "\n":
        return True
    low = line_end - _LONGEST_SHORT - 1
    return (
        last == "."
        and low > 0
        and text.rfind(" ", low, line_end) < 0
        and text.rfind("@", max(0, low - 24), line_end) < 0
    )


def _link(left: str, right: str) -> str | None:
    """What stands between two parts of one identifier, a blank or nothing; None if they are none."""
    if not left:
        return None
    last, first = left[-1], right[0]
    if last in "-‐‑@/":
        goes_on = first.isdigit() if last == "/" else first.isalnum()
        return "" if goes_on and _HYPHEN.search(left[-2:]) and not _FIELD.match(right) else None
    token = left.rpartition(" ")[2]
    if "@" in token and (first == "." or (last == "." and _HOST_DOT.search(token) and _TOP.match(right))):
        return ""
    if last in ":;!?" or (last in ".," and len(token) > _LONGEST_SHORT) or not (first.isalnum() or first == "("):
        return None
    return " " if _is_date(left, right, token) or _is_phone(left, right) or _is_name(left, right, token) else None


def _is_date(left: str, right: str, token: str) -> bool:
    if not right[0].isdigit():
        return bool((token[0].isdigit() or token in _OF) and _MONTH_NEXT.match(right) and _DAY.search(left))
    month = is_month(token.strip(".,")) or token in _OF
    return bool(month and _MONTH_LAST.search(left) and _DAY_OR_YEAR.match(right))


def _is_phone(left: str, right: str) -> bool:
    if left[-1] not in "0123456789)" or not (right[0].isdigit() or right[0] == "("):
        return False
    grouped = (_AREA.search(left) and _AREA_NEXT.match(right)) or (_EXCHANGE.search(left) and _REST.match(right))
    return bool(grouped or (right[:3].isdigit() and _CALLED.search(left.lower())))


def _is_name(left: str, right: str, token: str) -> bool:
    """Whether a name goes on in the next line: after a title, an initial, a particle or a given name."""
    word = token.rstrip(".")
    if word.lower() in _TITLES:
        return right[0].isupper()
    follows = len(word) == 1 and word.isupper() and token != word
    given = word[:1].isupper() and word == token and word.lower() in ALL_GIVEN and word.lower() not in prose()
    if not (given or follows or token in PARTICLES):
        return False
    following = _NAME_NEXT.match(right)
    if following is None or following["word"].lower() in prose():
        return False
    return given or _NAME_BEFORE.search(left[: -len(token)]) is not None


_ABROAD: Final = frozenset(rule.id for rule in other_languages.RULES)
# Contacts, numbers with check digits, dates in figures and long numbers look alike in all languages.
_ANYWHERE: Final = _ABROAD.union(
    (rule.id for family in (codes, contacts) for rule in family.RULES if not rule.language),
    ("date.figures", "date.numeral", "date.row", "id.form"),
)


class Tables(NamedTuple):
    """The rules for texts in the languages that they know, and those for texts in other languages."""

    known: TriggerTable
    other: TriggerTable


def tables(rules: Iterable[Rule]) -> Tables:
    """Index the rules."""
    rules = tuple(rules)
    known = TriggerTable(rule for rule in rules if rule.id not in _ABROAD)
    return Tables(known, TriggerTable(rule for rule in rules if rule.id in _ANYWHERE))


def read(text: str, rules: Tables, unwanted: frozenset[RuleKind] = frozenset(), *, abroad: bool = False) -> list[Hit]:
    """The rules' hits in a text, in order and without overlaps, except those of `unwanted` kinds.

    Offsets are code points, end-exclusive. In other languages than the rules', only what has a shape is found.
    `abroad`: the text is in one of them, whatever its words are.
    """
    whole = mended(text)
    foreign = abroad or is_foreign(whole.text)
    scanned_text = whole.text if foreign else recased(whole.text)
    scanned = scan(scanned_text, rules.other if foreign else rules.known)
    kept = resolve_overlaps([hit for hit in scanned.hits if hit.kind not in unwanted], len(scanned_text))
    kept = sorted(kept + remember(scanned_text, scanned, kept), key=lambda hit: hit.start)
    if not whole.cuts:
        return kept
    return [Hit(*whole.bounds(hit.start, hit.end), hit.kind, hit.rule) for hit in kept]

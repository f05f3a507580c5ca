"""The ten rules that make errors, in order of priority (Xu et al. 2026, appendix C).

Some rules give a gold span another label; the others mark text that is not gold. All are deterministic. A place has one
error at most: that of the first rule that fits. A rule is skipped in a label set without the labels that it needs.
"""

import json
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from annotations.release.rules.redaction.policy import IdentifierType
from annotations.text.spans import Bounds, Span
from annotations.text.wording import NamedValue, gettext_noop
from models_runtime.refining.rules.injection import Injection, SpuriousSpans

# The words of each language from which the rules make errors. Files in `lexicons/`, one per language, and eponyms.


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


class InjectionRule(NamedValue):
    """The rules by their names in commands, files and figures, in order of priority."""

    COMMON_WORDS = "common-words", gettext_noop("Common words as patients")
    VALUES_AS_AGE = "values-as-age", gettext_noop("Values as ages")
    PRESSURES_AS_DATE = "pressures-as-date", gettext_noop("Blood pressures as dates")
    CITIES = "cities", gettext_noop("Cities as organizations or regions")
    WARDS_AS_HOSPITAL = "wards-as-hospital", gettext_noop("Wards as hospitals")
    PATIENT_DOCTOR = "patient-doctor", gettext_noop("Patients as doctors, and the reverse")
    AGE_DATE = "age-date", gettext_noop("Ages as dates, and the reverse")
    HOSPITAL_AS_ORGANIZATION = "hospital-as-organization", gettext_noop("Hospitals as organizations")
    PLACES = "places", gettext_noop("ZIP codes, cities and regions confused")
    EPONYMS = "eponyms", gettext_noop("Names in diseases as patients")


@dataclass(frozen=True)
class Labels:
    """The label codes of a project by what they stand for: `kinds` of each code, `codes` of each kind."""

    kinds: Mapping[str, IdentifierType]
    codes: Mapping[IdentifierType, str]


@dataclass(frozen=True)
class InjectedNote:
    """What a rule sees: a text, its gold spans in order, and the words of its language."""

    text: str
    gold: Sequence[Span]
    words: Lexicon


NEAR: Final = 40
"""The characters on one line in which a word belongs to a number."""
# Two digits, or three to two digits with a slash, that are not part of a longer number, a date or a share.
_TWO: Final = re.compile(r"(?<![\w.,/%-])[1-9][0-9](?![\w%]|[.,/:-][0-9])")
_PRESSURE: Final = re.compile(r"(?<![\w.,/-])(?P<high>[1-9][0-9]{1,2})/(?P<low>[1-9][0-9]{1,2})(?![\w/]|[.,-][0-9])")
_YEARS: Final = re.compile(r"[0-9]{2}(?:[0-9]{2})?")
_HIGH, _LOW = range(60, 261), range(30, 161)
_MMHG: Final = re.compile(r" ?mm ?Hg", re.IGNORECASE)


def _named(note: InjectedNote) -> Iterator[Bounds]:
    return (match.span() for match in note.words.names.finditer(note.text))


def _line_before(text: str, at: int) -> str:
    return text[max(0, at - NEAR, text.rfind("\n", 0, at) + 1) : at]


def _values(note: InjectedNote) -> Iterator[Bounds]:
    for match in _TWO.finditer(note.text):
        if note.words.values.search(_line_before(note.text, match.start())):
            yield match.span()


def _pressures(note: InjectedNote) -> Iterator[Bounds]:
    for match in _PRESSURE.finditer(note.text):
        high, low = int(match["high"]), int(match["low"])
        if high in _HIGH and low in _LOW and low < high:
            beside = _MMHG.match(note.text, match.end()) or note.words.pressures.search(
                _line_before(note.text, match.start())
            )
            if beside:
                yield match.span()


def _wards(note: InjectedNote) -> Iterator[Bounds]:
    return (match.span() for match in note.words.wards.finditer(note.text))


def _diseases(note: InjectedNote) -> Iterator[Bounds]:
    for match in note.words.eponyms.finditer(note.text):
        yield next(match.span(group) for group in match.re.groupindex if match[group] is not None)


def _city(note: InjectedNote, span: Span) -> IdentifierType:
    """An organization where the place treats somebody, else a region."""
    around = note.text[max(0, span.start - NEAR) : span.end + NEAR // 2]
    return IdentifierType.ORGANIZATION if note.words.stays.search(around) else IdentifierType.REGION


Spurious = tuple[IdentifierType, Callable[[InjectedNote], Iterator[Bounds]]]
_SPURIOUS: Final[Mapping[InjectionRule, Spurious]] = {
    InjectionRule.COMMON_WORDS: (IdentifierType.NAME, _named),
    InjectionRule.VALUES_AS_AGE: (IdentifierType.AGE, _values),
    InjectionRule.PRESSURES_AS_DATE: (IdentifierType.DATE, _pressures),
    InjectionRule.WARDS_AS_HOSPITAL: (IdentifierType.HOSPITAL, _wards),
    InjectionRule.EPONYMS: (IdentifierType.NAME, _diseases),
}


def _confused(rule: InjectionRule, note: InjectedNote, span: Span, kind: IdentifierType) -> tuple[IdentifierType, ...]:
    """What the rule makes of a gold span, the likeliest first; nothing if it does not fit."""
    text = note.text[span.start : span.end]
    match rule, kind:
        case InjectionRule.CITIES, IdentifierType.CITY:
            first = _city(note, span)
            return first, IdentifierType.REGION if first is IdentifierType.ORGANIZATION else IdentifierType.ORGANIZATION
        case InjectionRule.CITIES, IdentifierType.LOCATION if not any(map(str.isdigit, text)):
            return (IdentifierType.ORGANIZATION,)
        case InjectionRule.PATIENT_DOCTOR, IdentifierType.NAME:
            return (IdentifierType.STAFF,)
        case InjectionRule.PATIENT_DOCTOR, IdentifierType.STAFF:
            return (IdentifierType.NAME,)
        case InjectionRule.AGE_DATE, IdentifierType.AGE if any(map(str.isdigit, text)):
            return (IdentifierType.DATE,)
        case InjectionRule.AGE_DATE, IdentifierType.DATE if _YEARS.fullmatch(text):
            return (IdentifierType.AGE,)
        case InjectionRule.HOSPITAL_AS_ORGANIZATION, IdentifierType.HOSPITAL:
            return (IdentifierType.ORGANIZATION,)
        case InjectionRule.PLACES, IdentifierType.CITY:
            return IdentifierType.ZIP, IdentifierType.REGION
        case InjectionRule.PLACES, IdentifierType.ZIP | IdentifierType.REGION:
            return (IdentifierType.CITY,)
    return ()


def candidates(
    text: str,
    gold: Sequence[Span],
    labels: Labels,
    *,
    language: str = "",
    rules: Collection[InjectionRule] = tuple(InjectionRule),
    sources: Sequence[SpuriousSpans] = (),
) -> list[Injection]:
    """All errors that the rules, and after them the sources, can make in a note, by place.

    No two overlap, and no spurious one overlaps gold.

    `gold` has the label codes of `labels`. An error on a gold span stands at its bounds; a gold span that overlaps
    another one gets none, since a refiner could not tell them apart.
    """
    note = InjectedNote(text, sorted(gold), lexicon(language))
    free = _Room(note)
    found: list[Injection] = []
    for rule in InjectionRule:
        if rule not in rules:
            continue
        if rule in _SPURIOUS:
            kind, places = _SPURIOUS[rule]
            label = labels.codes.get(kind)
            if label is not None:
                found += (
                    Injection(start, end, label, "", rule) for start, end in places(note) if free.take(start, end)
                )
            continue
        for span in free.left():
            label = next(
                (
                    labels.codes[kind]
                    for kind in _confused(rule, note, span, labels.kinds.get(span.label, IdentifierType.OTHER))
                    if labels.codes.get(kind, span.label) != span.label
                ),
                None,
            )
            if label is not None:
                free.use(span)
                found.append(Injection(span.start, span.end, label, span.label, rule))
    for source in sources:
        found += (
            Injection(start, end, label, "", source.rule, source.strategy)
            for start, end, label in source.places(text)
            if free.take(start, end)
        )
    return sorted(found)


def missing(labels: Labels, rules: Collection[InjectionRule]) -> dict[InjectionRule, list[IdentifierType]]:
    """The rules that can make no error with these labels, and the kinds that no label of the project stands for."""
    needed: dict[InjectionRule, tuple[tuple[IdentifierType, ...], ...]] = {
        InjectionRule.CITIES: (
            (IdentifierType.CITY, IdentifierType.LOCATION),
            (IdentifierType.ORGANIZATION, IdentifierType.REGION),
        ),
        InjectionRule.PATIENT_DOCTOR: ((IdentifierType.NAME,), (IdentifierType.STAFF,)),
        InjectionRule.AGE_DATE: ((IdentifierType.AGE,), (IdentifierType.DATE,)),
        InjectionRule.HOSPITAL_AS_ORGANIZATION: ((IdentifierType.HOSPITAL,), (IdentifierType.ORGANIZATION,)),
        InjectionRule.PLACES: ((IdentifierType.CITY,), (IdentifierType.ZIP, IdentifierType.REGION)),
        **{rule: ((kind,),) for rule, (kind, _) in _SPURIOUS.items()},
    }
    lacking = {
        rule: [kinds[0] for kinds in needed[rule] if not any(kind in labels.codes for kind in kinds)] for rule in rules
    }
    return {rule: kinds for rule, kinds in lacking.items() if kinds}


class _Room:
    """What of a note has no error yet."""

    def __init__(self, note: InjectedNote) -> None:
        self._taken = bytearray(len(note.text))
        self._left = dict.fromkeys(note.gold)
        latest: Span | None = None
        for span in note.gold:
            self._taken[span.start : span.end] = b"\1" * (span.end - span.start)
            if latest is not None and span.start < latest.end:
                self._left.pop(span, None)
                self._left.pop(latest, None)
            if latest is None or latest.end < span.end:
                latest = span

    def left(self) -> list[Span]:
        """The gold spans without an error, except those that overlap another one."""
        return list(self._left)

    def use(self, span: Span) -> None:
        del self._left[span]

    def take(self, start: int, end: int) -> bool:
        """Take a place if nothing there is gold or has an error. Return whether it was free."""
        if self._taken.find(1, start, end) >= 0:
            return False
        self._taken[start:end] = b"\1" * (end - start)
        return True

"""Given names alone, by the words around them. Each language has its own words (`es/names.py`, `it/names.py`, …)."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from models_runtime.backends.rules.gazetteers import GIVEN_NAMES, any_of, either, listed, open_given, places, word_set
from models_runtime.backends.rules.persons import NOT_BEFORE
from models_runtime.backends.rules.phrases import APOSTROPHE, LETTER, SMALL_LETTER, UP, before
from models_runtime.backends.rules.rule import Finder, Found, Rule, RuleKind, declarations, strong

_COMMON: Final[frozenset[str]] = frozenset(listed("everyday_names", "eponym_given")).union(
    open_given("es", "it"),
    word_set("more_given_world"),
    *(word_set(f"{list}given_{language}") for list in ("", "more_") for language in GIVEN_NAMES),
)
GIVEN: Final = _COMMON | open_given("en")
"""Given names, rare ones too: they count only by the words around them."""
# Names that need a verb that only persons have. Many English names of the open list are also surnames or places.
_EVERYDAY: Final = (
    frozenset(listed("everyday_names", "eponym_given")) | word_set("eponyms") | (open_given("en") - _COMMON)
)
_ENDS: Final = re.compile(rf"[ ](?={SMALL_LETTER})|[.,;:!?)\n]|\Z")
# "Hemoglobin Constant Spring and Bart excluded", but "Con Elena negativa a la cirugía"
_FINDING: Final = re.compile(f"[ ](?:{any_of('bare.finding')})(?![a-z])")
_POSSESSIVE: Final = re.compile(rf"['’]s[ ](?={SMALL_LETTER})")


def _given_names(language: str, *, described: str, figures: str, pronouns: Iterable[str] = ()) -> Iterator[Rule]:
    """The rules of a language for given names alone, with its words around names (`it.does` and so on in words.txt):

    `does`: verbs of which only a person is the subject ("riferisce"). `has`: verbs that other subjects have too ("è").
    `between`: words between a name and its verb ("non", "se le"). `leads`: words right before a name ("con", "oggi").

    `described`: an expression for an age after any capitalized word ("Anna è una donna di 47 anni"). `figures`: for an
    age in figures, which other words precede too, so that only known names count ("Osvaldo, anni 52"). `pronouns`:
    names that are pronouns of this language.
    """
    names, name = GIVEN.difference(pronouns), f"name.aged.{language}"
    yield Rule(f"name.bare.{language}", alone(language), 28, names, capital=True, language=language)
    yield strong(name, aged(described, known=False), 45, language=language)
    yield strong(f"{name}.figures", aged(figures, known=True), 45, language=language)


def _own(language: str) -> frozenset[str]:
    """The given names of a language, the rare and the everyday ones included."""
    listed_here = word_set(f"given_{language}") | word_set(f"more_given_{language}") | open_given(language)
    return listed_here | word_set("more_given_world") | frozenset(listed("everyday_names", "eponym_given"))


_OF: Final = re.compile(r"(?:de|di|y|e|ed)[ ]\Z")
_OF_RELATION: Final = re.compile(rf"(?<!{LETTER})(?:{either('relations')})[ ](?:de|di|of)[ ]\Z")
# "Síndrome de Stendhal, de Capgras, de Otelo"
_OF_EPONYMS: Final = re.compile(
    rf"(?<!{LETTER})(?:{either('eponym_heads')})[^.;:]{{0,40}},[ ](?:y[ ]|e[ ])?(?:la[ ])?(?:de|di)[ ]\Z"
)
_TESTED: Final = re.compile(rf"(?<!{LETTER})(?:h?emoglobina?|{either('eponym_heads')})(?!{LETTER})[^.;:]{{0,40}}\Z")


def alone(language: str) -> Finder:
    """A known given name before a verb, after a preposition, or between them, without a surname.

    After "de" or "di", names of other languages are rather eponyms ("tornillos de Herbert"). A name that is also an
    everyday word or an eponym ("Rosa", "Hope", "Thomas"), or that only the English open list has, needs a verb that
    only persons have.
    """
    verbs, own = f"{language}.does", _own(language)
    between = rf"(?:,[ ])?(?:[ ]?(?:{either(f'{language}.between')}))*"
    does = re.compile(rf"{between}[ ](?:{either(verbs)})(?!{LETTER})")
    has = re.compile(rf"{between}[ ](?:{either(verbs, f'{language}.has')})(?!{LETTER})")
    leads = re.compile(rf"(?<!{LETTER})(?:{either(f'{language}.leads')})[ ]\Z", re.IGNORECASE)

    def find(text: str, start: int, end: int) -> Iterator[Found]:
        if not is_word(text, start, end):
            return
        if text[start:end].lower() in _EVERYDAY:
            accepted = does.match(text, end) is not None
        elif has.match(text, end) or _POSSESSIVE.match(text, end):
            accepted = True
        elif not _ENDS.match(text, end):
            return
        else:
            behind, known = before(text, start, 48), text[start:end].lower() in own
            of = bool(_OF.search(behind))
            eponym = of and (not known or bool(_OF_EPONYMS.search(behind))) and not _OF_RELATION.search(behind)
            finding = _FINDING.match(text, end) and (not known or _TESTED.search(behind))
            accepted = not eponym and not finding and bool(leads.search(behind))
        if accepted and not NOT_BEFORE.search(before(text, start, 32)):
            yield start, end, RuleKind.PERSON

    return find


_TALKS: Final = re.compile(rf"(?<!{LETTER})(?:{either('talks')})[ ]\Z")


def _led(text: str, start: int, end: int) -> Iterator[Found]:
    """A given name, even an everyday one, after words that only a person follows: `ho parlato con Speranza`."""
    if is_word(text, start, end) and _ENDS.match(text, end):
        behind = before(text, start, 24)
        if _TALKS.search(behind) or _OF_RELATION.search(behind):
            yield start, end, RuleKind.PERSON


def is_word(text: str, start: int, end: int) -> bool:
    """Whether the name is a whole word with one capital letter. `ANA` and `ELISA` are tests."""
    word = text[start:end]
    return (
        len(word) > 2
        and word[1:].islower()
        and text[start - 1 : start] not in (*"-_@./\\'’", *"0123456789")
        and text[end : end + 1] not in ("-", "_", "@", "/")
    )


# "Rosa 78 años", but "Clark 4, Breslow 2"
_UNIT: Final = re.compile(LETTER).search
_NAME_BEFORE: Final = re.compile(
    rf"(?:(?P<opens>\A|[.!?:;\n•(][ ]?)|(?<![{UP}])[a-zà-ÿ][ ])"
    rf"(?P<name>[{UP}]{SMALL_LETTER}{{2,}}(?:[{APOSTROPHE}\-][{UP}]?{SMALL_LETTER}+)?)(?P<comma>,?)[ ]\Z"
)


def aged(expression: str, *, known: bool) -> Finder:
    """One capitalized word before an age: `Osvaldo, anni 52`, `Anna è una donna di 47 anni`.

    `expression` must match at the trigger word. `known`: only known given names count, because other words come before
    an age as well ("Fumatore, anni 52").
    """
    ahead = re.compile(expression)
    no_names = word_set("not_names") | frozenset(listed("persons", "sentence_starts"))

    def find(text: str, start: int, end: int) -> Iterator[Found]:
        age = ahead.match(text, start)
        if age is None:
            return
        match = _NAME_BEFORE.search(text, max(0, start - 32), start)
        word = match["name"].lower() if match else ""
        if (
            match is None
            or word in listed("month_given")
            or word in no_names
            or (word not in GIVEN and (known or word in _EVERYDAY))
            or (word not in GIVEN and word in places() and age[0].startswith("de "))  # "Paciente de Ecuador, de 5 años"
            or (known and word in _EVERYDAY and not (match["comma"] or (match["opens"] is not None and _UNIT(age[0]))))
        ):
            return
        yield *match.span("name"), RuleKind.PERSON

    return find


RULES: Final = (
    Rule("name.bare.led", _led, 32, GIVEN, capital=True),
    *(rule for language, words in declarations()["given"].items() for rule in _given_names(language, **words)),
)

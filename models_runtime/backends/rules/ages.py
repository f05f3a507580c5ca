"""Ages of persons, as opposed to lengths of illnesses and doses."""

import re
from collections.abc import Callable, Iterator
from typing import Final

from models_runtime.backends.rules.gazetteers import RuleKind, any_of, either, listed, word_set
from models_runtime.backends.rules.phrases import ALL_GIVEN, LETTER, SMALL_LETTER, UP, after, before
from models_runtime.backends.rules.rule import DIGITS, Finder, Found, Rule, pattern, strong, words

# "ninety-two", "hundred and two"
_COMPOUND: Final = f"{any_of('ages.compound')}"
_NUMBERS: Final = f"{_COMPOUND}|{either('numbers_es', 'numbers_it', 'numbers_en')}"
_UNIT: Final = f"(?:{any_of('ages.unit')})"
_AGE_AFTER: Final = (
    r"(?:[ ](?:y|e|and)[ ](?:medio|media|(?P<also>[0-9]{1,2})|un[oa]?|dos|tres|cuatro|cinco|seis|siete|ocho|nueve))?"
    rf"\+?[ \xa0]{{0,2}}(?P<unit>{_UNIT})(?![a-zà-ÿ])"
    r"(?:,?[ ](?:y|e|and)[ ](?:[0-9]{1,2}|un|medio|(?:[0-9]{1,2}|un|una|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|"
    r"diez|once)[ ]?(?:meses|mes|d[ií]as?|semanas?|mesi|mese|giorni|months?|days?))(?![ ]?kg|[a-zà-ÿ0-9.,]))?"
)
# Two expressions, since most numbers are in figures, and those would be compared with each number in words.
_AGE_IN_FIGURES: Final = re.compile(rf"(?i)(?<![0-9A-Za-z.,/\-])(?P<number>[0-9]{{1,3}}(?:[.,][05])?){_AGE_AFTER}")
_AGE_IN_WORDS: Final = re.compile(rf"(?i)(?<![0-9.,/\-])(?P<number>{_NUMBERS}){_AGE_AFTER}")
# A person, then at most three words, none of which makes the number a length of time.
_PERSON_BEFORE: Final = re.compile(
    f"(?<![a-zà-ÿ])(?P<person>{either('persons')})(?:[ ](?!{any_of('ages.person_before')})"
    r"[a-zà-ÿ.]+){0,3}?,?[ ]?(?:\(|de|di|d['’]|con|of|age|aged)?[ ]?\Z"
)
_AT_AGE: Final = re.compile(rf"(?<![a-zà-ÿ])(?:{any_of('ages.at_age')})[ ]\Z")
_STRONG_AFTER: Final = re.compile(r"[ ,]{0,2}(?:de edad|de vida|d'età|di età|di vita|of age|-?old|y/?o\b|cumplidos)")
_SPAN_AFTER: Final = re.compile(f"[ ,]{{0,2}}(?:{any_of('ages.span_after')})")
# "Lactante de 3 meses de Madrid", but "paciente con tos de 3 meses de evolución"
_OF_PERSON_BEFORE: Final = re.compile(
    rf"(?<![a-zà-ÿ])(?:{either('persons')})"
    r"(?:[ ](?!con\b|cuadro|quadro|historia|storia|cl[ií]nica|history|febr)[a-zà-ÿ]+)?,?[ ](?:de|di|of)[ ]\Z"
)
# "with three weeks of worsening dyspnea"
_SYMPTOM_AFTER: Final = re.compile(f"[ ](?:de|di|of) (?!{any_of('ages.symptom_after')})")
_SPAN_BEFORE: Final = re.compile(rf"(?<![a-zà-ÿ])(?:{any_of('ages.span_before')})[ ]\Z")
# "Los niños menores de 2 años", "mean age 61 years": ages of groups.
_GROUP_BEFORE: Final = re.compile(rf"(?<![a-zà-ÿ])(?:{any_of('ages.group_before')})[ ]\Z")
# "A 5 anni dalla diagnosi", but "operato a 45 anni dal dott. Rossi"
_SINCE_AFTER: Final = re.compile(
    f"[ ]dal(?:la |l['’]|lo | )(?:(?:{any_of('ages.since_which')}) ?)?(?:{any_of('ages.since_event')})"
)
_AT_BEFORE: Final = re.compile(r"(?<![a-zà-ÿ])a[ ]\Z")
# "Mujer con disnea progresiva de un mes"
_COMPLAINT_BEFORE: Final = re.compile(
    r"(?<![a-zà-ÿ])(?:con|with|w/|per|por|for)[ ][a-zà-ÿ]{3,}(?:[ ][a-zà-ÿ]+){0,3}[ ](?:de|di|da|of|for)[ ]\Z"
)
# "Survival at 5 years was 82%", but "riesgo de caídas a los 82 años"
_OUTCOME_BEFORE: Final = re.compile(
    rf"\b(?:{any_of('ages.rate_before')})\b(?P<between>[a-zà-ÿ ]{{0,24}})[ ](?:at|a|a los)[ ]\Z"
)
# "Rosa Cabrera, 54 años", "R. C., 54 años": a name, or nothing, before years that end the phrase.
_AFTER_NAME: Final = re.compile(rf"(?:(?<!{LETTER})[{UP}](?:{SMALL_LETTER}+|\.),[ ](?:de[ ])?|[.|:][ ]|[\n(])\Z")
_CLOSES: Final = re.compile(r"[ ]*(?:[.,;)|\n]|\Z)")


def _age(text: str, start: int, end: int) -> Iterator[Found]:
    match = (_AGE_IN_FIGURES if text[start].isdigit() else _AGE_IN_WORDS).match(text, start)
    if match is not None and _plausible(match) and _of_person(text, match):
        yield match.start("number"), match.end("number"), RuleKind.AGE
        if match["also"]:  # "sus hijos (14 y 17 años)"
            yield match.start("also"), match.end("also"), RuleKind.AGE
        yield match.start(), match.end(), RuleKind.AGE_UNIT


def _of_person(text: str, match: re.Match[str]) -> bool:
    """Whether the number is somebody's age, by the words around it."""
    ahead, behind = after(text, match.end(), 32), before(text, match.start(), 64)
    if _STRONG_AFTER.match(ahead):
        return True
    if _SPAN_AFTER.match(ahead):
        return False
    unit = match["unit"].lower()
    years = unit.startswith(("a", "y"))
    if _GROUP_BEFORE.search(behind):
        return False
    if not years and _COMPLAINT_BEFORE.search(behind) and not _OF_PERSON_BEFORE.search(behind):
        return False
    if _AT_BEFORE.search(behind) and _SINCE_AFTER.match(ahead):
        return False
    person = _PERSON_BEFORE.search(behind)
    if not years and _SYMPTOM_AFTER.match(ahead) and not _OF_PERSON_BEFORE.search(behind):
        return False
    if person:
        return not ("gest" in person["person"] and "seman" in unit)
    if not years or _SPAN_BEFORE.search(behind) or _is_outcome(match["number"], behind):
        return False
    if _AT_AGE.search(behind):
        return True
    name = _AFTER_NAME.search(text, max(0, match.start() - 24), match.start())
    return bool(name) and match["number"].isdigit() and bool(_CLOSES.match(text, match.end()))


def _is_outcome(number: str, behind: str) -> bool:
    """Whether the number is a time at which an outcome was counted: up to 10 years, or 30 right after a rate."""
    outcome = _OUTCOME_BEFORE.search(behind)
    if outcome is None:
        return False
    return not number.isdigit() or int(number) <= (30 if outcome["count"] and not outcome["between"] else 10)


def _plausible(match: re.Match[str]) -> bool:
    number = match["number"]
    return not number.isdigit() or int(number) <= 120


def _worded(text: str, start: int, end: int) -> Iterator[Found]:
    yield start, end, RuleKind.AGE
    yield start, end, RuleKind.AGE_UNIT


_FREE: Final = r"(?<![0-9A-Za-z])(?<![0-9][.,/\-])"
# "The 2-year-old prosthesis showed no loosening", but "a 55-year-old pacemaker recipient"
_THING_AFTER: Final = rf"[ ](?:{any_of('ages.aged_things')})(?:[ ]?[.,;:)\n]|\Z|[ ](?:{any_of('ages.thing_verbs')})\b)"
_OLD: Final = (
    rf"(?i){_FREE}(?P<whole>(?P<number>[0-9]{{1,3}})\+?(?:[ \-]?(?:years?|yrs?|yr|y|months?|mo|weeks?|wk|"
    rf"days?)[ .\-]{{0,2}}old(?!{_THING_AFTER})|[ \-]?y[/\-]o|[ ]?y\.o\.?|[ ]?yo))(?![a-z])"
)
# "ninety-five-year-old", "aged ninety-one"
_OLD_IN_WORDS: Final = (
    rf"(?i)(?<![A-Za-z0-9\-])(?P<whole>(?P<number>{_NUMBERS})[ \-](?:year|month|week|day)s?[ \-]old(?!{_THING_AFTER}))"
    r"(?![a-z])"
)
_AGED_IN_WORDS: Final = (
    rf"(?i)aged?(?:[ ]of|[ ]?:)?[ ](?P<whole>(?P<number>{_NUMBERS}))(?![a-zà-ÿ\-]|[ ](?:to|or|hours?)\b)"
)


def _both(expression: str, check: Callable[[re.Match[str]], bool] | None = None) -> Finder:
    """A finder for the groups `number` and `whole` (number with unit) of an expression."""
    return pattern(expression, check=check, number=RuleKind.AGE, whole=RuleKind.AGE_UNIT)


# "She is 29 and", "Mother, 83,", "died at age 61 of", "she turned 90."
_BARE_BEFORE: Final = re.compile(
    rf"(?<![a-z])(?:(?:at )?(?:age|aged)|(?P<died>died at)|(?:s?he|who|patient|pt|{either('relations')})(?: will turn| "
    rf"(?:just |recently )?turned| turns| is(?: now)?|,))[ ]\Z"
)
_BARE_AFTER: Final = re.compile(rf"[ ]?(?:[.;)\n]|\Z|,(?![ ]?[0-9]))|[ ](?:{any_of('ages.bare_after')})\b")
_OF_CAUSE: Final = re.compile(r"[ ](?:of[ ](?!clock)|from[ ]|in[ ](?:[0-9]{4}|[a-z]*[ ]?hos))")
_ENGLISH_NAME: Final = re.compile(rf"(?<!{LETTER})(?P<name>[{UP}]{SMALL_LETTER}{{2,}}),[ ]\Z")
_NAMED: Final = ALL_GIVEN - word_set("eponyms")
_BARE: Final = re.compile(r"(?<![0-9A-Za-z.,/\-])(?P<number>[1-9][0-9]?)(?![0-9A-Za-z%/\-]|[.,][0-9])")


def _bare(text: str, start: int, end: int) -> Iterator[Found]:
    """A number without a unit that is an age by the words before it, in English."""
    match = _BARE.match(text, start)
    if match is None:
        return
    ends = _BARE_AFTER.match(text, end)
    behind = _BARE_BEFORE.search(before(text, start, 32)) if ends or _OF_CAUSE.match(text, end) else None
    if not ends and not (behind and behind["died"]):
        return
    named = _ENGLISH_NAME.search(text, max(0, start - 24), start) if text[end : end + 2] == ", " else None
    known = named is not None and named["name"].lower() in _NAMED
    if known or behind:
        yield from _worded(text, start, end)


_DECADE: Final = re.compile(
    rf"(?<![a-z])(?:in|into|of) (?:his|her|their|(?:the )?(?:patient|{either('relations')})['’]s)"
    r"(?: (?:very )?(?:early|mid|middle|late|upper|lower))?[ \-](?P<decade>(?:[2-9]|1[01])0['’]?s|[a-z]+)\Z"
)


def _decade(text: str, start: int, end: int) -> Iterator[Found]:
    """`in her 90s`, `in his late eighties`. The trigger is the last word, or the s after figures."""
    if match := _DECADE.search(before(text, end, 48)):
        yield from _worded(text, end - len(match["decade"]), end)


_FIGURES: Final = frozenset(DIGITS[1:4])

RULES: Final = (
    Rule(
        "age.person",
        _age,
        60,
        _FIGURES.union(listed("numbers_es", "numbers_it", "numbers_en"), words("hundred cento cien ciento"))
        | {f"novant{unit}" for unit in (*listed("ages_it_units"), "uno", "atré", "acinque", "asette", "otto", "anove")},
    ),
    Rule("age.bare", _bare, 56, (DIGITS[2],), language="en"),
    Rule("age.decade", _decade, 60, language="en"),
    strong("age.old.words", _both(_OLD_IN_WORDS), 70, (*listed("numbers_en"), "hundred"), language="en"),
    Rule("age.aged.words", _both(_AGED_IN_WORDS), 61, words("age aged"), language="en"),
    strong("age.old", _both(_OLD, check=_plausible), 70, _FIGURES),
    Rule(
        "age.enne.words",
        _worded,
        60,
        frozenset(f"{ten}{unit}enne" for ten in listed("ages_it") for unit in ("", *listed("ages_it_units"))),
    ),
    Rule(
        "age.brackets",
        _both(
            rf"(?i:\w+)[ ](?:[{UP}]{LETTER}{{1,20}}[ ]){{0,3}}\((?P<whole>(?P<number>[0-9]{{1,3}})"
            r"(?:[ ](?:aa|anni|años|yo))?)(?=[,)]|[ ]y[ ])",
            check=_plausible,
        ),
        50,
        words(" ".join(word for word in listed("persons") if "." not in word and " " not in word)),
    ),
)

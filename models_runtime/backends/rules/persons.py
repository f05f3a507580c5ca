"""Names of persons without a field or title: relatives, signatures, lists of authors, known given names, births."""

import re
from collections.abc import Iterator
from typing import Final

from models_runtime.backends.rules.gazetteers import RuleKind, any_of, listed, places, word_set
from models_runtime.backends.rules.phrases import (
    ALL_GIVEN,
    APOSTROPHE,
    LETTER,
    UP,
    after,
    before,
    is_condition,
    is_service,
    read_name,
)
from models_runtime.backends.rules.rule import Found, Rule, strong, words

_FIRST_WORD: Final = re.compile(rf"{LETTER}+")
_RELATION_GAP: Final = re.compile(
    r"(?i:[ ]mayor|[ ]menor|[ ]maggiore|[ ]minore)?(?:,|,?[ ]\(|[ ]\(|:)?[ ]?"
    r"(?i:(?:llamad[oa]|named|di nome|sig\.ra|sig\.|signora?|don|doña|dña\.?|sr\.|sra\.|d\.)[ ]){0,2}"
)
# A relation is in lower case, unless it begins a sentence: "Primo Referendario" is not a cousin.
_OPENS: Final = re.compile(r"(?:\A|[.;:(\n])[ ]{0,2}\Z")

# "Sister Mary Joseph nodule"
_NODULE: Final = re.compile(r"(?:['’]s)?[ ](?:nodul|nodes?\b)")


def _relative(text: str, start: int, end: int) -> Iterator[Found]:
    """`su hija Pilar`, `Wife Lorraine`, `la moglie, sig.ra Carla Venditti`."""
    if text[start].isupper() and not _OPENS.search(text[max(0, start - 3) : start]):
        return
    gap = _RELATION_GAP.match(text, end)
    if gap is None or gap.end() == end:
        return
    at = gap.end()
    stop = read_name(text, at, most=4)
    first = _FIRST_WORD.match(text, at, stop)
    if first is None or first[0].lower() in listed("not_relatives") or len(first[0]) < 3:
        return
    if is_condition(text, gap[0], at, stop) or _NODULE.match(text, stop) or text[start:stop] == "Padre Pio":
        return
    if not first[0].isupper() or (text[start:end].islower() and " " in text[at:stop]):
        yield at, stop, RuleKind.RELATIVE
        both = _AND.match(text, stop) if text[start:end].lower() in ("padres", "parents", "genitori") else None
        second = read_name(text, both.end(), most=4) if both else stop
        if both and second > both.end():
            yield both.end(), second, RuleKind.RELATIVE


_AND: Final = re.compile(r"[ ](?:y|e|and)[ ]")
_WITH: Final = re.compile(r"[ ](?:de|por|da|by)[ ]")
_WHO: Final = re.compile(r"(?:,[ ]|[ ]\()(?:su|la|il|lo|sua|suo|his|her|their|una?)[ ]")


def _accompanied(text: str, start: int, end: int) -> Iterator[Found]:
    """`Acompañada por Loli Cantero, su vecina`."""
    gap = _WITH.match(text, end)
    stop = read_name(text, gap.end(), most=4) if gap else end
    if gap is not None and stop > gap.end() and _WHO.match(text, stop) and not is_service(text[gap.end() : stop]):
        yield gap.end(), stop, RuleKind.RELATIVE


_SIGNATURE: Final = re.compile(
    rf"[{UP}]\.[ ]?(?:[{UP}]\.[ ]?)?(?:(?:De|Di|De la|Lo|La|"
    rf"Del)[ ])?[{UP}]{LETTER}+(?:[{APOSTROPHE}\-][{UP}]{LETTER}+)*"
    rf"(?:[ ][{UP}]{LETTER}+)?(?=[ ]*(?:$|,?[ ](?:MD|RN|DO|NP|PA|PGY)\b|\(R[0-9]\)|[ ]{{2}}))",
    re.MULTILINE,
)


def _begins_line(text: str, start: int) -> bool:
    """Whether a word with a capital letter is the first one of its line."""
    return text[start].isupper() and not text[text.rfind("\n", 0, start) + 1 : start].strip(" \t\ufeff")


def _signature(text: str, start: int, end: int) -> Iterator[Found]:
    """A line that consists of an initial, a surname and at most a degree."""
    match = _SIGNATURE.match(text, start) if _begins_line(text, start) else None
    if match is not None and not any(part.lower() in word_set("not_names") for part in match[0].split()[1:]):
        yield match.start(), match.end(), RuleKind.STAFF


# "A.Th. van den Broek", "J.Chr. Visser", "J.P.M. de Vries": initials of two and three letters, or a Dutch particle.
_LONG_INITIALS: Final = re.compile(
    rf"(?<![\w.\-])(?:-?[{UP}](?:[hr]|hr)?\.){{2,5}}[ ]?"
    rf"(?P<particle>(?:(?:van|von|den|der|ten|ter|te|de|zu)[ ]){{0,3}})(?=[{UP}])"
)
_LONG: Final = re.compile(rf"[{UP}][hr]{{1,2}}\.")


def _initials(text: str, start: int, end: int) -> Iterator[Found]:
    """Initials that touch each other, and a surname."""
    match = _LONG_INITIALS.match(text, start) if text[end : end + 1] == "." else None
    if match is None or not (_LONG.search(match[0]) or (match["particle"] and match["particle"] != "de ")):
        return
    stop = read_name(text, start, most=8)
    if stop > match.end():
        yield start, stop, RuleKind.PERSON


_NAME: Final = (
    rf"[{UP}]{LETTER}+(?:[ ](?:[{UP}]\.|(?:De|Lo|La|Di|Del|Dal|Van)[ ][{UP}]{LETTER}+|[{UP}]{LETTER}+)){{1,3}}"
)
_LIST: Final = re.compile(rf"{_NAME}(?:[ ]\([0-9]\))?(?:[,;][ ]{_NAME}(?:[ ]\([0-9]\))?){{1,10}}[ ]*(?=\n|\Z)")
_ONE: Final = re.compile(_NAME)


def _author_list(text: str, start: int, end: int) -> Iterator[Found]:
    """A line that is only a list of names and begins with a known given name."""
    match = _LIST.match(text, start) if _begins_line(text, start) else None
    for name in _ONE.finditer(text, *match.span()) if match else ():
        if not any(len(part) > 2 and part.lower() in word_set("not_names") for part in name[0].split()):
            yield name.start(), name.end(), RuleKind.STAFF


NOT_BEFORE: Final = re.compile(rf"(?<![^\W\d_])(?:{any_of('persons.not_before')})[ ]?\Z")
_SURNAME_FIRST: Final = re.compile(rf"(?:\A|\n|[ ]{{2}})(?P<name>[{UP}]{LETTER}+(?:-[{UP}]{LETTER}+)?,[ ])\Z")


def _given(text: str, start: int, end: int) -> Iterator[Found]:
    """A known given name followed by a surname, or preceded by a surname and a comma at the start of a line."""
    if (
        not text[start].isupper()
        or text[start - 1 : start] in ("-", "_", "@", ".")
        or text[end : end + 1] in ("@", "_")
    ):
        return
    if NOT_BEFORE.search(before(text, start, 32)):
        return
    stop = read_name(text, start, most=5)
    surname = _SURNAME_FIRST.search(text, max(0, start - 30), start)
    if surname and surname["name"][:-2].lower() not in word_set("not_names") and stop > start:
        yield surname.start("name"), stop, RuleKind.PERSON
    elif _is_person(text[start:stop]):
        yield start, stop, RuleKind.PERSON


def _is_person(name: str) -> bool:
    parts = name.split()
    if len(parts) < 2 or name.lower() in places() or any(part.lower() in word_set("eponyms") for part in parts):
        return False
    together = all(part.isupper() and len(part) > 2 for part in parts)
    if parts[0].isupper() and (parts[0].lower() in listed("acronyms") or not together):
        return False  # ELISA, ANA
    rest = [part for part in parts if part.lower() not in ALL_GIVEN and part[0].isupper()]
    if any(part.lower() in listed("common_surnames") for part in rest):
        return False
    return bool(rest) or sum(part.lower() in ALL_GIVEN for part in parts) > 1


_BEFORE_BIRTH: Final = re.compile(
    rf"(?P<name>[{UP}]{LETTER}+(?:[ ](?:(?:de|del|di|la)[ ]){{0,2}}[{UP}]{LETTER}+){{1,4}}),[ ]\Z"
)


def _born(text: str, start: int, end: int) -> Iterator[Found]:
    """`Sauro LOMBARDINI, nato ad Arezzo`."""
    match = _BEFORE_BIRTH.search(text, max(0, start - 60), start)
    if match is not None and match["name"].split()[0].lower() not in word_set("not_names"):
        yield *match.span("name"), RuleKind.PERSON


_SIGNED: Final = rf"[{UP}](?:\.|{LETTER}+)(?:[ ](?:(?:de|del|di|la)[ ]){{0,2}}[{UP}]{LETTER}+){{1,3}}"
_BEFORE_RANK: Final = re.compile(rf"(?:(?:\A|\n)(?P<first>{_SIGNED})[ ][\-–/][ ])?(?P<name>{_SIGNED})[ ]\(\Z")
_RANK: Final = re.compile(r"(?i:r[1-5]|mir|adjunt[oa]|attending|resident[ei]?|fellow)\)")


def _ranked(text: str, start: int, end: int) -> Iterator[Found]:
    """`P. Guirao (R5)`, `Mercedes Tobar (adjunta)`, and who signs beside them at the start of the line."""
    match = _BEFORE_RANK.search(text, max(0, start - 90), start) if _RANK.match(text, start) else None
    for group in ("first", "name") if match else ():
        if match and match[group] and match[group].split()[0].lower() not in word_set("not_names"):
            yield *match.span(group), RuleKind.STAFF


# Sex, family and work of the patient.


_SEX_AFTER: Final = re.compile(
    r"[ ,]{1,2}(?:de[ ]|con[ ]|y[ ]de[ ])?(?:[0-9]{1,3}|[a-zéó]{2,12}(?:[ ]y[ ][a-zéó]{2,7})?)[ ]"
    r"(?:años|meses|mes|d[ií]as|semanas|horas|y )"
)
_SEX_BEFORE: Final = re.compile(rf"(?:{any_of('persons.sex_before')})[ :]{{0,3}}(?:una?[ ])?\Z")


# "El niño presentaba": in a note on a child, the child is the patient.
_CHILD: Final = frozenset({"niño", "niña"})
_CHILD_BEFORE: Final = re.compile(r"(?:el|la|del|al|este|esta|dich[oa])[ ]\Z", re.IGNORECASE)


def _sex(text: str, start: int, end: int) -> Iterator[Found]:
    behind = before(text, start)
    child = text[start:end] in _CHILD and _CHILD_BEFORE.search(behind)
    if child or _SEX_AFTER.match(after(text, end, 40)) or _SEX_BEFORE.search(behind):
        yield start, end, RuleKind.SEX


_COUNT: Final = re.compile(r"(?<![a-zà-ÿ])(?:dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|[0-9]{1,2})[ ]\Z")
_SIDE: Final = re.compile(f"[ ](?:{any_of('persons.side')})(?![a-zà-ÿ])")
_MEDICAL: Final = re.compile(r"(?:m[eé]dic[oa] de|antecedentes|soluci[oó]n|c[eé]lulas?)[ ]\Z")
_OWN: Final = re.compile(r"(?<![a-zà-ÿ])(?:sus|los|otros|varios|resto de|dos|tres|por|a)[ ]\Z")


def _family(text: str, start: int, end: int) -> Iterator[Found]:
    """A relative, with the number before it and the side of the family after it: `dos hermanos`, `tío paterno`."""
    behind = before(text, start)
    if _MEDICAL.search(behind) or (text[start:end].lower() == "familiares" and not _OWN.search(behind)):
        return
    side, count = _SIDE.match(text, end), _COUNT.search(behind)
    yield start - (len(count[0]) if count else 0), side.end() if side else end, RuleKind.FAMILY


_WORK_BEFORE: Final = re.compile(
    rf"(?:(?:{any_of('persons.works_as')})[,]?[ ](?:{any_of('persons.no_work')})?|(?:,|\()[ ]?(?:ex[ \-]?|retired |"
    r"former )?)\Z"
)
_WORK_MORE: Final = re.compile(f"[ ](?:{any_of('persons.work_more')})(?![a-zà-ÿ])")


def _work(text: str, start: int, end: int) -> Iterator[Found]:
    """A listed occupation after words that introduce one: an age, a comma, `retired`."""
    if _WORK_BEFORE.search(before(text, start)):
        more = _WORK_MORE.match(text, end)
        yield start, more.end() if more else end, RuleKind.PROFESSION


RULES: Final = (
    strong("name.relative", _relative, 56, words(" ".join(listed("relations")))),
    strong("name.accompanied", _accompanied, 56),
    strong("name.signature", _signature, 55, "abcdefghijklmnopqrstuvwxyz", capital=True),
    strong("name.initials", _initials, 56, capital=True),
    strong("name.list", _author_list, 44, ALL_GIVEN, capital=True),
    strong("name.born", _born, 58, words("nato nata nacido nacida born")),
    Rule("name.ranked", _ranked, 58, words("r mir adjunto adjunta attending resident residente fellow")),
    Rule("name.given", _given, 43, ALL_GIVEN, capital=True),
    Rule("sex.word", _sex, 35, language="es"),
    Rule("family.word", _family, 33, language="es"),
    Rule("work.word", _work, 34, listed("work_es", "work_it", "work_en")),
)

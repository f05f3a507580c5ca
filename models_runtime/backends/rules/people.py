"""Sex, family and work of the patient."""

import re
from collections.abc import Iterator
from typing import Final

from models_runtime.backends.rules.gazetteers import listed
from models_runtime.backends.rules.kinds import RuleKind
from models_runtime.backends.rules.phrases import after, before
from models_runtime.backends.rules.rule import Found, Rule, pattern, words

_SEX_AFTER: Final = re.compile(
    r"[ ,]{1,2}(?:de[ ]|con[ ]|y[ ]de[ ])?(?:[0-9]{1,3}|[a-zéó]{2,12}(?:[ ]y[ ][a-zéó]{2,7})?)[ ]"
    r"(?:años|meses|mes|d[ií]as|semanas|horas|y )"
)
_SEX_BEFORE: Final = re.compile(
    r"(?:paciente|sexo|lactante|actual:|ingreso:|paciente:|cl[ií]nico:|antecedentes:|reci[eé]n nacid[oa]|trata de "
    r"un[a]?|"
    r"adolescente|prematur[oa]|neonat[oa]|escolar)[ :]{0,3}(?:una?[ ])?\Z"
)


# "El niño presentaba": in a note on a child, the child is the patient.
_CHILD: Final = frozenset({"niño", "niña"})
_CHILD_BEFORE: Final = re.compile(r"(?:el|la|del|al|este|esta|dich[oa])[ ]\Z", re.IGNORECASE)


def _sex(text: str, start: int, end: int) -> Iterator[Found]:
    behind = before(text, start)
    child = text[start:end] in _CHILD and _CHILD_BEFORE.search(behind)
    if child or _SEX_AFTER.match(after(text, end, 40)) or _SEX_BEFORE.search(behind):
        yield start, end, RuleKind.SEX


_TRAIT: Final = (
    r"(?i)(?P<trait>raza[ ](?:blanca|negra|cauc[aá]sica|asi[aá]tica|gitana|mestiza)|"
    r"(?:casad|solter|viud|divorciad)[oa]|lactante|hij[oa][ ]únic[oa])(?![a-zà-ÿ])"
)


_COUNT: Final = re.compile(r"(?<![a-zà-ÿ])(?:dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|[0-9]{1,2})[ ]\Z")
_SIDE: Final = re.compile(
    r"[ ](?:matern[oa]s?|patern[oa]s?|mayor(?:es)?|menor(?:es)?|gemel[oa]s?|políticos?|var[oó]n(?:es)?)(?![a-zà-ÿ])"
)
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
    r"(?:(?:años|anni|aa|year-old|yo|old|retired|former|de profesi[oó]n|profesi[oó]n:?|professione:?|occupation:?|"
    r"trabaja(?:ba|do|dor)?(?: como| de| en)?|works as an?|worked as an?|is an?|was an?|lavora come|come|ex|già|"
    r"jubilad[oa]|como|en activo|casad[oa]|edad|marido|cónyuge)[,]?[ ](?:di professione[ ]|de profesi[oó]n[ ]|una?[ ]|"
    r"an?[ ]|retired[ ]|former[ ]|ex[ \-])?|(?:,|\()[ ]?(?:ex[ \-]?|retired |former )?)\Z"
)
_WORK_MORE: Final = re.compile(
    r"[ ](?:driver|de profesión|agrícola|(?:pre)?jubilad[oa]|de autobús|de enfermería|profesional|metalmeccanico|edile|"
    r"agricolo|reporter|worker)(?![a-zà-ÿ])"
)
_DRIVER: Final = r"(?i)(?<![a-z])(?P<work>(?:school[ ]bus|bus|truck|taxi|delivery)[ ]driver)(?![a-z])"
_WORK_FIELD: Final = (
    r"(?i)(?:de profesi[oó]n|profesi[oó]n[ ]?:|professione[ ]?:|di professione|occupation[ ]?:|trabaja(?:ba)?[ ]como|"
    r"works as an?|lavora come|trabajador[a]? en)[ ]{0,2}"
    r"(?P<work>[a-zà-ÿ]{4,20}(?:[ ](?:de|en|di|del)[ ][a-zà-ÿ]{3,16})?)"
)


def _work(text: str, start: int, end: int) -> Iterator[Found]:
    """A listed occupation after words that introduce one: an age, a comma, `retired`."""
    if _WORK_BEFORE.search(before(text, start)):
        more = _WORK_MORE.match(text, end)
        yield start, more.end() if more else end, RuleKind.PROFESSION


RULES: Final = (
    Rule(
        "sex.field",
        words("sexo sesso sex gender"),
        pattern(r"(?i)(?:sexo|sesso|sex|gender)[ ]?:[ ]{0,3}(?P<sex>[a-zà-ÿ]{1,10})(?![a-zà-ÿ])", sex=RuleKind.SEX),
        0.99,
        rank=60,
        strong=True,
    ),
    Rule("sex.word", frozenset(listed("sexes_es")), _sex, 0.95, rank=35, languages=frozenset({"es"})),
    Rule(
        "trait.word",
        words("raza casado casada soltero soltera viudo viuda divorciado divorciada lactante hijo hija"),
        pattern(_TRAIT, trait=RuleKind.TRAIT),
        0.8,
        rank=36,
        languages=frozenset({"es"}),
    ),
    Rule("family.word", frozenset(listed("family_es")), _family, 0.7, rank=33, languages=frozenset({"es"})),
    Rule("work.word", frozenset(listed("work_es", "work_it", "work_en")), _work, 0.75, rank=34),
    Rule(
        "work.driver", words("school bus truck taxi delivery"), pattern(_DRIVER, work=RuleKind.PROFESSION), 0.8, rank=37
    ),
    Rule(
        "work.field",
        words("de profesión profesion professione di occupation trabaja trabajaba works lavora trabajador trabajadora"),
        pattern(_WORK_FIELD, work=RuleKind.PROFESSION),
        0.75,
        rank=36,
    ),
)

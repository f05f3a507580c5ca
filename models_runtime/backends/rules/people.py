"""Sex, family and work of the patient."""

import re
from collections.abc import Iterator
from typing import Final

from models_runtime.backends.rules.kinds import Kind
from models_runtime.backends.rules.reading import after, before
from models_runtime.backends.rules.rule import Found, Rule, pattern, words

_SEX_WORDS: Final = (
    "varón varon mujer hombre niño niña niños niñas masculino femenino masculina femenina anciano anciana "
)
_SEX_AFTER: Final = re.compile(
    r"[ ,]{1,2}(?:de[ ]|con[ ]|y[ ]de[ ])?(?:[0-9]{1,3}|un|una|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|once|doce|trece|catorce|quince)[ ](?:años|meses|mes|d[ií]as|semanas|horas|y )"
)
_SEX_BEFORE: Final = re.compile(
    r"(?:paciente|sexo|lactante|actual:|ingreso:|paciente:|cl[ií]nico:|antecedentes:|reci[eé]n nacid[oa]|trata de un[a]?|adolescente|prematur[oa]|neonat[oa]|escolar)[ :]{0,3}(?:una?[ ])?\Z"
)


def _sex(text: str, start: int, end: int) -> Iterator[Found]:
    if _SEX_AFTER.match(after(text, end, 20)) or _SEX_BEFORE.search(before(text, start)):
        yield start, end, Kind.SEX


_FAMILY: Final = (
    "madre padre padres hermano hermana hermanos hermanas hijo hija hijos hijas abuelo abuela abuelos tío tía tíos tias primo prima primos sobrino sobrina marido esposo esposa familia familiares "
    "nieto nieta nietos cuñado suegra gemelo gemela progenitores cónyuge sobrinos"
)
_COUNT: Final = re.compile(r"(?<![a-zà-ÿ])(?:dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|[0-9]{1,2})[ ]\Z")
_MEDICAL: Final = re.compile(r"(?:m[eé]dic[oa] de|antecedentes|soluci[oó]n|c[eé]lulas?)[ ]\Z")
_OWN: Final = re.compile(r"(?<![a-zà-ÿ])(?:sus|los|otros|por|a)[ ]\Z")
_SIDE: Final = re.compile(
    r"[ ](?:matern[oa]s?|patern[oa]s?|mayor(?:es)?|menor(?:es)?|gemel[oa]s?|políticos?)(?![a-zà-ÿ])"
)
_WORK: Final = (
    "albañil agricultor agricultora ganadero ganadera pastor pescador minero bombero bomberos militar policía camarero camarera cocinero cocinera conductor conductora camionero taxista soldador soldadora mecánico electricista "
    "carpintero pintor administrativo administrativa funcionario funcionaria maestro maestra exmaestra profesor profesora abogado abogada arquitecto ingeniero ingeniera farmacéutica farmacéutico veterinario veterinaria jubilado pensionista "
    "peluquera peluquero modista costurera limpiadora dependienta dependiente azafata estudiante panadero zapatero jardinero deportista periodista economista contable informático músico marinero tapicero "
    "autotrasportatore autista camionista insegnante maestro maestra professore professoressa operaio operaia muratore idraulico elettricista falegname cuoco cuoca cameriere cameriera impiegato impiegata infermiera infermiere medico avvocato avvocata "
    "ingegnere architetto agricoltore allevatore pescatore pastore casalinga commerciante commessa commesso parrucchiera barista badante bracciante carabiniere poliziotto finanziere vigile magistrato geometra ragioniere giornalista studente studentessa "
    "welder millwright teacher nurse driver farmer carpenter plumber electrician mechanic accountant lawyer attorney engineer paramedic firefighter policeman waitress waiter cook chef baker butcher janitor custodian cashier clerk secretary librarian "
    "truck school machinist roofer painter contractor salesman realtor receptionist housekeeper veteran machinist bookkeeper electrician seamstress"
)
_WORK_BEFORE: Final = re.compile(
    r"(?:(?:años|anni|aa|year-old|yo|old|retired|former|de profesi[oó]n|profesi[oó]n:?|professione:?|occupation:?|trabaja(?:ba|do|dor)?(?: como| de| en)?|works as an?|worked as an?|is an?|was an?|"
    r"lavora come|come|ex|già|jubilad[oa]|como|en activo|casad[oa]|edad|marido|cónyuge)[,]?[ ](?:di professione[ ]|de profesi[oó]n[ ]|una?[ ]|an?[ ]|retired[ ]|former[ ]|ex[ \-])?|(?:,|\()[ ]?(?:ex[ \-]?|retired |former )?)\Z"
)


def _family(text: str, start: int, end: int) -> Iterator[Found]:
    word = text[start:end].lower()
    behind = before(text, start)
    if _MEDICAL.search(behind) or (word == "familiares" and not _OWN.search(behind)):
        return
    side = _SIDE.match(text, end)
    stop = side.end() if side else end
    count = _COUNT.search(behind)
    yield start - (len(count[0]) if count else 0), stop, Kind.FAMILY


def _work(text: str, start: int, end: int) -> Iterator[Found]:
    behind = before(text, start)
    if not _WORK_BEFORE.search(behind):
        return
    match = _WORK_MORE.match(text, end)
    yield start, match.end() if match else end, Kind.PROFESSION


_DRIVER: Final = r"(?i)(?<![a-z])(?P<work>(?:school[ ]bus|bus|truck|taxi|delivery)[ ]driver)(?![a-z])"
_WORK_MORE: Final = re.compile(
    r"[ ](?:bus driver|driver|de profesión|agrícola|jubilad[oa]|de autobús|de enfermería|profesional|metalmeccanico|edile|agricolo)(?![a-zà-ÿ])"
)
_WORK_FIELD: Final = re.compile(
    r"(?i)(?:de profesi[oó]n|profesi[oó]n[ ]?:|professione[ ]?:|di professione|occupation[ ]?:|trabaja(?:ba)?[ ]como|works as an?|lavora come|trabajador[a]? en|trabajadora? de la)[ ]{0,2}(?P<work>[a-zà-ÿ]{4,20}(?:[ ](?:de|en|di|del)[ ][a-zà-ÿ]{3,16})?)"
)

RULES: Final = (
    Rule(
        "sex.field",
        words("sexo sesso sex gender"),
        pattern(r"(?i)(?:sexo|sesso|sex|gender)[ ]?:[ ]{0,3}(?P<sex>[a-zà-ÿ]{1,10})(?![a-zà-ÿ])", sex=Kind.SEX),
        0.99,
        rank=60,
        strong=True,
    ),
    Rule("sex.word", words(_SEX_WORDS), _sex, 0.95, rank=35, languages=frozenset({"es"})),
    Rule("family.word", words(_FAMILY), _family, 0.7, rank=33, languages=frozenset({"es"})),
    Rule("work.word", words(_WORK), _work, 0.75, rank=34),
    Rule("work.driver", words("school bus truck taxi delivery"), pattern(_DRIVER, work=Kind.PROFESSION), 0.8, rank=37),
    Rule(
        "work.field",
        words("de profesión profesion professione di occupation trabaja trabajaba works lavora trabajador trabajadora"),
        lambda text, start, end: _field_work(text, start),
        0.75,
        rank=36,
    ),
)


def _field_work(text: str, start: int) -> Iterator[Found]:
    match = _WORK_FIELD.match(text, start)
    if match is not None:
        yield match.start("work"), match.end("work"), Kind.PROFESSION

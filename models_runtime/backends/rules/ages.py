"""Ages: of a person, never the length of an illness or a dose."""

import re
from collections.abc import Iterator
from typing import Final

from models_runtime.backends.rules.kinds import Kind
from models_runtime.backends.rules.reading import after, before
from models_runtime.backends.rules.rule import DIGITS, Found, Rule, pattern, words

_WORDS_ES: Final = (
    "un una uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis diecisiete "
    "dieciocho diecinueve veinte veintiún veintidós veintitrés treinta cuarenta cincuenta sesenta setenta ochenta noventa"
).split()
_WORDS_IT: Final = "due tre quattro cinque sei sette otto nove dieci venti trenta quaranta cinquanta sessanta settanta ottanta novanta".split()
_WORDS_EN: Final = (
    "two three four five six seven eight nine ten twenty thirty forty fifty sixty seventy eighty ninety".split()
)
NUMBER_WORDS: Final = frozenset((*_WORDS_ES, *_WORDS_IT, *_WORDS_EN))

_UNIT: Final = (
    r"(?:años?|anys?|meses|mes|semanas?|d[ií]as?|horas?|anni|anno|mesi|mese|settimane|giorni|giorno|aa\b|aa?\.|"
    r"years?|yrs?|months?|weeks?|days?)"
)
_AGE: Final = re.compile(
    rf"(?i)(?<![0-9.,/\-])(?P<number>[0-9]{{1,3}}(?:[.,][05])?|{'|'.join(sorted(NUMBER_WORDS, key=len, reverse=True))})"
    rf"(?:[ ]y[ ](?:medio|media|[0-9]{{1,2}}|un[oa]?|dos|tres|cuatro|cinco|seis|siete|ocho|nueve))?[ \xa0]{{0,2}}(?P<unit>{_UNIT})(?![a-zà-ÿ])"
    r"(?P<more>(?:,?[ ](?:y|e|and)[ ](?P<rest>[0-9]{1,2}|un|medio)[ ]?(?:meses|mes|d[ií]as?|semanas?|mesi|mese|giorni|months?|days?)?)?)(?![a-zà-ÿ])"
)
PERSONS: Final = (
    r"(?:pacient[ea]s?|paciente|mujer|var[oó]n|hombre|niñ[oa]s?|lactante|neonato|neonata|reci[eé]n nacid[oa]|beb[eé]|chic[oa]|joven|adolescente|"
    r"señora?|sr\.?a?|anciano|anciana|masculino|femenin[oa]|masculina|escolar|prematur[oa]|gestante|primigesta|primípara|individuo|enferm[oa]|caso|"
    r"paziente|uomo|donna|maschio|femmina|bambin[oa]|ragazz[oa]|signora?|neonato|lattante|pz\.?|pz|pte\.?|pac\.?|"
    r"madre|padre|herman[oa]s?|hij[oa]s?|marido|esposa?|abuel[oa]|tí[oa]|prim[oa]|figli[oa]|fratello|sorella|moglie|marito|nonn[oa]|"
    r"patient|man|woman|male|female|boy|girl|infant|child|gentleman|lady|son|daughter|husband|wife|brother|sister|mother|father|pt\.?)"
)
_PERSON_BEFORE: Final = re.compile(
    rf"(?<![a-zà-ÿ]){PERSONS}(?:[ ](?!hace|desde|durante|tras|por|fa\b|da\b|en\b|a\b|cada|lleva|m[aá]s\b|partir)[a-zà-ÿ.]+){{0,3}}?,?[ ]?(?:\(|de|di|d['’]|con|of|age|aged)?[ ]?\Z"
)
_AT_AGE: Final = re.compile(
    r"(?:(?<![a-zà-ÿ])(?:(?:a|desde|hasta|con|antes de|entre) (?:los|las)|edad(?: de)?:?|et[àa](?: di)?:?|aged?|age of|at|turned|"
    r"falleci\w+ con|cumplir(?: los)?|cumpl\w+|tiene|tenía|ha|aveva|compie|a)[ ])\Z"
)
_STRONG_AFTER: Final = re.compile(
    r"[ ,]{0,2}(?:de edad|de vida|d'età|di età|di vita|of age|old|-old|y/?o\b|cumplidos|de edad gestacional)"
)
_SPAN_AFTER: Final = re.compile(
    r"[ ,]{0,2}(?:de (?:evoluci[oó]n|duraci[oó]n|seguimiento|tratamiento|antig[uü]edad|historia|supervivencia|control|"
    r"post|terapia|dura|vigencia|ingreso|estancia|hospitali|di[aá]lisis|hemodi|h[aá]bito|abstin|garant|segu)|"
    r"despu[eé]s|antes|atr[aá]s|m[aá]s tarde|previ|postop|post|consecutiv|al (?:mes|año)|por |tras |del |de (?:la|los|las|haber|su|un|una) |asintom"
    r"fa\b|prima|dopo|di (?:follow|terapia|malattia|storia|durata|evoluzione|servizio)|ago|later|before|after|history|"
    r"since|prior|earlier|follow|of (?:history|treatment|therapy|follow))"
)
_SPAN_BEFORE: Final = re.compile(
    r"(?:hace|durante|desde|tras|cada|[uú]ltim[oa]s|pr[oó]xim[oa]s|primer[oa]s|en|por|unos|m[aá]s de|menos de|despu[eé]s de|"
    r"plazo de|periodo de|intervalo de|al cabo de|evoluci[oó]n de|duraci[oó]n de|seguimiento de|historia de|tratamiento de|"
    r"da|per|da circa|oltre|dopo|ogni|ultimi|prossimi|entro|tra|fra|for|in|over|last|past|next|every|after|within|x|than|about)[ ]\Z"
)


def _age(text: str, start: int, end: int) -> Iterator[Found]:
    match = _AGE.match(text, start)
    if match is None or not _plausible(match):
        return
    ahead = after(text, match.end())
    behind = before(text, start, 64)
    if not _STRONG_AFTER.match(ahead):
        if _SPAN_AFTER.match(ahead):
            return
        person = _PERSON_BEFORE.search(behind)
        years = match["unit"].lower().startswith(("a", "y"))
        if person and "gest" in person[0] and "seman" in match["unit"].lower():
            return
        if not person and (_SPAN_BEFORE.search(behind) or not (years and _AT_AGE.search(behind))):
            return
    yield match.start("number"), match.end("number"), Kind.AGE
    yield match.start(), match.end(), Kind.AGE_UNIT


def _plausible(match: re.Match[str]) -> bool:
    number = match["number"]
    return not number.isdigit() or int(number) <= 120


_EN_OLD: Final = r"(?<![0-9.,/\-])(?P<number>[0-9]{1,3})(?P<rest>[ \-]?(?:years?|yrs?|yr|y|months?|mo|weeks?|wk|days?)[ .\-]{0,2}old|[ ]?y/o|[ ]?y\.o\.?|[ ]?yo\b)"

RULES: Final = (
    Rule(
        "age.field",
        words("edad età eta age anni"),
        pattern(
            r"(?i)(?:edad|età|eta|age|anni)[ ]?:[ ]{0,3}(?P<whole>(?P<number>[0-9]{1,3})(?:[ ]{0,3}(?:años?|meses|mes|d[ií]as?|semanas?|anni|mesi|giorni|aa|"
            r"years?|yrs?|months?|a\.?(?![a-z])))?(?:[ ]?(?:y|e)?[ ]?[0-9]{1,2}[ ](?:meses|mesi|d[ií]as|giorni))?)(?![0-9a-zA-Z])",
            number=Kind.AGE,
            whole=Kind.AGE_UNIT,
        ),
        0.98,
        rank=80,
        strong=True,
    ),
    Rule("age.person", frozenset((*DIGITS[1:4], *NUMBER_WORDS)), _age, 0.93, rank=60),
    Rule(
        "age.old",
        frozenset(DIGITS[1:4]),
        pattern(
            rf"(?i)(?P<whole>{_EN_OLD})(?![a-z])",
            check=lambda match: int(match["number"]) <= 120,
            number=Kind.AGE,
            whole=Kind.AGE_UNIT,
        ),
        0.97,
        rank=70,
        strong=True,
    ),
    Rule(
        "age.enne",
        frozenset(DIGITS[1:4]),
        pattern(
            r"(?<![0-9.,/\-])(?P<whole>(?P<number>[1-9][0-9]{0,2})[ \-']?enn[ei])(?![a-z])",
            number=Kind.AGE,
            whole=Kind.AGE_UNIT,
        ),
        0.95,
        rank=70,
        strong=True,
    ),
    Rule(
        "age.enne.words",
        frozenset(
            f"{ten}{unit}enne"
            for ten in ("vent", "trent", "quarant", "cinquant", "sessant", "settant", "ottant", "novant")
            for unit in (
                "",
                "un",
                "une",
                "adu",
                "due",
                "atre",
                "tre",
                "aquattro",
                "quattro",
                "acinqu",
                "cinqu",
                "asei",
                "sei",
                "asett",
                "sett",
                "ott",
                "anov",
                "nov",
            )
        ),
        lambda text, start, end: ((start, end, Kind.AGE), (start, end, Kind.AGE_UNIT)),
        0.9,
        rank=60,
    ),
    Rule(
        "age.sex",
        frozenset({DIGITS[2]}),
        pattern(
            r"(?<![0-9.,/\-A-Za-z])(?P<whole>(?P<number>[1-9][0-9])[ ]?(?:yo[ ]?)?[MF])(?=[ ,.]|[ ]here)(?![.][0-9])",
            number=Kind.AGE,
            whole=Kind.AGE_UNIT,
        ),
        0.85,
        rank=55,
        languages=frozenset({"en"}),
    ),
    Rule(
        "age.short",
        frozenset(DIGITS[1:3]),
        pattern(
            r"(?<![0-9.,/\-])(?P<whole>(?P<number>[1-9][0-9]?)[ ]?(?:aa|a\.))(?=[ ,;)]*(?:$|[\n,;)]|ric|con|che|qu|acc))",
            number=Kind.AGE,
            whole=Kind.AGE_UNIT,
            flags=re.MULTILINE,
        ),
        0.8,
        rank=50,
    ),
    Rule(
        "age.persons",
        words("gemelos gemelas twins gemelli gemelle"),
        pattern(r"(?i)\w+[ ]\((?P<number>[0-9]{1,2})\)", number=Kind.AGE),
        0.8,
        rank=50,
    ),
)

"""Streets with number, floor and door."""

import re
from collections.abc import Iterator
from typing import Final

from models_runtime.backends.rules.gazetteers import word_set
from models_runtime.backends.rules.kinds import Kind
from models_runtime.backends.rules.reading import APOSTROPHE, LETTER, UP, before
from models_runtime.backends.rules.rule import DIGITS, Finder, Found, Rule, pattern, words

_SMALL: Final = r"(?i:de|del|la|las|los|el|l|d|dels|dei|degli|delle|della|dello|di|da|do|dos|das|du|y|i|e|al|a|san|sant|santa|fra|the|of)"
_STEP: Final = re.compile(
    rf"[ \xa0]{{0,2}}(?:{_SMALL}(?:[ \xa0]|[{APOSTROPHE}][ ]?)){{0,4}}+[\"“]?"
    rf"(?P<word>(?:[{UP}]{LETTER}*+(?:[{APOSTROPHE}\-·]{LETTER}++)*+|[0-9]{{1,2}}(?=[ ]de[ ][{UP}{LETTER}]))[\"”]?(?P<dot>\.?))"
)
_SHORT: Final = frozenset(
    "dr dra sta sto st ntra nra sra gral fco pª mª prof pte pdte cap arz ing s n g. fr v p j m a".split()
)
_NUMBER: Final = re.compile(
    r"[ \xa0]?[,.\-–]?[ \xa0]{0,2}(?:(?:n[ºo°]?\.?|nº|núm\.?|num\.?|numero|número|no\.?|civ\.?)[ ]?)?"
    r"(?:[0-9]{1,4}(?:[ ]?[\-–/y][ ]?[0-9]{1,4})?+(?![0-9]|[.,][0-9]{3})(?:[ ]?bis|[ ]?ter|/?[A-Za-z](?![A-Za-zà-ÿ./:]))?|s[/. ]?n[.º°]?(?![a-z])|(?:km|kil[oó]metro)\.?[ ]?[0-9]{1,4}(?:[.,][0-9]{1,3})?)",
    re.IGNORECASE,
)
_DETAIL: Final = re.compile(
    r"[ \xa0]?[,.;\-–]?[ \xa0]{0,2}(?:"
    r"[0-9]{1,2}[ ]?(?:\.?[ºª°o]|\.a|er)\.?(?:[ ,\-]{0,3}(?:dcha|dch|izq|izda|iz|[A-Z](?![A-Za-zà-ÿ/]|-[0-9]{4})|[0-9]{1,2}[ºª°]))?\.?(?![A-Za-zà-ÿ])"
    r"|(?:piso|planta|pl|esc|escalera|bloque|blq|bl|bq|pta|puerta|portal|port|apto|apt|int|interno|scala|suite|ste|unit|flat|edificio|local|letra|dpto|despacho|of)\.?[ ]?(?:[0-9]{1,4}[ºª°]?|[A-Z](?![a-z]))[A-Z]?(?![A-Za-zà-ÿ])"
    r"|(?:bajo|ático|atico|entlo|entresuelo|principal|ppal|dcha|dch|derecha|izq|izda|izquierda|km\.?[ ]?[0-9]{1,4}(?:[.,][0-9]{1,3})?|s/n)\.?(?![a-zà-ÿ])"
    r"|(?<=[,.\- ])(?:[0-9]{1,3}(?:[ ]?[\-,][ ]?[0-9]{1,2})?[ ]?[A-Ha-h]?)(?![0-9A-Za-zà-ÿº°/:%]|[.,][0-9])"
    r"|(?<=[,\- 0-9])(?:[A-L](?![A-Za-zà-ÿ/0-9]|[ ]?-[ ]?[0-9]{4,5}|\.[A-Z])|P[0-9](?![0-9]))"
    r")",
    re.IGNORECASE,
)


def read_street(text: str, at: int) -> tuple[int, bool]:
    """Where the street whose type ends at `at` ends, and whether it has a number; `at` if there is no name."""
    stops = word_set("not_names") - _ALLOWED
    end = at
    for _ in range(7):
        step = _STEP.match(text, end)
        if step is None or (end > at and not text[end : end + 1].isspace() and text[end - 1] != "."):
            break
        word = step["word"].rstrip('."”').lower()
        if word in stops:
            break
        if step["dot"] and (word in _SHORT or len(word) == 1):
            end = step.end()
            continue
        end = step.end() - len(step["dot"])
        if step["dot"]:
            break
    if end == at:
        return at, False
    number = _NUMBER.match(text, end)
    if number is None:
        return end, False
    end = number.end()
    for _ in range(4):
        detail = _DETAIL.match(text, end)
        if detail is None or detail.end() == end:
            break
        end = detail.end()
    return end, True


_ALLOWED: Final = frozenset(
    "hospital doctor doctora universidad parque médico medico colegio instituto centro italia españa provincia residencia plaza vía camino marzo mayo enero corso roma la los el las de del y san al di".split()
)


def _typed(marks: str, *, number: bool) -> Finder:
    """A street type, then its name; a type that is a common word too needs a capital or a number."""
    mark = re.compile(marks)

    def find(text: str, start: int, end: int) -> Iterator[Found]:
        match = mark.match(text, end)
        at = match.end() if match else end
        stop, numbered = read_street(text, at)
        if stop > at and (numbered or (text[start].isupper() and not number and text[start:end] != "AV")):
            yield start, stop, Kind.STREET

    return find


_SLASH: Final = re.compile(r"(?i)(?<![a-z0-9])c[ ]?[/\\\\]\.?[ ]?")
_SHORT_ITALIAN: Final = re.compile(r"(?<![A-Za-z])(?:[Pp]\.(?:za|zza|le)|[Vv]\.le|[Cc]\.so|[Ll]\.go)[ ]")


def _slash(text: str, start: int, end: int) -> Iterator[Found]:
    """`C/ Mayor 3`, and `c/ Mayor`: a name must follow, so that `5 mg c/8h` and `c/o` are none."""
    return _marked(_SLASH, text, start)


def _short_italian(text: str, start: int, end: int) -> Iterator[Found]:
    return _marked(_SHORT_ITALIAN, text, start)


def _marked(mark: re.Pattern[str], text: str, start: int) -> Iterator[Found]:
    match = mark.match(text, start)
    if match is not None:
        stop, _ = read_street(text, match.end())
        if stop > match.end():
            yield start, stop, Kind.STREET


_STREET_EN: Final = re.compile(
    rf"(?<![0-9.,/\-])(?P<street>[0-9]{{1,5}}[A-Z]?[ ](?:[NSEW]\.?[ ]|North[ ]|South[ ]|East[ ]|West[ ])?(?:[{UP}0-9][A-Za-z0-9.'’\-]{{0,20}}[ ]){{1,3}}"
    r"(?:Street|St|Avenue|Ave|Road|Rd|Lane|Ln|Drive|Dr|Boulevard|Blvd|Court|Ct|Way|Place|Pl|Terrace|Circle|Cir|Highway|Hwy|Parkway|Pkwy|Square|Sq|Close|Crescent|Row|Trail)\b\.?"
    r"(?:,?[ ](?:Apt|Apartment|Suite|Ste|Unit|Flat|Floor|Fl|Room|Rm|#)\.?[ ]?[0-9A-Z]{1,5}\b)?)"
)


def _english(text: str, start: int, end: int) -> Iterator[Found]:
    match = _STREET_EN.match(text, start)
    if match is not None:
        yield match.start(), match.end(), Kind.STREET


_FIELD_STOP: Final = re.compile(
    r"[ ]{2,}|\t|[ ,.\-–(]{1,3}(?:CP[ :.]{1,2})?[0-9]{5}(?![0-9])|(?:Localidad|Provincia|Municipio|Tel|Tfno|Teléfono|CP|C\.P|Nato|Nata|Codice|Comune)\b|\n|\r"
)


def _field(text: str, start: int, end: int) -> Iterator[Found]:
    """The value of an address field: the street if it can be told from what follows it, else the whole line."""
    colon = _COLON.match(text, end)
    if colon is None:
        return
    at = colon.end()
    stop = min(len(text), at + 120)
    cut = _FIELD_STOP.search(text, at, stop)
    stop = cut.start() if cut else stop
    while stop > at and text[stop - 1] in " .,;-–\t":
        stop -= 1
    if stop == at:
        return
    kind = _TYPE.match(text, at)
    if kind is not None:
        end_street, numbered = read_street(text, kind.end())
        if numbered and end_street < stop and re.match(rf"[ ]?[,(][ ]?[{UP}]", text[end_street : end_street + 4]):
            stop = end_street
    yield at, stop, Kind.STREET


_COLON: Final = re.compile(r"(?: \(?[a-zà-ÿ]{2,12}\)?)?[ ]?:[ \t]{0,6}")
_TYPES: Final = (
    "calle avda avd avenida avinguda avgda av plaza plaça pza pl plza paseo passeig psº pº pso ctra carretera camino camí ronda travesía travessera trav "
    "urbanización urb carrer rúa rua glorieta alameda pasaje polígono pol cuesta bulevar rambla cuesta callejón bº costanilla prolongación barriada "
    "via viale piazza piazzale corso largo vicolo strada contrada lungomare salita borgo "
)
_TYPE: Final = re.compile(
    rf"(?i)(?:c[ ]?[/\\]\.?|(?:{'|'.join(sorted(_TYPES.split(), key=len, reverse=True))})\b\.?|p\.za|v\.le|c\.so|p\.le)[ ]{{0,2}}"
)
_UNTYPED: Final = re.compile(
    rf"(?P<street>(?:[{UP}]{LETTER}*+\.?(?:[{APOSTROPHE}\-]{LETTER}++)*+[ ](?:(?:de|del|la|los|las|y|i)[ ]){{0,2}}){{0,4}}[{UP}]{LETTER}++(?:[{APOSTROPHE}\-]{LETTER}++)*+"
    r"(?:,?[ ](?:n[ºo°.]{1,2}[ ]?)?[0-9]{1,3}(?:[\-/][0-9]{1,3})?(?:[, ]{1,2}[0-9]{1,2}[ºª°]?[ ]?[A-H]?)?|,?[ ]s/n))[ .,\-–]{1,4}(?:E-|C\.?P\.?[ :]{0,2})?\Z"
)


def _before_zip(text: str, start: int, end: int) -> Iterator[Found]:
    """A street without its type, right before a postal code: "Cartagena, 340-350 - 08025 Barcelona"."""
    low = max(0, start - 90)
    piece = text[low:start]
    cut = max(piece.rfind("\n"), piece.rfind(". "), piece.rfind(": ")) + 1
    if len(piece) - cut < 5:
        cut = max(piece.rfind("\n"), piece.rfind(": ")) + 1
    if not _AFTER_ZIP.match(text, start):
        return
    for match in re.finditer(rf"(?<![\w.])[{UP}]", piece[cut:]):
        found = _UNTYPED.match(piece, cut + match.start())
        if found is not None:
            words_ = {word.strip(".,").lower() for word in found["street"].split()}
            if not words_ & (word_set("not_names") - _ALLOWED):
                yield low + found.start("street"), low + found.end("street"), Kind.STREET
                return


def _number_before_zip(text: str, start: int, end: int) -> Iterator[Found]:
    """The house number right before a postal code, where the street's name went into the name of a hospital."""
    if not _AFTER_ZIP.match(text, start):
        return
    low = max(0, start - 24)
    found = _LAST_NUMBER.search(text, low, start)
    if found is not None and found.end() == start:
        yield found.start("number"), found.end("number"), Kind.STREET


_LAST_NUMBER: Final = re.compile(
    r"(?<=[A-Za-zà-ÿ,] )(?P<number>[0-9]{1,3}(?:-[0-9]{1,3})?|s/n)[ .,\-–]{1,4}(?:E-)?(?=[0-9]{5})"
)
_AFTER_ZIP: Final = re.compile(rf"[0-9]{{5}}(?![0-9])[ .,\-–(]{{1,3}}[{UP}]{LETTER}")
_SPANISH: Final = (
    "avda avd avenida avinguda avgda av plaza plaça pza plza paseo passeig psº pº pso ctra carretera camino camí ronda travesía travessera "
    "urbanización urb carrer rúa rua glorieta alameda pasaje polígono bulevar rambla callejón calle prolongación barriada"
)

RULES: Final = (
    Rule(
        "street.field",
        words("domicilio dirección direccion residente indirizzo address residenza"),
        _field,
        0.97,
        rank=66,
        strong=True,
    ),
    Rule("street.c", words("c"), _slash, 0.96, rank=77, strong=True),
    Rule("street.it.short", words("p v c l"), _short_italian, 0.9, rank=77, strong=True),
    Rule("street.es", words(_SPANISH), _typed(r"\.?[ ]?", number=False), 0.95, rank=77, strong=True),
    Rule(
        "street.it",
        words("via viale piazza piazzale corso largo vicolo strada contrada lungomare salita"),
        _typed(r"\.?[ ]?", number=True),
        0.93,
        rank=77,
        strong=True,
    ),
    Rule("street.en", frozenset(DIGITS[1:6]), _english, 0.93, rank=77, strong=True),
    Rule(
        "street.box",
        words("apartado apdo"),
        pattern(
            r"(?i)(?P<street>(?:apartado|apdo\.?)(?:[ ](?:de[ ])?correos)?[ ,]{1,2}(?:n[ºo°.]{1,2}[ ]?)?[0-9]{1,6})(?![0-9])",
            street=Kind.STREET,
        ),
        0.95,
        rank=77,
        strong=True,
    ),
    Rule("street.number", frozenset({DIGITS[5]}), _number_before_zip, 0.9, rank=29),
    Rule("street.untyped", frozenset({DIGITS[5]}), _before_zip, 0.85, rank=52),
)

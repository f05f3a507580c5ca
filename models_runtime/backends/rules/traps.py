"""What looks personal and isn't: eponyms, doses, pressures, laboratory values, scores. Weak rules keep off these stretches."""

import re
from collections.abc import Iterator
from typing import Final

from models_runtime.backends.rules.gazetteers import word_set
from models_runtime.backends.rules.kinds import Kind
from models_runtime.backends.rules.reading import LETTER, UP
from models_runtime.backends.rules.rule import DIGITS, Found, Rule, pattern, words

_HEADS: Final = (
    "síndrome sindrome síndromes enfermedad morbo malattia mal tiroidite tiroiditis test prueba signo segno sign escala scala scale score índice indice index clasificación classificazione criterios criteri método metodo técnica tecnica "
    "maniobra manovra reflejo riflesso líneas linee cuerpos corpi células cellule anemia linfoma sarcoma tumor tumore carcinoma esófago esofago enfermedades fenómeno fenomeno cirrosis temblor parálisis paralisi vasculitis arteritis "
    "contractura fractura frattura hernia ernia operación intervento procedimiento puntos sonda catetere catéter trócar pinza virus gripe fiebre febbre bacilo tinción colorazione colorante bloqueo vena válvula injerto aguja espacio canal "
    "triada tríada ley fórmula formula ecuación escisión incisión incisione punto triángulo trígono glándulas glándula trompa trompas membrana divertículo quiste cisti nódulo nódulos nodulo clasificacion estadio stadio pénfigo "
    "distrofia ataxia corea esclerosis miopatía gangrena úlcera ulcera agujero foramen ligamento polígono poligono cuerda ganglio conducto dotto fascia linfonodo bazo cicatriz melanosis granuloma liquen nevo nevus mancha manchas mesa "
    "tabla curva aparato gen mutación anticuerpos proteinuria protocolo consenso declaración guía guías diagnóstico terapia dieta cociente principio rojo azul verde férula placa"
)
_HEADED: Final = re.compile(
    rf"[ ](?:(?:de|del|di|d['’]|von|van|of|la|las|los|tipo|positivo|negativo|lupus|modificada|de la)[ ]?){{0,3}}+(?P<name>[{UP}]{LETTER}+(?:['’]s)?(?:(?:[ ]?[\-–/]|[ ](?:y|e|and|&|de|von|van|i)[ ]|[ ])[{UP}]{LETTER}+){{0,4}})"
)


def _headed(text: str, start: int, end: int) -> Iterator[Found]:
    match = _HEADED.match(text, end)
    if match is not None:
        yield match.start("name"), match.end("name"), Kind.TRAP


_TAILS: Final = "disease syndrome sign test score scale classification reflex maneuver criteria index catheter cells bodies lymphoma palsy contracture thyroiditis anomaly fracture hernia procedure ulcer tumor rule tube drain phenomenon disorder esophagus stain"
_TAILED: Final = re.compile(rf"(?P<name>[{UP}]{LETTER}+(?:[\-–][{UP}]{LETTER}+)*(?:['’]s)?)[ ]\Z")


def _tailed(text: str, start: int, end: int) -> Iterator[Found]:
    low = max(0, start - 40)
    match = _TAILED.search(text[low:start])
    if match is not None:
        yield low + match.start("name"), low + match.end("name"), Kind.TRAP


def _eponym(text: str, start: int, end: int) -> Iterator[Found]:
    if text[start].isupper():
        yield start, end, Kind.TRAP


RULES: Final = (
    Rule("trap.eponym.head", words(_HEADS), _headed, 1.0),
    Rule("trap.eponym.tail", words(_TAILS), _tailed, 1.0),
    Rule("trap.eponym.word", word_set("eponyms"), _eponym, 1.0),
    Rule(
        "trap.pressure",
        words("pa ta bp pas pad"),
        pattern(
            r"(?i)(?:pa|ta|bp|pas|pad)[ :.=]{0,3}(?:[a-zà-ÿ]{2,10}[ ]){0,2}(?P<value>[0-9]{2,3}/[0-9]{2,3})",
            value=Kind.TRAP,
        ),
        1.0,
    ),
    Rule(
        "trap.measure",
        frozenset(DIGITS[1:5]),
        pattern(
            r"(?<![0-9\-/.,])(?P<value>[0-9]{1,4}(?:[.,][0-9]+)?(?:[/\-][0-9]{1,3})?)[ ]?(?:mg|mcg|µg|g|gr|kg|ml|cc|l|cm|mm|mmHg|UI|U|IU|mEq|mmol|meq|%|bpm|lpm|rpm|cm3|mm3|x|dl|ng|pg|Gy|kcal)(?![A-Za-zà-ÿ])",
            value=Kind.TRAP,
        ),
        1.0,
    ),
)

"""Word lists by which the matcher tells names from other words. All are folded (domain.knowing.folding)."""

from functools import cache
from pathlib import Path
from typing import Final

_DATA: Final = Path(__file__).with_name("data")


@cache
def common_words() -> frozenset[str]:
    """Words of everyday and clinical language in English, Spanish and Italian."""
    return _words("common.txt")


@cache
def usual_names() -> frozenset[str]:
    """Usual given names and surnames. A usual name that resembles a patient's is probably another person's."""
    return _words("names.txt")


def ordinary(word: str) -> bool:
    """Whether a folded word is a common one, or another form of one: "weeks", "campos", "rossa"."""
    common = common_words()
    if word in common or (len(word) > 4 and word[-1] == "s" and (word[:-1] in common or word[:-2] in common)):
        return True
    return len(word) > 4 and word[-1] in "aeio" and any(word[:-1] + vowel in common for vowel in "aeio")


def _words(file: str) -> frozenset[str]:
    lines = (_DATA / file).read_text(encoding="utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Words inside names that are no names by themselves.
PARTICLES: Final = _set(
    "de del della dello delle dei degli di da dal dalla dos das do du la las los lo le el van von der den ter ten "
    "i y e bin ibn al d l o mc mac san santa st"
)
# Titles and words for a patient, before a name.
CUES: Final = _set(
    "ra na rina mr mrs ms miss mister dr doctor sr sra srta senor senora senorita don dona d sig signor signora "
    "signore signorina patient pt paciente pac paziente pz name nombre apellidos nome cognome surname lastname "
    "firstname hijo hija madre padre esposa esposo wife husband mother father son daughter moglie marito figlio "
    "figlia fratello sorella hermano hermana brother sister caro cara dear querida querido llamado llamada named"
)
# Words that English writes with a capital letter, whoever is meant.
ALWAYS_CAPITAL: Final = _set(
    "january february march april may june july august september october november december monday tuesday wednesday "
    "thursday friday saturday sunday"
)
# Words around a surname that make it the name of a disease, test or device.
EPONYM_HEADS: Final = _set(
    "sindrome sindromes syndrome enfermedad morbo malattia mal test prueba signo segno sign escala scala scale score "
    "indice index clasificacion classificazione criterios criteri maniobra manovra reflejo riflesso celulas cellule "
    "linfoma sarcoma tumor tumore anemia fenomeno paralisis paralisi contractura fractura frattura hernia ernia "
    "sonda cateter catetere tiroiditis tiroidite operacion operazione tecnica tecnica metodo"
)
EPONYM_TAILS: Final = _set(
    "disease syndrome sign test score scale classification reflex maneuver criteria index catheter cells bodies "
    "lymphoma palsy contracture thyroiditis fracture hernia procedure tumor phenomenon disorder esophagus lobe"
)
# Words before a number that make it an identifier.
NUMBER_CUES: Final = _set(
    "id mrn nhc nass cip cipa dni nie nif ssn record number no n num numero nr nro historia cartella codice code "
    "expediente poliza policy plan polizza tessera episodio"
)
# Street types with their abbreviations. Some abbreviations stand for several.
_STREET_TYPES: Final = {
    "street": "street st str streets",
    "avenue": "avenue ave av avenida avda avd avgda avinguda",
    "road": "road rd",
    "drive": "drive dr drv",
    "lane": "lane ln",
    "boulevard": "boulevard blvd bulevar",
    "court": "court ct",
    "place": "place pl",
    "terrace": "terrace ter terr",
    "circle": "circle cir",
    "highway": "highway hwy",
    "parkway": "parkway pkwy",
    "square": "square sq plaza pza plza placa",
    "calle": "calle c cl cll carrer",
    "paseo": "paseo pso po p passeig",
    "carretera": "carretera ctra crta ctera",
    "camino": "camino cno cmno cami",
    "ronda": "ronda rda",
    "glorieta": "glorieta gta",
    "pasaje": "pasaje pje psje",
    "travesia": "travesia trva tr",
    "way": "way wy",
    "trail": "trail trl",
    "urbanizacion": "urbanizacion urb",
    "cuesta": "cuesta cta",
    "alameda": "alameda",
    "rambla": "rambla rbla",
    "acceso": "acceso",
    "callejon": "callejon cjon",
    "canada": "canada",
    "pasadizo": "pasadizo",
    "vial": "vial",
    "via": "via v",
    "viale": "viale vle",
    "piazza": "piazza p pza pzza",
    "piazzale": "piazzale ple pzle",
    "corso": "corso cso",
    "largo": "largo lgo",
    "vicolo": "vicolo vlo vco vic",
    "strada": "strada str",
    "contrada": "contrada cda",
    "rotonda": "rotonda",
    "borgo": "borgo bgo",
    "incrocio": "incrocio",
    "stretto": "stretto",
    "canale": "canale",
    "lungomare": "lungomare",
    "salita": "salita",
}
STREET_TYPES: Final = {
    abbreviation: frozenset(kind for kind, words in _STREET_TYPES.items() if abbreviation in words.split())
    for listed in _STREET_TYPES.values()
    for abbreviation in listed.split()
}
# Words of an address around its numbers.
ADDRESS_WORDS: Final = _set(
    "n no num numero nr nro int interno scala sc piano piso apt apartment apto apartamento suite ste unit puerta pta "
    "esc escalera bajo bj izq izquierda dcha derecha planta portal bloque appartamento floor fl km"
)

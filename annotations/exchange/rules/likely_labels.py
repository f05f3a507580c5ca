"""The labels that an unknown label of a file probably means: by usual names of an identifier, then by spelling."""

import re
import unicodedata
from collections.abc import Mapping
from typing import Final

from rapidfuzz import fuzz, process

SHOWN: Final = 3
# Below this likeness (0 to 100) two names differ by more than a slip of the pen.
ALIKE: Final = 80
# From this likeness on, only what is written so is meant.
THE_SAME: Final = 90

# Words that label sets use for one kind of identifier, in English, Spanish and Italian, a kind on each line. A word may
# belong to several kinds: a doctor is a person, too.
_USUAL: Final = """
person per pers patient paziente paciente nombre nome name names doctor physician medico personal staff relative
doctor physician medico sanitario personal staff clinician hcp professional provider
user username login
date dates data fecha fechas datum time day
age ages eta edad
location loc gpe lugar luogo place geo geographic territorio city town state country street zip
city town ciudad citta comune municipality
street address addr calle via indirizzo direccion
zip cap postcode postal zipcode
state region provincia province county
country pais paese nation
hospital clinic ospedale clinica centro ward
organization organisation org organizzazione institucion institution company employer hospital
phone telephone tel telefono mobile cell movil fax
fax telefax
email mail correo
url web website link
ip ipaddress
id idnum identifier number num numero code
record mrn medicalrecord record historia cartella
ssn social nif dni
insurance healthplan plan aseguramiento
account iban conto cuenta
license licence titulacion patente
vehicle plate targa matricula
device serial
profession job occupation professione profesion
sex gender sexo sesso
family familiares relative parente
"""
_KINDS_OF: Final[dict[str, set[int]]] = {}
for _number, _line in enumerate(_USUAL.strip().splitlines()):
    for _word in _line.split():
        _KINDS_OF.setdefault(_word, set()).add(_number)


def likely_labels(name: str, labels: Mapping[str, str]) -> list[str]:
    """The codes that `name` probably means, the best first. `labels` maps codes and names of labels to codes.

    Only whole words count: PER is a person, and no part of another word.
    """
    wanted = _plain(name)
    kinds = _kinds(wanted)
    ranked: list[tuple[int, int, str]] = []
    for known, code in labels.items():
        if shared := kinds & (found := _kinds(_plain(known))):
            ranked.append((-len(shared), len(found | kinds), code))
    spelled = process.extract(
        wanted, {known: _plain(known) for known in labels}, scorer=fuzz.ratio, score_cutoff=ALIKE, limit=None
    )
    if same := [labels[known] for _text, score, known in spelled if score >= THE_SAME]:
        return list(dict.fromkeys(same))[:SHOWN]
    codes = [code for _shared, _all, code in sorted(ranked, key=lambda one: one[:2])]
    return list(dict.fromkeys([*codes, *(labels[known] for _text, _score, known in spelled)]))[:SHOWN]


def _kinds(plain: str) -> set[int]:
    """The kinds of identifiers that the words of a name stand for."""
    forms = (form for word in plain.split() for form in (word, word.removesuffix("s")))
    return {kind for form in forms for kind in _KINDS_OF.get(form, ())}


def _plain(name: str) -> str:
    """The words of a name in lower case, without accents."""
    bare = "".join(one for one in unicodedata.normalize("NFKD", name) if not unicodedata.combining(one))
    return re.sub(r"[\W_]+", " ", bare).casefold().strip()

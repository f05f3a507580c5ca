"""Words in the place of a name that are none: states of patients, illnesses, offices and services."""

import re
from typing import Final

from models_runtime.backends.rules.gazetteers import GIVEN_NAMES, listed, word_set
from models_runtime.backends.rules.phrases import SMALL_LETTER

ALL_GIVEN: Final[frozenset[str]] = frozenset().union(*(word_set(name) for name in GIVEN_NAMES.values()))
GIVEN_OR_SURNAMES: Final = ALL_GIVEN | word_set("surnames")
# "Dr. Avvisato." and "Dr. Avisado por busca"
_NO_NAME_AFTER: Final = re.compile(rf"[ ]*(?:[.,;:)\n]|\Z)|[ ]{SMALL_LETTER}")
# Adjectives for illnesses, by endings that surnames hardly have: "Pz. Emodializzato.", "Pt. Diabetic."
_CONDITION: Final = re.compile(
    r"\w{4,}(?:izzat|izad)[oaie]|"
    r"\w*(?:(?:patic|plegic|paretic|fasic|fagic|betic|bétic|cemic|oemic|émic|tensiv|pnoic|pneic|nuric|liguric|"
    r"fumator|tónic|sfigmic|ritmic|cianotic|anemic|depress|ipertes|ipotes|hipertens|hipotens)[oaie]|"
    r"(?:betic|anemic|uremic|glycemic|ischemic|volemic|oxic|septic|phasic|rhythmic|cyanotic|tensive|plegic|paretic|icteric|"
    r"pneic|verbal))"
)
_NO_CONTACTS: Final = frozenset(
    listed("services", "general_en", "general_es", "general_it", "sentence_starts", "no_towns")
)


def is_service(name: str) -> bool:
    """Whether somebody who is named is an office or a service, or no name at all: `Emergency Services`."""
    parts = name.lower().split()
    return parts[0] not in ALL_GIVEN and not _NO_CONTACTS.isdisjoint(parts)


def is_status(text: str, start: int, end: int) -> bool:
    """Whether the "name" after a title, a field or a relation is a single word that tells a state: `Dr. Avvisato.`"""
    word = text[start:end].lower()
    return word in listed("statuses") and _NO_NAME_AFTER.match(text, end) is not None


def is_condition(text: str, gap: str, start: int, end: int) -> bool:
    """Whether the "name" of a patient or relative tells a state or an illness: `Pz. Iperteso.`

    `gap`: the text before the name. After a title in it ("Pz. Sig. Depresso"), the word is a name.
    """
    if is_status(text, start, end):
        return True
    word = text[start:end].lower()
    if word in GIVEN_OR_SURNAMES or any(ch.isalpha() for ch in gap):
        return False
    told = word in listed("patient_states") or _CONDITION.fullmatch(word) is not None
    return told and _NO_NAME_AFTER.match(text, end) is not None

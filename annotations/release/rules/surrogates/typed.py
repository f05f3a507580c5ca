"""Read a surrogate that a person, or a language model, wrote in full: its parts, as the rules make them."""

import re
from typing import Final

from annotations.release.rules.redaction.kinds import IdentifierType
from annotations.release.rules.surrogates.clustering import PEOPLE
from annotations.release.rules.surrogates.deciding import person_of
from annotations.release.rules.surrogates.people import FAMILY, GIVEN, read_person
from annotations.release.rules.surrogates.pipeline import Cluster
from annotations.release.rules.surrogates.scrambling import compact
from annotations.release.rules.surrogates.templates import slots
from annotations.release.rules.surrogates.writing import TEMPLATES, part_name

_ADDRESS: Final = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s.]+")
_FREE: Final = frozenset(
    {
        IdentifierType.SEX,
        IdentifierType.FAMILY,
        IdentifierType.ETHNICITY,
        IdentifierType.OTHER,
        IdentifierType.URL,
        IdentifierType.USERNAME,
    }
)


def parts_of(cluster: Cluster, text: str) -> dict[str, str] | None:
    """The parts of a surrogate for an entity; None where the text can't replace what the notes say.

    A person needs a given name and a surname. Places and institutions need as many replaceable words as the longest
    original. A number needs as many letters and digits, digits where the original has digits.
    """
    text = " ".join(text.split())
    if not text or not cluster.mentions:
        return None
    if cluster.kind in PEOPLE:
        return _person(cluster, text)
    form = cluster.forms[0]
    if cluster.kind in TEMPLATES:
        return _template(cluster, form, text)
    if cluster.kind == IdentifierType.EMAIL:
        return {"value": text} if _ADDRESS.fullmatch(text) else None
    if cluster.kind in _FREE:
        return {"value": text}
    return {"value": text} if _shape(form) == _shape(text) else None


def _shape(text: str) -> str:
    return re.sub(r"[^\W\d_]", "a", re.sub(r"\d", "0", compact(text)))


def _person(cluster: Cluster, text: str) -> dict[str, str] | None:
    if any(letter.isdigit() for letter in text):
        return None
    name = read_person(text, cluster.language)
    parts = {part_name(part.role, part.index): part.text for part in name.parts if part.role in (GIVEN, FAMILY)}
    if not {part_name(GIVEN, 0), part_name(FAMILY, 0)} <= set(parts):
        return None
    gender = name.gender or person_of(cluster).gender
    return parts | ({"gender": gender} if gender else {})


def _template(cluster: Cluster, form: str, text: str) -> dict[str, str] | None:
    ours = slots(form, cluster.kind, cluster.language)
    theirs = slots(text, cluster.kind, cluster.language)
    if not ours:
        return {"value": text}
    if len(ours) != len(theirs):
        return None
    return {f"s{at}": slot.text for at, slot in enumerate(theirs)} | {"value": text}

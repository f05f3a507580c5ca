"""The parts of a MEDDOCAN note: header fields, the narrative, and the lines on who referred the patient.

The header is the block at the top in which every line is empty, the title of a block (`Datos ...`) or a field of the
patient's or the visit's data (`Nombre: ...`); it ends before the first other line. The referral is the last line that
opens as one (`Remitido por: ...`), and all after it. What lies between is the narrative, whatever titles it has.
"""

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from annotations.domain.spans import Span


class Region(StrEnum):
    HEADER = "header fields"
    NARRATIVE = "narrative"
    REFERRAL = "referral line"


_HEADER: Final = re.compile(
    r"\ufeff?\s*(?:$|Datos\b|(?:Nombre|Apellidos?|NHC|NASS|CIPA|Domicilio|Direcci[óo]n|Localidad|Provincia|C\.?P|Fecha"
    r"|Pa[íi]s|Edad|Sexo|G[ée]nero|M[ée]dico|N[ºo°]\s?Col|Episodio|Especialidad|Servicio|Centro|Tel[ée]fono)\b[^:.]{0,40}[:.])",
    re.IGNORECASE,
)
_REFERRAL: Final = re.compile(r"\s*(?:Remitid[oa] por|Responsable cl[íi]nico|Correspondencia)", re.IGNORECASE)


def regions(text: str) -> dict[Region, tuple[int, int]]:
    """Where each begins and ends, in code points, end-exclusive; one that a note lacks is empty."""
    begin, end, at = 0, len(text), 0
    for line in text.split("\n"):
        after = min(at + len(line) + 1, len(text))
        if begin == at and _HEADER.match(line):
            begin = after
        if _REFERRAL.match(line):
            end = at
        at = after
    end = max(begin, end)
    return {Region.HEADER: (0, begin), Region.NARRATIVE: (begin, end), Region.REFERRAL: (end, len(text))}


def inside(spans: Sequence[Span], place: tuple[int, int]) -> list[Span]:
    """The spans that begin there."""
    return [span for span in spans if place[0] <= span.start < place[1]]

"""The parts of a MEDDOCAN note: header fields, the narrative, and the lines on who referred the patient."""

from collections.abc import Sequence
from enum import StrEnum

from annotations.domain.spans import Span


class Region(StrEnum):
    HEADER = "header fields"
    NARRATIVE = "narrative"
    REFERRAL = "referral line"


_NARRATIVE = "Informe clínico"
_REFERRAL = ("Remitido por", "Responsable clínico", "Correspondencia")


def regions(text: str) -> dict[Region, tuple[int, int]]:
    """Where each begins and ends, in code points, end-exclusive. Without its opening words a region is empty.

    A referral is the last line that opens as one, and all after it.
    """
    begin, end, at = 0, len(text), 0
    for line in text.split("\n"):
        opening = line.strip()
        if not begin and opening.startswith(_NARRATIVE):
            begin = at
        if opening.startswith(_REFERRAL):
            end = at
        at += len(line) + 1
    end = max(begin, end)
    return {Region.HEADER: (0, begin), Region.NARRATIVE: (begin, end), Region.REFERRAL: (end, len(text))}


def inside(spans: Sequence[Span], place: tuple[int, int]) -> list[Span]:
    """The spans that begin there."""
    return [span for span in spans if place[0] <= span.start < place[1]]

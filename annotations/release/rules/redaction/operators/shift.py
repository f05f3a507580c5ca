"""Shift: the date moves by the patient's secret offset, in its own format. Whatever is no date is masked."""

from annotations.release.rules.redaction.dates import shifted
from annotations.release.rules.redaction.operators.base import InNote
from annotations.release.rules.redaction.released import Mention


def shift(mention: Mention, note: InNote) -> str | None:
    return shifted(
        mention.text, note.replacing.days, note.language, note.year_near(mention), note.replacing.month_first
    )

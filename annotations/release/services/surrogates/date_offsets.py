"""The secret offset of a patient's dates."""

from annotations.core.sealing import Key
from annotations.release.rules.redaction.date_offsets import offset_of


def date_offset(key: Key, patient: str, note: int) -> int:
    """The secret number of days by which a patient's dates move, and the birth dates in the patient's codes.

    It is the same in all notes and releases, so that intervals are kept. A note without a patient has its own.
    """
    about = ("patient", patient) if patient else ("note", str(note))
    return offset_of(key.number("date offset", *about))

"""The mentions that get surrogates, by patient, with what stands around them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from annotations.core.sealing import Key
from annotations.release.rules.redaction.released import Mention
from annotations.release.rules.surrogates.pipeline import Mentioned
from annotations.release.selectors.surrogates import (
    private_scope,
)
from annotations.release.services.surrogates.date_offsets import date_offset
from annotations.release.services.surrogates.makers import PatientMentions

CONTEXT: Final = 40
"""Characters before and after a mention."""


Where = tuple[int, int, int]
"""A mention in the database: the id of the note, start and end in code points."""


class Place(NamedTuple):
    """Where a mention is: the id of the note, start and end in code points."""

    document: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class NoteMentions:
    """A note with the mentions that get surrogates. `patient` is empty where the note has none."""

    document: int
    patient: str
    language: str
    text: str
    mentions: Sequence[Mention]


@dataclass(slots=True)
class Patient:
    """A patient's mentions. `scope` is that of the kinds of entities that patients don't share.

    `days` is the secret offset of the patient's dates: codes that contain a birth date follow it.
    """

    scope: str
    language: str
    mentions: list[Mentioned]
    days: int


def patients_of(key: Key, notes: Sequence[NoteMentions], language: str) -> list[Patient]:
    """The mentions by patient. A note without a patient is one of its own. `language` is that of the project."""
    grouped: dict[tuple[str, int], list[NoteMentions]] = {}
    for note in notes:
        grouped.setdefault((note.patient, 0 if note.patient else note.document), []).append(note)
    patients = []
    for (patient, document), own in grouped.items():
        most = Counter(note.language or language for note in own).most_common(1)[0][0]
        mentions = {
            (note.document, one.start, one.end): mentioned(note.document, note.text, one)
            for note in own
            for one in note.mentions
        }
        scope, days = private_scope(key, patient, document), date_offset(key, patient, document)
        patients.append(Patient(scope, most, list(mentions.values()), days))
    return patients


def mentioned(document: int, text: str, mention: Mention) -> Mentioned:
    """The mention with its surroundings in the note's text."""
    start, end = mention.start, mention.end
    before, after = text[max(0, start - CONTEXT) : start], text[end : end + CONTEXT]
    return Mentioned(document, start, end, mention.kind, mention.text, before, after)


def patient_mentions(patients: Sequence[Patient]) -> list[PatientMentions]:
    return [PatientMentions(one.mentions, one.language) for one in patients]

"""The mentions that get surrogates, by patient, with what stands around them."""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from struct import Struct
from typing import Final

from annotations.core.sealing import Key
from annotations.release.rules.redaction.calendars import offset_of
from annotations.release.rules.redaction.policy import PEOPLE
from annotations.release.rules.redaction.released import Mention
from annotations.release.rules.surrogates.clustering import clusters_of, equality_key, person_of
from annotations.release.rules.surrogates.pipeline import REPEATABLE, MentionInNote
from annotations.release.rules.surrogates.templates import PLACES
from annotations.release.selectors.surrogates import private_scope

# The secret offset of a patient's dates.


def date_offset(key: Key, patient: str, note: int) -> int:
    """The secret number of days by which a patient's dates move, and the birth dates in the patient's codes.

    It is the same in all notes and releases, so that intervals are kept. A note without a patient has its own.
    """
    about = ("patient", patient) if patient else ("note", str(note))
    return offset_of(key.number("date offset", *about))


CONTEXT: Final = 40
"""Characters before and after a mention."""


Where = tuple[int, int, int]
"""A mention in the database: the id of the note, start and end in code points."""


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
    mentions: list[MentionInNote]
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


def mentioned(document: int, text: str, mention: Mention) -> MentionInNote:
    """The mention with its surroundings in the note's text."""
    start, end = mention.start, mention.end
    before, after = text[max(0, start - CONTEXT) : start], text[end : end + CONTEXT]
    return MentionInNote(document, start, end, mention.kind, mention.text, before, after)


# The names in all notes of a release, which no surrogate may be, in memory of a fixed size.


BYTES: Final = 1 << 22
"""With 1,000,000 names, 2 of 10,000 other texts are held for one of them; such a surrogate is made again."""
_DIGEST: Final = Struct(">4I")  # four bits of a name


class Originals(Container[str]):
    """A Bloom filter of folded names. Its bits depend on the project's key, and are the same for every worker."""

    def __init__(self, key: Key, waiting: Iterable[Iterable[NoteMentions]] = ()) -> None:
        """`waiting`: parts of the notes, which are read when somebody first asks for a name."""
        self._waiting = iter(waiting)
        self._secret = key.digest("surrogate originals")
        self._bits = bytearray(BYTES)

    def add(self, notes: Iterable[NoteMentions]) -> None:
        """Add what the mentions of notes name: full names of people, institutions, streets, numbers and addresses.

        A surname or a given name alone isn't added, nor a city: then the common ones would be missing among the
        surrogates, and one that was missed in a note would be recognized.
        """
        for name in {name for note in notes for name in _names(note)}:
            for at in self._bits_of(name):
                self._bits[at >> 3] |= 1 << (at & 7)

    def __contains__(self, name: object) -> bool:
        for notes in self._waiting:
            self.add(notes)
        return isinstance(name, str) and all(self._bits[at >> 3] & 1 << (at & 7) for at in self._bits_of(name))

    def _bits_of(self, name: str) -> Iterator[int]:
        digest = blake2b(name.encode("utf-8", "surrogatepass"), key=self._secret, digest_size=_DIGEST.size).digest()
        return (number % (BYTES * 8) for number in _DIGEST.unpack(digest))


def _names(note: NoteMentions) -> Iterator[str]:
    people = []
    for one in note.mentions:
        if one.kind in PEOPLE:
            people.append(mentioned(note.document, note.text, one))
        elif one.kind not in REPEATABLE and one.kind not in PLACES:
            yield equality_key(one.kind, one.text)
    for cluster in clusters_of(people, note.language):
        person = person_of(cluster)
        if person.given and person.family:
            yield " ".join((*person.given, *person.family))

"""Input of a training: the notes to learn from, the hold-out for scoring, and the project's other notes."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from django.db.models import Count, QuerySet

from annotations.gold.rules import Patient, Split, split_patients
from annotations.gold.services.splitting import patient_key
from annotations.models import Document, GoldVersion, GoldVersionNote
from annotations.scores.selectors import codes_of, label_words
from annotations.text.spans import Span
from models_runtime.models.cards import TrainingParams

# The split of a version that is not split itself: always the same, so that two models of it can be compared.
SEED: Final = "hold-out"
SHARES: Final = {Split.TRAIN: 80, Split.DEV: 20, Split.TEST: 0}
BATCH: Final = 200
# Header words are learned from at most this many other notes and characters.
OTHERS: Final = 5_000
OTHERS_CHARACTERS: Final = 20_000_000
# A language model that holds texts in memory learns from at most this many characters outside the version.
LANGUAGE_CHARACTERS: Final = 1_000_000_000

Note = tuple[str, list[Span]]


@dataclass(frozen=True)
class TrainingNotes:
    """Document ids of the training notes and the hold-out. `seed` is the seed of their split.

    `of_version` tells whether this is the version's own split; its test notes are in neither list.
    """

    train: list[int]
    hold_out: list[int]
    seed: str
    of_version: bool


def training_notes(version: GoldVersion, params: TrainingParams | None = None) -> TrainingNotes:
    """Return the version's train and dev notes. Without dev notes or a split, hold out one fifth by patient.

    `params` are those of the training. With `random_split`, the train and dev notes are put together, and one fifth by
    patient is drawn from them with this seed. With a `language`, only notes in it are returned; the split of the others
    does not change.
    """
    params = params or {}
    notes, language = _training_notes(version, params.get("random_split")), params.get("language", "")
    if not language:
        return notes
    in_language = _notes_in(version, language)
    train, hold_out = ([pk for pk in ids if pk in in_language] for ids in (notes.train, notes.hold_out))
    return replace(notes, train=train, hold_out=hold_out)


def _training_notes(version: GoldVersion, drawn: int | None) -> TrainingNotes:
    rows = list(
        GoldVersionNote.objects.filter(version=version)
        .order_by("document_id")
        .values_list("document_id", "document__patient_id", "document__name", "split")
    )
    if version.split_seed:
        rows = [row for row in rows if row[3] in (Split.TRAIN, Split.DEV)]
        if drawn is None and any(split == Split.DEV for *_, split in rows):
            train, dev = ([pk for pk, *_, split in rows if split == wanted] for wanted in (Split.TRAIN, Split.DEV))
            return TrainingNotes(train, dev, version.split_seed, of_version=True)
    patient_of = {pk: patient_key(patient_id, name) for pk, patient_id, name, _ in rows}
    counts: dict[str, int] = {}
    for key in patient_of.values():
        counts[key] = counts.get(key, 0) + 1
    seed = SEED if drawn is None else str(drawn)
    chosen = split_patients([Patient(key, notes) for key, notes in counts.items()], seed=seed, shares=SHARES)
    train, dev = (
        [pk for pk, key in patient_of.items() if chosen[key] is wanted] for wanted in (Split.TRAIN, Split.DEV)
    )
    return TrainingNotes(train, dev, seed, of_version=False)


def gold_notes(version: GoldVersion, documents: Sequence[int]) -> Iterator[Note]:
    """Yield texts with their gold spans, by ascending id. Merged labels are replaced by the labels they became."""
    merged = label_words(version.project).merged
    for at in range(0, len(documents), BATCH):
        notes = GoldVersionNote.objects.filter(version=version, document__in=documents[at : at + BATCH])
        for text, spans in notes.order_by("document_id").values_list("document__text", "spans"):
            yield text, [Span(start, end, merged.get(code, code)) for start, end, code, *_ in spans]


def language_of(version: GoldVersion) -> str:
    """Return the language of most of the version's notes, such as `it`. May be empty.

    Notes without a language count as notes in the project's language.
    """
    counted = languages_of(version)
    return max(sorted(counted), key=lambda language: counted[language], default="")


def languages_of(version: GoldVersion) -> dict[str, int]:
    """Count the version's notes by language. Notes without a language count as notes in the project's language."""
    rows = GoldVersionNote.objects.filter(version=version).order_by().values_list("document__language")
    counted: Counter[str] = Counter()
    for language, count in rows.annotate(count=Count("id")):
        counted[language or version.project.language] += count
    return dict(counted)


def _notes_in(version: GoldVersion, language: str) -> set[int]:
    rows = GoldVersionNote.objects.filter(version=version)
    return set(
        rows.filter(document__language__in=codes_of(version.project, language)).values_list("document_id", flat=True)
    )


def other_notes(version: GoldVersion, newest: int) -> Iterator[str]:
    """Yield texts of up to OTHERS notes of the project that are not in the version.

    Only notes up to the id `newest` are read: the highest id when the training started, so that a repeated training
    reads the same notes.
    """
    yield from _texts(_outside(version, newest), OTHERS, OTHERS_CHARACTERS)


def all_other_notes(version: GoldVersion, newest: int, language: str = "", *, streamed: bool = False) -> Iterator[str]:
    """Yield texts of the project's notes outside the version, for a language model: any number of notes.

    With a `language`, only notes in it. The total length is bounded by LANGUAGE_CHARACTERS for a trainer that holds the
    texts in memory, and unbounded for one that reads them as a stream.
    """
    rows = _outside(version, newest)
    if language:
        rows = rows.filter(language__in=codes_of(version.project, language))
    yield from _texts(rows, None, None if streamed else LANGUAGE_CHARACTERS)


def _outside(version: GoldVersion, newest: int) -> "QuerySet[Document]":
    inside = GoldVersionNote.objects.filter(version=version).values("document")
    return Document.objects.filter(project=version.project_id, pk__lte=newest).exclude(pk__in=inside)


def _texts(rows: "QuerySet[Document]", notes: int | None, characters: int | None) -> Iterator[str]:
    """Yield texts by ascending id, up to this many notes and characters. At most BATCH texts are in memory."""
    last, read, length = 0, 0, 0
    while notes is None or read < notes:
        size = BATCH if notes is None else min(BATCH, notes - read)
        found = list(rows.filter(pk__gt=last).order_by("pk").values_list("pk", "length", "text")[:size])
        for pk, more, text in found:
            last, read, length = pk, read + 1, length + more
            if characters is not None and length > characters:
                return
            yield text
        if not found:
            return

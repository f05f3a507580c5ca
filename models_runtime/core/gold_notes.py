"""What a training reads: the notes to learn from, the notes held out to score with, the project's other notes."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from django.db.models import Count

from annotations.domain.spans import Span
from annotations.domain.splits import Patient, Side, split_patients
from annotations.gold.services.splitting import patient_key
from annotations.models import Document, GoldVersion, GoldVersionNote
from annotations.scores.selectors import label_words

# A version without a split of its own: always the same one, so that two models of it can be compared.
SEED: Final = "hold-out"
SHARES: Final = {Side.TRAIN: 80, Side.DEV: 20, Side.TEST: 0}
BATCH: Final = 200
# Header words are learned from so many other notes and characters at most.
OTHERS: Final = 5_000
OTHERS_CHARACTERS: Final = 20_000_000

Note = tuple[str, list[Span]]


@dataclass(frozen=True)
class Sides:
    """Document ids. `seed` is what split them; `of_version`: the version's own split, whose test side is in neither."""

    train: list[int]
    hold_out: list[int]
    seed: str
    of_version: bool


def sides_of(version: GoldVersion, language: str = "") -> Sides:
    """The version's train and dev side; without a split (or a dev side), one fifth is held out by patient.

    With a `language`, the notes in it on either side: nobody changes sides by it.
    """
    sides = _sides(version)
    if not language:
        return sides
    spoken = _speaking(version, language)
    train, hold_out = ([pk for pk in side if pk in spoken] for side in (sides.train, sides.hold_out))
    return replace(sides, train=train, hold_out=hold_out)


def _sides(version: GoldVersion) -> Sides:
    rows = list(
        GoldVersionNote.objects.filter(version=version)
        .order_by("document_id")
        .values_list("document_id", "document__patient_id", "document__name", "split")
    )
    if version.split_seed:
        rows = [row for row in rows if row[3] in (Side.TRAIN, Side.DEV)]
        if any(side == Side.DEV for *_, side in rows):
            train, dev = ([pk for pk, *_, side in rows if side == wanted] for wanted in (Side.TRAIN, Side.DEV))
            return Sides(train, dev, version.split_seed, of_version=True)
    whose = {pk: patient_key(patient_id, name) for pk, patient_id, name, _ in rows}
    counts: dict[str, int] = {}
    for key in whose.values():
        counts[key] = counts.get(key, 0) + 1
    chosen = split_patients([Patient(key, notes) for key, notes in counts.items()], seed=SEED, shares=SHARES)
    train, dev = ([pk for pk, key in whose.items() if chosen[key] is wanted] for wanted in (Side.TRAIN, Side.DEV))
    return Sides(train, dev, SEED, of_version=False)


def gold_notes(version: GoldVersion, documents: Sequence[int]) -> Iterator[Note]:
    """Texts with their gold spans, by growing id; merged labels as what they became."""
    merged = label_words(version.project).merged
    for at in range(0, len(documents), BATCH):
        notes = GoldVersionNote.objects.filter(version=version, document__in=documents[at : at + BATCH])
        for text, spans in notes.order_by("document_id").values_list("document__text", "spans"):
            yield text, [Span(start, end, merged.get(code, code)) for start, end, code, _ in spans]


def language_of(version: GoldVersion) -> str:
    """The language of most of the version's notes (`it`); of those that name none, the project's. May be empty."""
    counted = languages_of(version)
    return max(sorted(counted), key=lambda language: counted[language], default="")


def languages_of(version: GoldVersion) -> dict[str, int]:
    """How many of the version's notes are in each language; those that name none are in the project's."""
    rows = GoldVersionNote.objects.filter(version=version).order_by().values_list("document__language")
    counted: Counter[str] = Counter()
    for language, count in rows.annotate(count=Count("id")):
        counted[language or version.project.language] += count
    return dict(counted)


def _speaking(version: GoldVersion, language: str) -> set[int]:
    rows = GoldVersionNote.objects.filter(version=version)
    named = ["", language] if language == version.project.language else [language]
    return set(rows.filter(document__language__in=named).values_list("document_id", flat=True))


def other_notes(version: GoldVersion, newest: int) -> Iterator[str]:
    """Texts of the project's notes that are not in the version: up to OTHERS of those that were there at the start.

    `newest` is the highest id then, so that a training which begins again reads the same.
    """
    inside = GoldVersionNote.objects.filter(version=version).values("document")
    rows = Document.objects.filter(project=version.project_id, pk__lte=newest).exclude(pk__in=inside)
    characters = 0
    ids = []
    for pk, length in rows.order_by("pk").values_list("pk", "length")[:OTHERS]:
        characters += length
        if characters > OTHERS_CHARACTERS:
            break
        ids.append(pk)
    for at in range(0, len(ids), BATCH):
        yield from Document.objects.filter(pk__in=ids[at : at + BATCH]).order_by("pk").values_list("text", flat=True)

"""The train/dev/test split of a frozen gold version: by patient, recorded with its seed and shares."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.db.models import Count
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.core.events import record
from annotations.core.kept import keep, kept, key_of
from annotations.core.names import good_name
from annotations.domain.splits import Patient, Side, SplitError, check_shares, split_patients, strictest
from annotations.models import GoldVersion, GoldVersionNote, Project, User, Verb

SEED_LENGTH = 40
BATCH = 500
REVISION = 1


@dataclass(frozen=True)
class Split:
    """What splitting did. `kept` patients had their side from an earlier split with the same seed."""

    version: GoldVersion
    made: bool
    notes: dict[str, int]
    patients: dict[str, int]
    kept: int
    merged: int


@dataclass
class _Person:
    notes: list[int] = field(default_factory=list)
    spans: int = 0


def split_version(*, version: GoldVersion, seed: str, shares: Mapping[str, int], actor: User | None) -> Split:
    """Give every note of the version its side; all notes of a patient have the same.

    Whoever has a side in another version that was split by the same seed keeps it. Asked for again, it is the same
    split, so nothing is written (`made` is False), unless patient ids have changed since. Raises ServiceError `seed`
    where the version is split by this seed with other shares: sides would have to change.
    """
    seed = good_name(seed, code="seed")
    if not seed or len(seed) > SEED_LENGTH:
        raise ServiceError(
            _("a seed has 1 to %(seed_length)s characters") % {"seed_length": SEED_LENGTH},
            code="seed",
        )
    try:
        wanted = check_shares(shares)
    except SplitError as error:
        raise ServiceError(str(error), code="shares") from error
    with transaction.atomic():
        Project.objects.select_for_update().get(pk=version.project_id)
        version = GoldVersion.objects.select_for_update().get(pk=version.pk)
        if version.split_seed == seed and version.split_shares != wanted:
            raise ServiceError(
                _("this version is split by this seed with other shares; choose another seed to split it anew"),
                code="seed",
            )
        people = _people(version)
        if not people:
            raise ServiceError(_("this version has no notes left to split"), code="empty")
        earlier, merged = _earlier_sides(version, seed)
        sides = split_patients(
            [Patient(key, len(person.notes), person.spans) for key, person in people.items()],
            seed=seed,
            shares=wanted,
            kept={key: side for key, side in earlier.items() if key in people},
        )
        written = _write(version, people, sides)
        made = bool(written) or version.split_seed != seed
        notes = Counter({str(side): 0 for side in Side})
        for key, side in sides.items():
            notes[side] += len(people[key].notes)
        split = Split(
            version=version,
            made=made,
            notes=dict(notes),
            patients={side: sum(found is side for found in sides.values()) for side in Side},
            kept=sum(key in earlier for key in people),
            merged=merged,
        )
        if made:
            version.split_seed, version.split_shares = seed, {str(side): share for side, share in wanted.items()}
            version.save(update_fields=["split_seed", "split_shares"])
            record(
                verb=Verb.GOLD_SPLIT,
                actor=actor,
                project_id=version.project_id,
                data={
                    "version": version.number,
                    "shares": version.split_shares,
                    "notes": split.notes,
                    "patients": split.patients,
                    "kept": split.kept,
                },
            )
    return split


def patient_key(patient_id: str, name: str) -> str:
    """A note without a patient id is a patient of its own."""
    return f"patient {patient_id}" if patient_id else f"note {name}"


def _people(version: GoldVersion) -> dict[str, _Person]:
    found: dict[str, _Person] = {}
    for pk, patient_id, name, spans in _rows(version):
        person = found.setdefault(patient_key(patient_id, name), _Person())
        person.notes.append(pk)
        person.spans += len(spans)
    return found


def _rows(version: GoldVersion) -> Iterator[tuple[int, str, str, list[Any]]]:
    notes = GoldVersionNote.objects.filter(version=version).order_by("document_id")
    yield from notes.values_list("pk", "document__patient_id", "document__name", "spans").iterator(chunk_size=BATCH)


def _earlier_sides(version: GoldVersion, seed: str) -> tuple[dict[str, Side], int]:
    """Sides by patient in every version that was split by this seed, and how many patients stood on several.

    That happens where two notes were given one patient id after they were split; the strictest side is taken.
    """
    rows = GoldVersionNote.objects.filter(version__project_id=version.project_id, version__split_seed=seed)
    found: dict[str, set[Side]] = defaultdict(set)
    values = rows.exclude(split="").values_list("document__patient_id", "document__name", "split").order_by().distinct()
    for patient_id, name, side in values.iterator(chunk_size=5000):
        found[patient_key(patient_id, name)].add(Side(side))
    return {key: strictest(sides) for key, sides in found.items()}, sum(len(sides) > 1 for sides in found.values())


def _write(version: GoldVersion, people: Mapping[str, _Person], sides: Mapping[str, Side]) -> int:
    """Store what is not stored yet; how many notes that were."""
    written = 0
    for side in Side:
        notes = [pk for key, person in people.items() if sides[key] is side for pk in person.notes]
        for at in range(0, len(notes), BATCH):
            batch = GoldVersionNote.objects.filter(pk__in=notes[at : at + BATCH]).exclude(split=side)
            written += batch.update(split=side)
    return written


def split_table(version: GoldVersion) -> list[dict[str, Any]]:
    """What each side holds: notes, patients, spans, and spans by label; a side without notes too."""
    rows = GoldVersionNote.objects.filter(version=version).exclude(split="").order_by()
    notes = dict(rows.values_list("split").annotate(n=Count("pk")))
    alone = dict(rows.filter(document__patient_id="").values_list("split").annotate(n=Count("pk")))
    patients = dict(
        rows.exclude(document__patient_id="")
        .values_list("split")
        .annotate(n=Count("document__patient_id", distinct=True))
    )
    key = key_of(REVISION, version.pk, version.split_seed, version.split_shares, sorted(notes.items()))
    labels = kept(version.project, "split", key)
    if labels is None:
        counts: dict[str, Counter[str]] = {side: Counter() for side in Side}
        for side, spans in rows.values_list("split", "spans").iterator(chunk_size=BATCH):
            counts[side].update(span[2] for span in spans)
        labels = {side: dict(found) for side, found in counts.items()}
        keep(version.project, "split", key, labels)
    total = sum(notes.values())
    return [
        {
            "side": str(side),
            "asked": (version.split_shares or {}).get(side, 0),
            "notes": notes.get(side, 0),
            "share": notes.get(side, 0) / total if total else None,
            "patients": alone.get(side, 0) + patients.get(side, 0),
            "without_patient": alone.get(side, 0),
            "spans": sum(labels[side].values()),
            "labels": labels[side],
        }
        for side in Side
    ]


def patients_on_two_sides(version: GoldVersion) -> int:
    """How many patients stand on several sides, since their ids were changed after the split."""
    rows = GoldVersionNote.objects.filter(version=version).exclude(split="").exclude(document__patient_id="")
    sides = rows.order_by().values("document__patient_id").annotate(sides=Count("split", distinct=True))
    return sides.filter(sides__gt=1).count()

"""The train/dev/test split of a frozen gold version: by patient, recorded with its seed and shares."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from django.db import transaction
from django.db.models import Count, Exists, OuterRef
from django.utils.translation import gettext
from django.utils.translation import gettext as _

from annotations.core.services import ServiceError, good_name
from annotations.core.stored_figures import FigureKind, cache_value, cached_value, key_of
from annotations.gold import rules
from annotations.gold.events import GOLD_SPLIT, GoldSplit
from annotations.gold.rules import Split
from annotations.gold.selectors import frozen_version
from annotations.gold.services.making import freeze
from annotations.models import AnnotationSet, Author, AuthorKind, GoldVersion, GoldVersionNote, Project, User
from annotations.text.names import whole_number

SEED_LENGTH = 40
BATCH = 500
REVISION = 1

# Number of spans by split and label.
LABELS: FigureKind[dict[str, dict[str, int]]] = FigureKind("split")


@dataclass(frozen=True)
class SplitResult:
    """The result of splitting a version.

    `made` is False if nothing was written. `kept` counts patients who kept their split from another version with the
    same seed. `merged` counts patients who were in several splits of other versions.
    """

    version: GoldVersion
    made: bool
    notes: dict[str, int]
    patients: dict[str, int]
    kept: int
    merged: int


@dataclass
class _PatientNotes:
    notes: list[int] = field(default_factory=list)
    spans: int = 0


def split_version(*, version: GoldVersion, seed: str, shares: Mapping[str, int], actor: User | None) -> SplitResult:
    """Assign every note of the version to train, dev or test; all notes of a patient get the same split.

    A patient who has a split in another version with the same seed keeps it. A repeated call writes nothing (`made`
    is False), unless patient ids have changed. Raises ServiceError `seed` if the version is already split with this
    seed and other shares, because patients would have to change their split.
    """
    seed = _good_seed(seed)
    try:
        wanted = rules.check_shares(shares)
    except rules.SplitError as error:
        raise ServiceError(str(error), code="shares") from error
    with transaction.atomic():
        version, patients = _locked(version)
        if version.split_seed == seed and version.split_shares != wanted:
            message = _("This version is already split with this seed and other shares. Choose another seed.")
            raise ServiceError(message, code="seed")
        earlier, merged = _earlier_splits(version, seed)
        those = [rules.Patient(key, len(patient.notes), patient.spans) for key, patient in patients.items()]
        known = {key: split for key, split in earlier.items() if key in patients}
        splits = rules.split_patients(those, seed=seed, shares=wanted, kept=known)
        kept = sum(key in earlier for key in patients)
        return _stored(version, patients, splits, seed=seed, shares=wanted, kept=kept, merged=merged, actor=actor)


def split_by_lines(*, version: GoldVersion, lines: str, seed: str, actor: User | None) -> SplitResult:
    """Split the version as the lines say: each has a note's name, or a pattern with `*`, and its split.

    A pattern such as `dev/*` stands for a folder of an import. `seed` names the split: patients of later versions with
    the same seed keep their split. A repeated call writes nothing. Raises ServiceError `from` for a wrong line, a note
    without a line and a patient in two splits, with the line and the note in its message, and `seed` if another
    version with this seed has a patient in another split.
    """
    seed = _good_seed(seed)
    with transaction.atomic():
        version, patients = _locked(version)
        rows = GoldVersionNote.objects.filter(version=version).order_by("document_id")
        notes = list(rows.values_list("document__patient_id", "document__name"))
        try:
            found = rules.assigned(rules.read_assignments(lines), [name for _patient, name in notes])
        except rules.SplitError as error:
            raise ServiceError(str(error), code="from") from error
        splits: dict[str, rules.Split] = {}
        first: dict[str, str] = {}
        for patient_id, name in notes:
            key, line = patient_key(patient_id, name), found[name]
            if splits.setdefault(key, line.split) is not line.split:
                raise ServiceError(
                    _(
                        "Line %(line)s: the note “%(name)s” is of the same patient as “%(other)s” in %(split)s. All "
                        "notes of a patient need the same split."
                    )
                    % {"line": line.line, "name": name[:80], "other": first[key][:80], "split": splits[key]},
                    code="from",
                )
            first.setdefault(key, name)
        others = GoldVersion.objects.filter(project_id=version.project_id, split_seed=seed).exclude(pk=version.pk)
        earlier, merged = _earlier_splits(version, seed) if others else ({}, 0)
        if moved := next((key for key, split in splits.items() if earlier.get(key, split) is not split), None):
            message = _("The note “%(name)s” is in %(split)s of another version with this seed. Choose another seed.")
            raise ServiceError(message % {"name": first[moved][:80], "split": earlier[moved]}, code="seed")
        counts = Counter(dict.fromkeys(rules.Split, 0))
        for key, split in splits.items():
            counts[split] += len(patients[key].notes)
        if not counts[rules.Split.TRAIN]:
            raise ServiceError(_("The split has no notes in train. Models learn from these notes."), code="from")
        kept, shares = sum(key in earlier for key in patients), rules.whole_shares(counts)
        return _stored(version, patients, splits, seed=seed, shares=shares, kept=kept, merged=merged, actor=actor)


def _locked(version: GoldVersion) -> tuple[GoldVersion, dict[str, _PatientNotes]]:
    """Lock the version, and read its notes by patient. Raises ServiceError `empty` without notes."""
    Project.objects.select_for_update().get(pk=version.project_id)
    version = GoldVersion.objects.select_for_update().get(pk=version.pk)
    patients = _patients(version)
    if not patients:
        raise ServiceError(_("This version has no notes left to split."), code="empty")
    return version, patients


def _good_seed(seed: str) -> str:
    """Raises ServiceError `seed`."""
    seed = good_name(seed, code="seed")
    if not seed or len(seed) > SEED_LENGTH:
        raise ServiceError(_("The seed must have 1 to %(most)s characters.") % {"most": SEED_LENGTH}, code="seed")
    return seed


def _stored(
    version: GoldVersion,
    patients: Mapping[str, _PatientNotes],
    splits: Mapping[str, rules.Split],
    *,
    seed: str,
    shares: Mapping[rules.Split, int],
    kept: int,
    merged: int,
    actor: User | None,
) -> SplitResult:
    """Write the splits of the patients, and record the event if anything changed."""
    made = bool(_write(patients, splits)) or version.split_seed != seed
    notes = Counter({str(split): 0 for split in rules.Split})
    for key, split in splits.items():
        notes[split] += len(patients[key].notes)
    in_split: dict[str, int] = {split: sum(found is split for found in splits.values()) for split in rules.Split}
    result = SplitResult(version, made, dict(notes), in_split, kept, merged)
    if made:
        percent = {str(split): share for split, share in shares.items()}
        version.split_seed, version.split_shares = seed, percent
        version.save(update_fields=["split_seed", "split_shares"])
        data = GoldSplit(version=version.number, shares=percent, notes=result.notes, patients=in_split, kept=kept)
        GOLD_SPLIT.record(actor=actor, project_id=version.project_id, data=data)
    return result


def patient_key(patient_id: str, name: str) -> str:
    """Return the key that a note's patient is split by. A note without a patient id counts as its own patient."""
    return f"patient {patient_id}" if patient_id else f"note {name}"


def _patients(version: GoldVersion) -> dict[str, _PatientNotes]:
    found: dict[str, _PatientNotes] = {}
    notes = GoldVersionNote.objects.filter(version=version).order_by("document_id")
    rows = notes.values_list("pk", "document__patient_id", "document__name", "spans")
    for pk, patient_id, name, spans in rows.iterator(chunk_size=BATCH):
        patient = found.setdefault(patient_key(patient_id, name), _PatientNotes())
        patient.notes.append(pk)
        patient.spans += len(spans)
    return found


def _earlier_splits(version: GoldVersion, seed: str) -> tuple[dict[str, rules.Split], int]:
    """Return each patient's split in all versions with this seed, and how many patients are in several splits.

    A patient is in several splits if two notes got the same patient id after they were split. The strictest counts.
    """
    rows = GoldVersionNote.objects.filter(version__project_id=version.project_id, version__split_seed=seed)
    found: dict[str, set[rules.Split]] = defaultdict(set)
    values = rows.exclude(split="").values_list("document__patient_id", "document__name", "split").order_by().distinct()
    for patient_id, name, split in values.iterator(chunk_size=5000):
        found[patient_key(patient_id, name)].add(rules.Split(split))
    return {key: rules.strictest(splits) for key, splits in found.items()}, sum(
        len(splits) > 1 for splits in found.values()
    )


def _write(patients: Mapping[str, _PatientNotes], splits: Mapping[str, rules.Split]) -> int:
    """Store the splits that changed. Return the number of changed notes."""
    written = 0
    for split in rules.Split:
        notes = [pk for key, patient in patients.items() if splits[key] is split for pk in patient.notes]
        for at in range(0, len(notes), BATCH):
            batch = GoldVersionNote.objects.filter(pk__in=notes[at : at + BATCH]).exclude(split=split)
            written += batch.update(split=split)
    return written


def split_table(version: GoldVersion) -> list[dict[str, Any]]:
    """Count notes, patients, spans, and spans by label in each split, also in an empty one."""
    rows = GoldVersionNote.objects.filter(version=version).exclude(split="").order_by()
    notes = dict(rows.values_list("split").annotate(n=Count("pk")))
    alone = dict(rows.filter(document__patient_id="").values_list("split").annotate(n=Count("pk")))
    n = Count("document__patient_id", distinct=True)
    patients = dict(rows.exclude(document__patient_id="").values_list("split").annotate(n=n))
    key = key_of(REVISION, version.pk, version.split_seed, version.split_shares, sorted(notes.items()))
    labels = cached_value(version.project, LABELS, key)
    if labels is None:
        counts: dict[str, Counter[str]] = {split: Counter() for split in rules.Split}
        for split, spans in rows.values_list("split", "spans").iterator(chunk_size=BATCH):
            counts[split].update(span[2] for span in spans)
        labels = {split: dict(found) for split, found in counts.items()}
        cache_value(version.project, LABELS, key, labels)
    total = sum(notes.values())
    return [
        {
            "split": str(split),
            "requested": (version.split_shares or {}).get(split, 0),
            "notes": notes.get(split, 0),
            "share": notes.get(split, 0) / total if total else None,
            "patients": alone.get(split, 0) + patients.get(split, 0),
            "without_patient": alone.get(split, 0),
            "spans": sum(labels[split].values()),
            "labels": labels[split],
        }
        for split in rules.Split
    ]


def patients_in_two_splits(version: GoldVersion) -> int:
    """Count the patients who are in several splits, because patient ids changed after the split."""
    rows = GoldVersionNote.objects.filter(version=version).exclude(split="").exclude(document__patient_id="")
    splits = rows.order_by().values("document__patient_id").annotate(splits=Count("split", distinct=True))
    return splits.filter(splits__gt=1).count()


# Begin a round of the loop: freeze a gold version and hold out the same notes as in earlier rounds.


SEED = "loop"
# The default hold-out, in percent of the notes.
HOLD_OUT = 20


@dataclass(frozen=True)
class Begun:
    """`made` tells whether the version is new. `split` is None if the version was already split."""

    version: GoldVersion
    made: bool
    split: SplitResult | None


def last_split(project: Project) -> GoldVersion | None:
    """Return the newest version that is split."""
    return project.gold_versions.exclude(split_seed="").order_by("-number").first()


def held_out(version: GoldVersion) -> int:
    return GoldVersionNote.objects.filter(version=version, split=rules.Split.DEV).count()


def begin_round(*, project: Project, actor: User | None, share: int = HOLD_OUT, reason: str = "") -> Begun:
    """Freeze the gold standard and split the version. A repeated call changes nothing.

    The notes of earlier hold-outs are held out again, and all other patients are in the training split, so that the
    models of all rounds are scored on the same notes. In the first round, `share` percent of the notes are held out,
    by patient. Raises ServiceError `empty` without gold, and `share` for a share outside 1 to 90.
    """
    if not 1 <= share <= 90:
        message = _("The hold-out must be between 1 and 90 percent, not %(share)s.")
        raise ServiceError(message % {"share": share}, code="share")
    with transaction.atomic():
        before = last_split(project)
        version, made = freeze(project=project, actor=actor, reason=reason)
        if version.split_seed:
            return Begun(version, made, None)
        rest = share if before is None or not held_out(before) else 0
        seed = before.split_seed if before else SEED
        shares: dict[str, int] = {rules.Split.TRAIN: 100 - rest, rules.Split.DEV: rest, rules.Split.TEST: 0}
        split = split_version(version=version, seed=seed, shares=shares, actor=actor)
    return Begun(split.version, made, split)


# Find the annotation sets that a specification such as `gold`, `gold:VERSION` or `run:NAME` names.


FOLDERS = "folders"

BARE = (AuthorKind.GOLD, AuthorKind.ADJUDICATED)
"""Kinds of which a project has one author."""
LAYOUTS = (FOLDERS, *map(str, Split))
"""How a split version can be exported: with a folder for each split, or one split only."""


@dataclass(frozen=True)
class SetChoice:
    """A choice of annotation sets: a frozen gold version, or an author's submitted sets.

    `split` is for a version: `folders` puts each note into the folder of its split; the name of a split selects the
    notes of this split only. With `notes`, only the sets of these notes, by their ids.
    """

    spec: str
    author: Author | None = None
    version: GoldVersion | None = None
    split: str = ""
    notes: tuple[int, ...] = ()


def wanted_set(project: Project, spec: str, split: str = "") -> SetChoice:
    """Find what `gold`, `gold:VERSION`, `annotator:NAME` or `run:NAME_OR_ID` names.

    Raises ServiceError `version`, `set` or `split`, with the possible choices in its message.
    """
    wanted = _wanted(project, spec)
    if not split:
        return wanted
    if split not in LAYOUTS:
        message = gettext("There is no split “%(split)s”. Choose one of: %(choices)s.")
        raise ServiceError(message % {"split": split, "choices": ", ".join(LAYOUTS)}, code="split")
    if wanted.version is None or not wanted.version.split_seed:
        message = gettext("“%(spec)s” is not split into train, dev and test. Split a frozen version first.")
        raise ServiceError(message % {"spec": spec}, code="split")
    if patients_in_two_splits(wanted.version):
        message = gettext(
            "Patient IDs changed after the split, and a patient is now in two splits. Split the version again."
        )
        raise ServiceError(message, code="split")
    return replace(wanted, split=split)


def _wanted(project: Project, spec: str) -> SetChoice:
    kind, _, name = spec.partition(":")
    if kind == "gold" and name:
        return SetChoice(spec, version=frozen_version(project, name))
    authors = Author.objects.filter(project=project, kind=kind)
    if kind in BARE and not name:
        author = authors.first()
    else:
        author = authors.filter(name=name).first()
        if author is None and kind == AuthorKind.RUN and (pk := whole_number(name)) is not None:
            author = authors.filter(pk=pk).first()
    if author is None:
        known = ", ".join(set_specs(project)) or "none yet"
        message = gettext("This project has no annotation sets “%(spec)s”. Available: %(known)s.")
        raise ServiceError(message % {"spec": spec, "known": known}, code="set")
    return SetChoice(spec, author=author)


def set_specs(
    project: Project, *, without: Collection[str] = (), versions: Iterable[GoldVersion] | None = None
) -> list[str]:
    """List every specification that `wanted_set` accepts in this project, without authors of the kinds `without`.

    `versions` are all gold versions of the project; they are read unless they are given.
    """
    specs = []
    # One index lookup for each author is faster than a scan of all annotation sets.
    has_sets = Exists(AnnotationSet.objects.filter(author_id=OuterRef("pk")))
    for author in Author.objects.filter(has_sets, project=project):
        if author.kind in without:
            continue
        specs.append(author.kind if author.kind in BARE else f"{author.kind}:{author.name}")
    found = project.gold_versions.all() if versions is None else versions
    return specs + [f"gold:{version.number}" for version in sorted(found, key=lambda version: version.number)]

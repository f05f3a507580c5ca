"""The gold versions of a training: the project's own, and versions of other projects that the person manages.

Only `TrainedModel.params["also"]` says which other versions a model learned from, by their ids.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from django.core.exceptions import PermissionDenied
from django.db.models import Count, QuerySet
from django.http import Http404
from django.utils.translation import gettext as _

from annotations.core.access import Can, enter
from annotations.core.services import ServiceError
from annotations.gold.rules import Patient, Split, split_patients
from annotations.gold.services.splitting import patient_key
from annotations.models import Deletion, Document, GoldVersion, GoldVersionNote, Project, User
from annotations.projects.selectors.labels import accepted_labels, mappings
from annotations.scores.selectors import codes_of, label_words
from annotations.text.spans import Span
from models_runtime.models import TrainedModel
from models_runtime.models.cards import TrainingParams, parts_of

# Input of a training: the notes to learn from, the hold-out for scoring, and the project's other notes.


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
    counts = Counter(patient_of.values())
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


# The parameter of a training that holds the ids of other projects' gold versions.
ALSO = "also"


@dataclass(frozen=True)
class GoldSource:
    """A gold version with its notes for a training.

    `labels` maps the labels of another project's version to those of the training project; None for a label without
    counterpart. It is None itself for the own version. `left_out` counts training notes that the training must not
    read, because another version holds out or tests on a note with the same text. `everything`: the notes of a refit,
    by ascending id: training notes and hold-out, without texts that another version tests on.
    """

    version: GoldVersion
    notes: TrainingNotes
    labels: Mapping[str, str | None] | None = None
    left_out: int = 0
    everything: Sequence[int] = ()

    def read(self, documents: Sequence[int]) -> Iterator[Note]:
        """Yield texts with their gold spans in labels of the training project, as `gold_notes` does."""
        for text, spans in gold_notes(self.version, documents):
            yield text, spans if self.labels is None else _relabeled(spans, self.labels)

    def without_label(self) -> int:
        """Count the spans of the training notes whose label has no counterpart. They are read as unmarked text."""
        if self.labels is None or None not in self.labels.values():
            return 0
        read = gold_notes(self.version, self.notes.train)
        return sum(self.labels[span.label] is None for _, spans in read for span in spans)


def _relabeled(spans: Sequence[Span], labels: Mapping[str, str | None]) -> list[Span]:
    """Raises ServiceError `also` for a label that was deleted from the other project after its version was frozen."""
    if unknown := sorted({span.label for span in spans}.difference(labels)):
        message = _(
            "The gold of another project has labels that its label set lacks: %(labels)s. Freeze a new version of it."
        )
        raise ServiceError(message % {"labels": ", ".join(unknown)}, code=ALSO)
    return [Span(span.start, span.end, label) for span in spans if (label := labels[span.label]) is not None]


def gold_sources(
    project: Project, versions: Sequence[GoldVersion], params: TrainingParams | None = None
) -> list[GoldSource]:
    """Return the notes of a training in `project` on several versions, the own one first. `params`: its parameters.

    The hold-out of each version is respected, also where a note of another version has the same text. Raises
    ServiceError `also` for labels that can't be mapped.
    """
    sources = [
        GoldSource(
            version,
            notes := training_notes(version, params),
            None if version.project_id == project.pk else labels_into(project, version),
            everything=sorted([*notes.train, *notes.hold_out]),
        )
        for version in versions
    ]
    if len(sources) == 1:
        return sources
    hashes = [_hashes(version) for version in versions]
    in_all_languages = params and params | {"language": ""}
    unseen = [unseen_by([version], in_all_languages) for version in versions]
    tests = [_tests(version) for version in versions]

    def without(at: int, own: Sequence[int], of_each: Sequence[set[int]]) -> list[int]:
        """The notes of a version whose text no other version has among these notes."""
        others = [(texts, of_each[other]) for other, texts in enumerate(hashes) if other != at]
        elsewhere = {texts[pk] for texts, notes in others for pk in notes.intersection(texts)}
        return [pk for pk in own if hashes[at].get(pk) not in elsewhere]

    found = []
    for at, source in enumerate(sources):
        train = without(at, source.notes.train, unseen)
        left_out, notes = len(source.notes.train) - len(train), replace(source.notes, train=train)
        everything = without(at, source.everything, tests)
        found.append(replace(source, notes=notes, left_out=left_out, everything=everything))
    return found


def _hashes(version: GoldVersion) -> dict[int, str]:
    """Return the SHA-256 of the text of each note of the version."""
    return dict(GoldVersionNote.objects.filter(version=version).values_list("document_id", "document__sha256"))


def _tests(version: GoldVersion) -> set[int]:
    rows = GoldVersionNote.objects.filter(version=version, split=Split.TEST)
    return set(rows.values_list("document_id", flat=True))


def unseen_by(versions: Sequence[GoldVersion], params: TrainingParams | None = None) -> set[int]:
    """Return the notes that a training on these versions with these parameters holds out, or that are for tests."""
    return {pk for one in versions for pk in (*training_notes(one, params).hold_out, *_tests(one))}


def labels_into(project: Project, version: GoldVersion) -> dict[str, str | None]:
    """Map the labels of another project's version to those of the project; None for one without counterpart.

    Both projects have the same label set, or there is a mapping between their sets. Raises ServiceError `also` if the
    mapping or the project lacks a label.
    """
    other = version.project
    key, target = other.label_set.key, project.label_set.key
    words = label_words(other)
    mapped: Mapping[str, str | None] = {code: code for code in words.order}
    if key != target:
        mapping = mappings().get((key, target))
        if mapping is None or mapping.to_category:
            message = _(
                "The labels of “%(other)s” (%(key)s) can't be mapped to those of this project (%(target)s). Choose "
                "a project with the same label set."
            )
            raise ServiceError(message % {"other": other.slug, "key": key, "target": target}, code=ALSO)
        mapped = mapping.labels
    accepted, _ids = accepted_labels(project)
    missing = [code for code in words.order if not _has(code, mapped, accepted)]
    if missing:
        message = _("These labels of “%(other)s” have no counterpart in this project: %(labels)s. Add them here first.")
        raise ServiceError(message % {"other": other.slug, "labels": ", ".join(missing)}, code=ALSO)
    return {code: None if (label := mapped[code]) is None else accepted[label] for code in words.order}


def _has(code: str, mapped: Mapping[str, str | None], accepted: Mapping[str, str]) -> bool:
    return code in mapped and (mapped[code] is None or mapped[code] in accepted)


def lending_project(slug: str, actor: User | None) -> Project:
    """Return another project whose gold the person may use for a training: one that they manage, not archived.

    Without a person, for the command line, any project. Raises ServiceError `also`.
    """
    found = Project.objects.exclude(pk__in=Deletion.objects.values("pk")).filter(slug=slug).first()
    if found is not None and actor is not None and not manages(actor, found):
        found = None
    if found is None:
        message = _("There is no other project “%(slug)s” that you manage. Its gold can't be used.")
        raise ServiceError(message % {"slug": slug[:60]}, code=ALSO)
    if found.archived_at is not None:
        message = _("The project “%(slug)s” is archived. Restore it first, or leave out its gold.")
        raise ServiceError(message % {"slug": slug}, code=ALSO)
    return found


def manages(person: User, project: Project) -> bool:
    """Whether the person manages the project, even if it is archived."""
    try:
        return enter(person, project.slug, Can.SEE_PROJECT).has(Can.MANAGE)
    except (Http404, PermissionDenied):
        return False


def versions_of(model: TrainedModel) -> list[GoldVersion]:
    """List the gold versions from which the model learned, and which still exist. The own one is the first."""
    own = [model.gold_version] if model.gold_version else []
    ids = model.params.get("also", [])
    also = GoldVersion.objects.select_related("project__label_set").filter(pk__in=ids) if ids else []
    return [*own, *sorted(also, key=lambda version: ids.index(version.pk))]


def models_elsewhere(project: Project) -> list[TrainedModel]:
    """List the models of other projects that learned from this project's gold, themselves or in an earlier stage."""
    versions = set(GoldVersion.objects.filter(project=project).values_list("pk", flat=True))
    rows = TrainedModel.objects.exclude(project=project).select_related("project").order_by("pk")
    # Few trainings read other projects, and no database searches lists in JSON in the same way.
    found = {row.pk: row for row in rows.filter(params__has_key=ALSO) if versions.intersection(row.params["also"])}
    later = rows.filter(project__in={row.project_id for row in found.values()})
    for row in later:  # An earlier stage has a lower id.
        if found.keys() & parts_of(row.params):
            found[row.pk] = row
    return [found[pk] for pk in sorted(found)]


def same_texts(project_id: int, version: GoldVersion) -> set[int]:
    """Return the project's notes that have the same text as a note of another project's version, test notes aside."""
    texts = GoldVersionNote.objects.filter(version=version).exclude(split=Split.TEST).values("document__sha256")
    return set(Document.objects.filter(project=project_id, sha256__in=texts).values_list("pk", flat=True))

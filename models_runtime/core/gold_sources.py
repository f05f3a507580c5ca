"""The gold versions of a training: the project's own, and versions of other projects that the person manages.

Only `TrainedModel.params["also"]` says which other versions a model learned from, by their ids.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from django.core.exceptions import PermissionDenied
from django.http import Http404
from django.utils.translation import gettext as _

from annotations.core.access import Can, enter
from annotations.core.errors import ServiceError
from annotations.gold.rules import Split
from annotations.models import Deletion, Document, GoldVersion, GoldVersionNote, Project, User
from annotations.projects.selectors.labels import accepted_labels, mappings
from annotations.scores.selectors import label_words
from annotations.text.spans import Span
from models_runtime.core.gold_notes import Note, TrainingNotes, gold_notes, training_notes
from models_runtime.models import TrainedModel
from models_runtime.models.cards import TrainingParams, parts_of

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
        raise ServiceError(
            _(
                "The gold of another project has labels that its label set lacks: %(labels)s. Freeze a new version of "
                "it."
            )
            % {"labels": ", ".join(unknown)},
            code=ALSO,
        )
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
    found = []
    for at, source in enumerate(sources):
        elsewhere = {
            texts[pk] for other, texts in enumerate(hashes) if other != at for pk in unseen[other].intersection(texts)
        }
        kept = [pk for pk in source.notes.train if hashes[at].get(pk) not in elsewhere]
        left_out = len(source.notes.train) - len(kept)
        tested = {
            texts[pk] for other, texts in enumerate(hashes) if other != at for pk in tests[other].intersection(texts)
        }
        everything = [pk for pk in source.everything if hashes[at].get(pk) not in tested]
        notes = replace(source.notes, train=kept)
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
    found: set[int] = set()
    for version in versions:
        found.update(training_notes(version, params).hold_out, _tests(version))
    return found


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
            raise ServiceError(
                _(
                    "The labels of “%(other)s” (%(key)s) can't be mapped to those of this project (%(target)s). Choose "
                    "a project with the same label set."
                )
                % {"other": other.slug, "key": key, "target": target},
                code=ALSO,
            )
        mapped = mapping.labels
    accepted, _ids = accepted_labels(project)
    missing = [code for code in words.order if not _has(code, mapped, accepted)]
    if missing:
        raise ServiceError(
            _("These labels of “%(other)s” have no counterpart in this project: %(labels)s. Add them here first.")
            % {"other": other.slug, "labels": ", ".join(missing)},
            code=ALSO,
        )
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
        raise ServiceError(
            _("There is no other project “%(slug)s” that you manage. Its gold can't be used.") % {"slug": slug[:60]},
            code=ALSO,
        )
    if found.archived_at is not None:
        raise ServiceError(
            _("The project “%(slug)s” is archived. Restore it first, or leave out its gold.") % {"slug": slug},
            code=ALSO,
        )
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

"""What lower features ask about the runs and models behind an author's suggestions."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from django.db.models import QuerySet

from annotations.core.hooks import UsedModel
from annotations.models import Author, Project
from annotations.projects.selectors.labels import labels_of
from annotations.release.rules.redaction.policy import IdentifierType, kinds_of, label_of
from annotations.release.selectors.known import kinds_of_labels
from annotations.text.names import whole
from models_runtime.core.combining import models_behind
from models_runtime.core.stages import learned_from
from models_runtime.models import Run, RunItem, RunItemState, TrainedModel
from models_runtime.models.runs import OF_MODEL


def used_models(author: Author) -> list[UsedModel]:
    """The run that wrote the suggestions; for a merged list or an ensemble, also the runs and models that took part."""
    found = {run.pk: run for run in _runs([author.pk, *(author.merged_from or [])])}
    members = [member for run in list(found.values()) for member in run.params.get("members", [])]
    found |= {run.pk: run for run in _runs([member["author"] for member in members if "author" in member])}
    used = [_used(run.author.name, run.backend, run.full_revision, run.model) for run in found.values()]
    return used + [_of_member(author, member) for member in members if "backend" in member]


def _runs(authors: Sequence[int]) -> QuerySet[Run]:
    rows = Run.objects.filter(author__in=authors).order_by("pk")
    return rows.select_related("author", "model", "calibration")


def _of_member(author: Author, member: Mapping[str, Any]) -> UsedModel:
    """A member of an ensemble that was run for it: a backend or a model. The run's revision names its revision."""
    backend = str(member["backend"])
    model = None
    if backend.startswith(OF_MODEL):
        pk = whole(backend.removeprefix(OF_MODEL)) or 0
        model = TrainedModel.objects.filter(project=author.project_id, pk=pk).first()
    return _used(author.name, model.backend if model else backend, str(member.get("revision", "")), model)


def _used(run: str, backend: str, revision: str, model: TrainedModel | None) -> UsedModel:
    if model is None:
        return UsedModel(run=run, backend=backend, revision=revision)
    card = model.card
    learned = card.get("refit") or card  # The card's own counts are those of the held-out model.
    return UsedModel(
        run=run,
        backend=backend,
        revision=revision,
        model=model.name,
        gold=card.get("gold"),
        gold_hash=card.get("gold_hash"),
        notes=learned.get("notes"),
        spans=learned.get("spans"),
    )


def threshold_of(author: Author) -> float | None:
    """The masking threshold of an author's run; None without one."""
    params = Run.objects.filter(author=author).values_list("params", flat=True).first()
    return (params or {}).get("threshold")


def failed_notes(author: Author) -> QuerySet[RunItem, int]:
    """Query the ids of the notes for which a run gave no usable answer."""
    failed = RunItem.objects.filter(run__author=author, state=RunItemState.FAILED)
    return failed.order_by().values_list("document_id", flat=True)


def notes_learned(author: Author) -> set[int]:
    """The ids of notes from which the models behind an author's runs learned, a refitted one from its hold-out too."""
    runs = Run.objects.filter(author=author).select_related("project", "author", "model__gold_version")
    return {note for run in runs for model in models_behind(run) for note in learned_from(model)}


# What the rules find in a note, for the leak gate of a release. The rules are loaded when a note is searched.


if TYPE_CHECKING:
    from models_runtime.backends.rules.backend import RulesBackend


class RulesSearch:
    """The rules for a note's language; those for all languages where it is empty, and shapes alone in another one."""

    @property
    def revision(self) -> str:
        return _rules("").revision

    @property
    def kinds(self) -> frozenset[IdentifierType]:
        rules = _rules("")
        return frozenset(kinds_of(rules.label_set)[label] for label in rules.labels)

    def knows(self, language: str) -> bool:
        from models_runtime.backends.rules.backend import LANGUAGES

        return not language or language in LANGUAGES

    def find(self, text: str, language: str) -> Iterable[tuple[int, int, IdentifierType]]:
        rules = _rules(language)
        kind_of = kinds_of(rules.label_set)
        return [(span.start, span.end, kind_of[span.label]) for span in rules.predict([text])[0]]


def candidates_by_rules(project: Project, text: str, language: str) -> list[tuple[int, int, int]]:
    """What the rules find that has a label in the project: start, end and the id of the label."""
    ids = {label.code: label.pk for label in labels_of(project)}
    labels: dict[IdentifierType, int] = {}
    for code, kind in kinds_of_labels(project).items():
        labels.setdefault(kind, ids[code])
    hits = RulesSearch().find(text, language)
    return [(start, end, label) for start, end, kind in hits if (label := label_of(kind, labels)) is not None]


@cache
def _rules(language: str) -> "RulesBackend":
    from models_runtime.backends.rules.backend import LANGUAGES, RulesBackend

    known = language in LANGUAGES
    return RulesBackend(languages=[language] if known else LANGUAGES, abroad=bool(language) and not known)

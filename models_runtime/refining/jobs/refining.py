"""Refine a source's annotations, note by note, by the refinement's method; without a language model also how.

A worker that takes over continues with the notes that have no annotation set yet.
"""

import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from typing import Any, Final

from django.db import transaction
from django.db.models import Count
from django.utils.translation import gettext as _

from annotations.core.bulk import batched
from annotations.core.services import ServiceError, keep_labels
from annotations.gold.services.splitting import patient_key
from annotations.jobs.registry import load
from annotations.jobs.runner import Claim
from annotations.models import AnnotationSet, Document, GoldVersion, GoldVersionNote, Project
from annotations.projects.selectors.labels import accepted_labels
from annotations.scores.selectors import label_words
from annotations.text.spans import Span
from models_runtime.backends.refining.todo import Action, Todo
from models_runtime.models import RefinedItem, Refinement
from models_runtime.refining.jobs.keeping import count_of_source, patients_of_source, source_spans, waiting, write

# The methods that a job carries out, with what does it: `refiner(claim, refinement).refine()`, safe to repeat.
#
# A client over MCP decides without a job, so it isn't here.


METHODS: Final[dict[str, str]] = {
    Refinement.Method.OFFLINE: "models_runtime.refining.jobs.refining.OfflineRefiner",
    Refinement.Method.SINGLE: "models_runtime.refining.jobs.by_model.SingleRefiner",
    Refinement.Method.AGENT: "models_runtime.refining.jobs.by_model.AgentRefiner",
}
WITH_MODEL: Final[dict[str, str]] = {Refinement.Method.SINGLE: "refine", Refinement.Method.AGENT: "agent"}
"""The methods that ask a language model, with the task of their prompt."""


COUNTS = ("calls", "tokens_in", "tokens_out", "unreadable", "not_applied")


def run(claim: Claim) -> dict[str, Any]:
    """Refine the notes of a refinement. Safe to repeat."""
    row = Refinement.objects.select_related("project__label_set", "source", "author", "gold_version__project").get(
        pk=claim.params["refinement_id"]
    )
    load(METHODS[row.method])(claim, row).refine()
    claim.done = claim.total
    return result_of(row)


def result_of(row: Refinement) -> dict[str, Any]:
    """The counts of decisions: {"author", "kept", "updated", "removed"} and the number of notes.

    With a language model also its calls, tokens, seconds, unreadable answers, and updates that could not be applied.
    """
    rows = RefinedItem.objects.filter(refinement=row).order_by().values_list("action")
    counted = Counter(dict(rows.annotate(count=Count("pk"))))
    found = {
        "author": row.author.name,
        "kept": counted[Action.KEEP],
        "updated": counted[Action.UPDATE],
        "removed": counted[Action.REMOVE],
        "notes": AnnotationSet.objects.filter(author=row.author).count(),
    }
    if row.server:
        row.refresh_from_db(fields=[*COUNTS, "seconds"])
        found |= {name: getattr(row, name) for name in COUNTS} | {"seconds": round(row.seconds, 3)}
    return found


# What the offline agent of a refinement learns from: gold of other patients than those of the note.
#
# The patients are dealt into FOLDS groups. A note is refined by the model that learned from the other groups, so that
# no gold of its patient has any part in its decisions. A note without gold in the version gets the model of all groups.
# If the patients to refine are no more than a group, one model that learned from none of them decides about all notes.


FOLDS: Final = 5
MOST_NOTES: Final = 2000
"""Notes from which a model learns, at most; the first ones by a hash of their text."""
LEFT_OUT: Final = FOLDS
"""The group of the patients whose notes are refined, if they are few."""
_READ_AT_ONCE: Final = 200
BATCH: Final = 50
"""Notes whose lists and sets are written in one transaction."""


class FoldModels:
    """The models of a refinement, each learned when a note first needs it.

    `refined`: patient id and name of every note that is refined, also of those that are finished, so that a worker that
    takes over learns the same.
    """

    def __init__(self, project: Project, version: GoldVersion | None, refined: Iterable[tuple[str, str]]) -> None:
        self._version = version
        self._merged = label_words(project).merged
        self._agent = load("models_runtime.backends.refining.offline.OfflineAgent")(project.label_set.key)
        self._models: dict[int | None, Any] = {}
        self._examples: dict[int, Any] = {}
        rows = GoldVersionNote.objects.filter(version=version).order_by("document__sha256", "document_id")
        names = rows.values_list("document_id", "document__patient_id", "document__name")
        self._patients = {patient_key(patient_id, name) for _, patient_id, name in names}
        self._few = _few(self._patients, refined)
        self._folds = {pk: self._fold_of(patient_id, name) for pk, patient_id, name in names}

    def refine(self, todo: Todo, patient_id: str, name: str) -> Todo:
        """Decide about a note of this patient, with a model that learned nothing from the patient.

        Without a gold version, or with too little gold to learn from, validators and rules decide alone.
        """
        fold = LEFT_OUT if self._few else self._fold_of(patient_id, name)
        if fold not in self._models:
            self._models[fold] = self._agent.learn(self._notes(fold))
        decided: Todo = self._agent.refine(todo, self._models[fold])
        return decided

    def _fold_of(self, patient_id: str, name: str) -> int | None:
        """The group of a patient of the version; None for a patient who has no part in it, or in a group of few."""
        key = patient_key(patient_id, name)
        if self._few:
            return LEFT_OUT if key in self._few else None
        return fold_of(patient_id, name) if key in self._patients else None

    def _notes(self, left_out: int | None) -> Iterator[Any]:
        chosen = [pk for pk, fold in self._folds.items() if fold != left_out][:MOST_NOTES]
        unread = [pk for pk in chosen if pk not in self._examples]
        for at in range(0, len(unread), _READ_AT_ONCE):
            rows = GoldVersionNote.objects.filter(version=self._version, document__in=unread[at : at + _READ_AT_ONCE])
            for pk, text, spans in rows.values_list("document_id", "document__text", "spans"):
                gold = [Span(start, end, self._merged.get(code, code)) for start, end, code, *_ in spans]
                self._examples[pk] = self._agent.examples(text, gold)
        # A note that was erased meanwhile has no examples.
        return (self._examples[pk] for pk in chosen if pk in self._examples)


def _few(patients: Set[str], refined: Iterable[tuple[str, str]]) -> set[str]:
    """The patients whose notes are refined, among `patients`; empty if they are more than a group, or none."""
    found: set[str] = set()
    for patient_id, name in refined:
        key = patient_key(patient_id, name)
        if key in patients:
            found.add(key)
            if len(found) * FOLDS > len(patients):
                return set()
    return found


def fold_of(patient_id: str, name: str) -> int:
    """The group of a patient, from 0 to FOLDS - 1: the same in every version and database."""
    return zlib.crc32(patient_key(patient_id, name).encode("utf-8", "surrogatepass")) % FOLDS


@dataclass(frozen=True)
class OfflineRefiner:
    """A job that refines without a language model."""

    claim: Claim
    row: Refinement

    def refine(self) -> None:
        """Refine the waiting notes. Raises ServiceError `version`."""
        claim, row = self.claim, self.row
        if claim.params.get("gold") and row.gold_version is None:
            raise ServiceError(_("The gold version was deleted. Start a new refinement."), code="version")
        models = FoldModels(row.project, row.gold_version, patients_of_source(row))
        todo = list(waiting(row).order_by("document_id").values_list("document_id", flat=True))
        total = count_of_source(row)
        done = total - len(todo)
        for batch in batched(todo, BATCH):
            claim.check()
            lists = _refined(row, models, batch)
            done += len(batch)
            # A write keeps other workers from writing, so the decisions are made before the transaction.
            with transaction.atomic():
                keep_labels(row.project_id)
                claim.progress(done, total)
                write(row, lists)


def _refined(row: Refinement, models: FoldModels, notes: Sequence[int]) -> dict[int, Todo]:
    """The decided to-do lists of these notes."""
    spans = source_spans(row, notes)
    _accepted, ids = accepted_labels(row.project)
    rows = Document.objects.filter(pk__in=notes).values_list("pk", "text", "patient_id", "name")
    return {pk: models.refine(Todo.of(text, spans.get(pk, []), ids), *patient) for pk, text, *patient in rows}

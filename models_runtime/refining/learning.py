"""What the offline agent of a refinement learns from: gold of other patients than those of the note.

The patients are dealt into FOLDS groups. A note is refined by the model that learned from the other groups, so that no
gold of its patient has any part in its decisions. A note without gold in the version gets the model of all groups.
"""

import zlib
from collections.abc import Iterator
from typing import Any, Final

from annotations.domain.refining.todo import Todo
from annotations.domain.spans import Span
from annotations.gold.services.splitting import patient_key
from annotations.jobs.registry import load
from annotations.models import GoldVersion, GoldVersionNote
from annotations.scores.selectors import label_words
from models_runtime.core.registry import OFFLINE_AGENT

FOLDS: Final = 5
MOST_NOTES: Final = 2000
"""Notes from which a model learns, at most; the first ones by a hash of their text."""
_BATCH: Final = 200


class FoldModels:
    """The models of a refinement, each learned when a note first needs it."""

    def __init__(self, version: GoldVersion) -> None:
        self._version = version
        self._merged = label_words(version.project).merged
        self._agent = load(OFFLINE_AGENT)(version.project.label_set.key)
        self._models: dict[int | None, Any] = {}
        self._examples: dict[int, Any] = {}
        rows = GoldVersionNote.objects.filter(version=version).order_by("document__sha256", "document_id")
        names = rows.values_list("document_id", "document__patient_id", "document__name")
        self._folds = {pk: fold_of(patient_id, name) for pk, patient_id, name in names}
        self._patients = {patient_key(patient_id, name) for _, patient_id, name in names}

    def refine(self, todo: Todo, patient_id: str, name: str) -> Todo | None:
        """Decide about a note of this patient, with a model that learned nothing from the patient.

        None if there is too little gold to learn from.
        """
        fold = fold_of(patient_id, name) if patient_key(patient_id, name) in self._patients else None
        if fold not in self._models:
            self._models[fold] = self._agent.learn(self._notes(fold))
        model = self._models[fold]
        return None if model is None else self._agent.refine(todo, model)

    def _notes(self, left_out: int | None) -> Iterator[Any]:
        chosen = [pk for pk, fold in self._folds.items() if fold != left_out][:MOST_NOTES]
        unread = [pk for pk in chosen if pk not in self._examples]
        for at in range(0, len(unread), _BATCH):
            rows = GoldVersionNote.objects.filter(version=self._version, document__in=unread[at : at + _BATCH])
            for pk, text, spans in rows.values_list("document_id", "document__text", "spans"):
                gold = [Span(start, end, self._merged.get(code, code)) for start, end, code, *_ in spans]
                self._examples[pk] = self._agent.examples(text, gold)
        # A note that was erased meanwhile has no examples.
        return (self._examples[pk] for pk in chosen if pk in self._examples)


def fold_of(patient_id: str, name: str) -> int:
    """The group of a patient, from 0 to FOLDS - 1: the same in every version and database."""
    return zlib.crc32(patient_key(patient_id, name).encode("utf-8", "surrogatepass")) % FOLDS

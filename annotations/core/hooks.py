"""Hooks between features. Functions register in AppConfig.ready() and run in the caller's transaction unless noted."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.utils.module_loading import import_string


class Hook:
    """Functions that are called with the same arguments, in the order of registration.

    They are registered by their dotted paths and imported when they are called, so that a process loads only what it
    needs.
    """

    def __init__(self) -> None:
        self._paths: list[str] = []

    def add(self, *paths: str) -> None:
        self._paths += paths

    def __iter__(self) -> Iterator[Callable[..., Any]]:
        return map(import_string, self._paths)

    def __call__(self, *args: object, **about: object) -> list[Any]:
        return [answer(*args, **about) for answer in self]


@dataclass(frozen=True)
class UsedModel:
    """A run, what executed it, and what its model learned from; see the hook `models_of`.

    `gold` is the number of a gold version of this project, `gold_hash` its hash, `notes` and `spans` what the model
    learned from. They are None where there is no trained model, or where the model came from elsewhere.
    """

    run: str
    backend: str
    revision: str
    model: str | None = None
    gold: int | None = None
    gold_hash: str | None = None
    notes: int | None = None
    spans: int | None = None


# Something asks which models made the suggestions of `author`. Each answer is a list of UsedModel.
models_of = Hook()
# A page or command shows the figures of `author`. Each answer is the masking threshold of its run, or None.
thresholds_of = Hook()
# The annotations of `author` are about to be scored. Each answer is a query of the ids of notes for which a model gave
# no usable answer: nothing was found in them.
notes_without_answer = Hook()
# The annotations of `author` are scored. Each answer holds the ids of notes from which a model behind them learned: its
# figures there are too good.
notes_learned_from = Hook()
# A page is about to show the disagreements in a project: a few notes may be compared now. Each answer is the number of
# notes that are still to be compared.
disagreements_shown = Hook()
# The audit log shows events of `project`. Each answer holds the names of things by the key of an event's data, then by
# the value stored there: {"model": {3: "crf-1"}}.
audit_names = Hook()
# Notes are being erased from `project`, a patient's or a single one: each feature deletes what it derived from them and
# keeps elsewhere. `notes` are their ids; they still exist. `patient` is the patient's id, empty for a single note.
patient_erased = Hook()
# The last rows of `project` are being deleted: each feature deletes what no foreign key connects with the project.
project_deleted = Hook()
# A run or an import has just stored and counted suggestions of `author` for `notes`, a collection of ids. A feature may
# hide some of them before anybody sees them.
suggestions_stored = Hook()
# A page shows what a refiner proposes to remove: called with `author` and `document`. Each answer is a list of
# core.suggestions.ProposedRemoval, in the order of the text.
proposed_removals = Hook()
# An erasure lists the texts that people wrote in `project`: each answer holds FreeTexts (annotations.ops).
more_texts = Hook()
# Each answer holds the KeptWeights (annotations.ops) of models in other projects that learned from notes of `project`.
more_weights = Hook()
# Each answer is a Search (annotations.release.services.searching) that the leak gate runs over released text.
gate_searches = Hook()
# The annotate page of `project` asks what the rules find in `text`, in `language` (may be empty). Each answer holds
# tuples: start, end (code points, end-exclusive), and the id of a label of the project.
rule_candidates = Hook()
# Each answer is the name and the MakerKind (annotations.release.services.surrogates.makers) of makers of surrogates.
surrogate_makers = Hook()
# The relay calls these every ten minutes to delete what has expired.
tidiers = Hook()
# The relay calls these in each round, about once a second. A call that has something to do works for about a second.
relay_steps = Hook()
# A worker calls these with every heartbeat, with a connection or a pipeline of Redis, its key, and `seconds`.
heartbeats = Hook()
# These are called with the id and the state of a job that is done or failed, in the transaction that writes the state.
job_ended = Hook()

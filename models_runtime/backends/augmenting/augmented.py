"""The training notes of a task as its settings `header_dropout` and `surrogates` want them."""

import hashlib
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from annotations.text.spans import Span
from models_runtime.backends.augmenting.headers import without_header
from models_runtime.backends.augmenting.surrogates import replaceable, with_surrogates
from models_runtime.backends.base import BackendError
from models_runtime.backends.learner import Note, TrainingTask

HEADER_DROPOUT: Final = "header_dropout"
SURROGATES: Final = "surrogates"
SEED: Final = 7


def augmented(task: TrainingTask) -> TrainingTask:
    """The task with other training notes; its held-out and unlabeled notes stay.

    `surrogates`: how many copies of each note are added, with surrogates in place of identifiers. `header_dropout`: the
    probability with which a note, or a copy, loses its header. Chance depends on the setting `seed` and on each note's
    text alone, so a refit changes the same notes in the same way. Raises BackendError (permanent) for surrogates in a
    label set that is not shipped.
    """
    dropout = float(task.settings.get(HEADER_DROPOUT, 0))
    copies = int(task.settings.get(SURROGATES, 0))
    if copies and not replaceable(task.label_set):
        raise BackendError("No surrogates can be made for this label set. Train without surrogates.", permanent=True)
    if not copies and not dropout:
        return task
    seed = int(task.settings.get("seed", SEED))
    notes = [_one(task, text, spans, copy, dropout, seed) for copy in range(copies + 1) for text, spans in task.notes]
    return replace(task, notes=notes)


def _one(task: TrainingTask, text: str, spans: Sequence[Span], copy: int, dropout: float, seed: int) -> Note:
    """The note itself (copy 0) or one of its copies."""
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    chance = random.Random(f"{seed} {copy} {digest}")  # noqa: S311 - reproducible, not secret
    drops = chance.random() < dropout
    if copy:
        text, spans = with_surrogates(text, spans, task.label_set, task.language, chance)
    return without_header(text, spans) if drops else (text, spans)

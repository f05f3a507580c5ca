"""Examples for a language model: annotations of other patients, with the right answers by gold.

They are annotations that the source made in notes of the gold version: correct, to be updated, or to be removed.
"""

from collections import Counter
from typing import Final

from annotations.gold.services.splitting import patient_key
from annotations.models import GoldVersionNote
from annotations.scores.selectors import label_words
from annotations.text.spans import Span, overlaps
from models_runtime.backends.refining.correcting import ANSWERS, Correction, Shot
from models_runtime.models import Refinement
from models_runtime.refining.jobs.keeping import source_spans

MOST: Final = 30
"""Examples in one question, at most."""
_NOTES: Final = 200
_OF_A_PATIENT: Final = 2
_AROUND: Final = 60


class Examples:
    """The examples of a refinement: the same ones in every worker, at most two of a kind from one patient."""

    def __init__(self, row: Refinement, count: int) -> None:
        self._count = count
        self._pool: dict[str, list[tuple[str, Shot]]] = {answer: [] for answer in ANSWERS}
        if count and row.gold_version is not None:
            self._read(row)

    def of(self, patient_id: str, name: str) -> list[Shot]:
        """Examples for a note of this patient, in turn of each answer, none of them from the patient."""
        own = patient_key(patient_id, name)
        queues = [[one for patient, one in pool if patient != own] for pool in self._pool.values()]
        turns = max(map(len, queues))
        return [queue[at] for at in range(turns) for queue in queues if at < len(queue)][: self._count]

    def _read(self, row: Refinement) -> None:
        merged = label_words(row.project).merged
        notes = GoldVersionNote.objects.filter(version=row.gold_version).order_by("document__sha256", "document_id")
        columns = ("document_id", "document__patient_id", "document__name", "document__text", "spans")
        found = list(notes.values_list(*columns)[:_NOTES])
        made = source_spans(row, [pk for pk, *_ in found])
        taken: Counter[tuple[str, str]] = Counter()
        for pk, patient_id, name, text, spans in found:
            gold = [Span(start, end, merged.get(code, code)) for start, end, code, *_ in spans]
            patient = patient_key(patient_id, name)
            for span in made.get(pk, []):
                right = _right(text, span, gold)
                if taken[patient, right.answer] < _OF_A_PATIENT:
                    taken[patient, right.answer] += 1
                    self._pool[right.answer].append((patient, _example(text, span, right)))


def _right(text: str, span: Span, gold: list[Span]) -> Correction:
    near = [one for one in gold if overlaps(one, span)]
    if not near:
        return Correction(answer="remove")
    best = min(near, key=lambda one: (abs(one.start - span.start) + abs(one.end - span.end), one.label != span.label))
    if (best.start, best.end, best.label) == (span.start, span.end, span.label):
        return Correction(answer="correct")
    return Correction(answer="update", text=text[best.start : best.end], type=best.label)


def _example(text: str, span: Span, right: Correction) -> Shot:
    before, after = text[max(0, span.start - _AROUND) : span.start], text[span.end : span.end + _AROUND]
    return Shot(before, text[span.start : span.end], after, span.label, right)

"""Calibrate a backend: measure with a gold version how often its spans are correct at each confidence."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext

from annotations import models
from annotations.core.authors import origin_of
from annotations.core.bulk import in_batches
from annotations.core.services import Progress, ServiceError, erasures_of, silent, unerased
from annotations.gold.rules import Split
from annotations.gold.services.splitting import patient_key
from annotations.jobs.runner import Claim
from annotations.scores.selectors import label_words
from annotations.text.spans import Span as DomainSpan
from models_runtime.backends.marginals import is_added, revision_without
from models_runtime.core.combining import models_behind
from models_runtime.core.stages import learned_from
from models_runtime.models import Calibration, Run
from models_runtime.training.events import CALIBRATED
from models_runtime.training.rules.curves import Curves, Outcomes, TooFew, fitted, fold_of

BATCH = 250


def run(claim: Claim) -> dict[str, Any]:
    """Calibrate with a run. Safe to repeat, because only the last transaction stores results."""
    row = Run.objects.select_related("project", "author", "model").get(pk=claim.params["run_id"])
    begun = erasures_of(row.project_id)
    version = models.GoldVersion.objects.get(project=row.project, number=claim.params["gold"])
    actor = models.User.objects.filter(pk=claim.actor_id).first() if claim.actor_id else None
    made = calibration_by(row, version, progress=claim.progress)
    with claim.fenced():
        unerased(row.project_id, begun)
        keep(made, actor)
        claim.done = claim.total
        claim.finish({"run_id": row.pk, "run": row.author.name, "gold": version.number, "calibration_id": made.pk})
    return {}


def calibration_by(run: Run, version: models.GoldVersion, *, progress: Progress = silent) -> Calibration:
    """Calibrate with a run and a gold version, without storing the result. Raises ServiceError `notes` or `spans`."""
    counting = _SpanCounter(run, version)
    for done, total in counting.count_all():
        progress(done, total)
    if not counting.notes:
        message = gettext(
            "None of the notes of gold version %(number)s can be used: the run has not processed them, its model "
            "was trained on them, or they are in the test split. Choose another version."
        )
        raise ServiceError(message % {"number": version.number}, code="notes")
    fields = {"run": run, "backend": run.backend, "revision": run.revision, "model": run.model}
    counts = {"notes": counting.notes, "own_spans": counting.own, "left_out": dict(counting.left_out)}
    return calibration_of(counting.outcomes, counting.added, version, **fields, **counts)


def calibration_of(outcomes: Outcomes, added: Outcomes, version: models.GoldVersion, **fields: Any) -> Calibration:
    """Fit a calibration with these fields, without storing it. Raises ServiceError `spans` for too few spans.

    `added`: the spans that only a masking threshold adds.
    """
    try:
        found = fitted(outcomes, added)
    except TooFew as error:
        raise ServiceError(str(error), code="spans") from error
    gold = {"gold_version": version, "gold_number": version.number, "gold_hash": version.content_hash}
    curves = {"curves": found.curves.as_dict(), "figures": found.figures()}
    return Calibration(project=version.project, **gold, **curves, **fields)


def keep(made: Calibration, actor: models.User | None) -> None:
    """Store a calibration in the caller's transaction. New runs of the same backend and revision use it."""
    made.created_by = actor
    made.save(force_insert=True)
    CALIBRATED.record(
        actor=actor,
        project_id=made.project_id,
        data={"backend": made.backend, "calibration": made.pk, "gold": made.gold_number},
    )


def newest(project: models.Project, backend: str, revision: str) -> Calibration | None:
    """Return the calibration that new runs of this backend and revision use.

    A run at a masking threshold uses the calibration of a run at this threshold, else that of the model's best paths.
    """
    rows = Calibration.objects.filter(project=project, backend=backend, withdrawn_at=None).order_by("-pk")
    return rows.filter(revision=revision).first() or rows.filter(revision=revision_without(revision)).first()


def curves_of(row: Calibration | None) -> Curves | None:
    return Curves.from_dict(row.curves) if row else None


@dataclass
class _SpanCounter:
    """Counts the run's correct and incorrect spans. `own` counts gold spans that were copied from the run."""

    run: Run
    version: models.GoldVersion
    outcomes: Outcomes = field(default_factory=Outcomes)
    added: Outcomes = field(default_factory=Outcomes)
    notes: int = 0
    own: int = 0
    left_out: Counter[str] = field(default_factory=Counter)

    def count_all(self) -> Iterator[tuple[int, int]]:
        """Count all notes. After each batch, yield the number of counted notes and of all notes."""
        learned = {note for model in models_behind(self.run) for note in learned_from(model)}
        self._merged = label_words(self.version.project).merged
        rows = models.GoldVersionNote.objects.filter(version=self.version)
        columns = ("document_id", "split", "document__patient_id", "document__name")
        total, done = rows.count(), 0
        for batch in in_batches(rows.values_list(*columns), BATCH, by="document_id"):
            self.left_out["test"] += sum(split == Split.TEST for _, split, *_ in batch)
            self.left_out["learned"] += sum(pk in learned and split != Split.TEST for pk, split, *_ in batch)
            self._count(
                {
                    pk: fold_of(patient_key(patient, name))
                    for pk, split, patient, name in batch
                    if split != Split.TEST and pk not in learned
                }
            )
            done += len(batch)
            yield done, total

    def _count(self, folds: dict[int, int]) -> None:
        sets = models.AnnotationSet.objects.filter(
            author=self.run.author_id, document__in=folds, state=models.AnnotationSetState.SUBMITTED
        )
        note_of = dict(sets.values_list("pk", "document_id"))
        gold = self._gold(list(note_of.values()))
        self.notes += len(note_of)
        spans = models.Span.objects.filter(annotation_set__in=note_of).order_by()
        for pk, start, end, code, confidence, raw, source in spans.values_list(
            "annotation_set_id", "start", "end", "label__code", "confidence", "raw_confidence", "source"
        ):
            label = self._merged.get(code, code)
            right = (start, end, label) in gold[note_of[pk]]
            outcomes = self.added if is_added(source) else self.outcomes
            outcomes.add(label, confidence if raw is None else raw, right=right, fold=folds[note_of[pk]])

    def _gold(self, notes: list[int]) -> dict[int, set[tuple[int, int, str]]]:
        found: dict[int, set[tuple[int, int, str]]] = {}
        origin = origin_of(self.run.author)
        rows = models.GoldVersionNote.objects.filter(version=self.version, document__in=notes)
        for note, spans in rows.values_list("document_id", "spans"):
            found[note] = {(start, end, self._merged.get(code, code)) for start, end, code, *_ in spans}
            self.own += sum(origin.gave(span[3]) for span in spans)
        return found


class HeldOut:
    """Counts a model's correct and incorrect spans in the hold-out of its training, in the order of note ids.

    `added`: spans that only a masking threshold adds, each distinct one at any threshold once.
    """

    def __init__(self, documents: Sequence[int]) -> None:
        self.outcomes = Outcomes()
        self.added = Outcomes()
        rows = models.Document.objects.filter(pk__in=documents).values_list("pk", "patient_id", "name")
        patient_of = {pk: patient_key(patient, name) for pk, patient, name in rows}
        self._folds = [fold_of(patient_of[pk]) for pk in documents if pk in patient_of]

    def __call__(self, index: int, found: Iterable[DomainSpan], gold: Iterable[DomainSpan]) -> None:
        """Count the predicted spans of the note at `index`."""
        in_gold = {(span.start, span.end, span.label) for span in gold}
        for span in found:
            right = (span.start, span.end, span.label) in in_gold
            outcomes = self.added if is_added(span.source) else self.outcomes
            outcomes.add(span.label, span.confidence, right=right, fold=self._folds[index])

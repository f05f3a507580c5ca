"""The method *offline*: a model learned from gold decides. Lists and sets of a batch are written in one transaction."""

from collections.abc import Sequence
from typing import Final

from django.db import transaction
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.core.label_lock import keep_labels
from annotations.jobs.runner import Claim
from annotations.models import Document
from annotations.projects.selectors.labels import accepted_labels
from models_runtime.backends.refining.todo import Todo
from models_runtime.models import Refinement
from models_runtime.refining.jobs.keeping import count_of_source, patients_of_source, source_spans, waiting, write
from models_runtime.refining.jobs.learning import FoldModels

BATCH: Final = 50


def refine(claim: Claim, row: Refinement) -> None:
    """Refine the waiting notes. Raises ServiceError `version`."""
    if claim.params.get("gold") and row.gold_version is None:
        raise ServiceError(_("The gold version was deleted. Start a new refinement."), code="version")
    models = FoldModels(row.project, row.gold_version, patients_of_source(row))
    todo = list(waiting(row).order_by("document_id").values_list("document_id", flat=True))
    total = count_of_source(row)
    done = total - len(todo)
    for at in range(0, len(todo), BATCH):
        batch = todo[at : at + BATCH]
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
    found = {}
    for pk, text, patient_id, name in Document.objects.filter(pk__in=notes).values_list(
        "pk", "text", "patient_id", "name"
    ):
        found[pk] = models.refine(Todo.of(text, spans.get(pk, []), ids), patient_id, name)
    return found

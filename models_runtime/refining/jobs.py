"""Refine a source's annotations, note by note. Lists and sets of a batch are written in one fenced transaction.

A worker that takes over continues with the notes that have no annotation set yet.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.db import transaction
from django.db.models import Count, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations.core.bulk import SpanRow, insert_objects
from annotations.core.erasures import hold
from annotations.core.errors import ServiceError
from annotations.core.label_lock import keep_labels
from annotations.domain.refining.todo import Action, Todo
from annotations.domain.spans import Span as DomainSpan
from annotations.domain.strings import string_key
from annotations.jobs.runner import Claim
from annotations.models import AnnotationSet, Document, Span
from annotations.projects.selectors.labels import accepted_labels
from models_runtime.core.suggestions import store_suggestions
from models_runtime.models import RefinedItem, Refinement
from models_runtime.refining.learning import FoldModels

BATCH: Final = 50
SUBMITTED: Final = AnnotationSet.State.SUBMITTED


def run(claim: Claim) -> dict[str, Any]:
    """Refine the notes of a refinement. Safe to repeat."""
    row = Refinement.objects.select_related("project__label_set", "source", "author", "gold_version__project").get(
        pk=claim.params["refinement_id"]
    )
    if row.gold_version is None:
        raise ServiceError(_("The gold version was deleted. Start a new refinement."), code="version")
    models = FoldModels(row.gold_version)
    todo = list(waiting(row).order_by("document_id").values_list("document_id", flat=True))
    total = AnnotationSet.objects.filter(author=row.source, state=SUBMITTED).count()
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
            _write(row, lists)
    claim.done = claim.total = total
    return result_of(row)


def waiting(row: Refinement) -> "QuerySet[AnnotationSet]":
    """The source's annotation sets of notes that are not refined yet."""
    refined = AnnotationSet.objects.filter(author=row.author).values("document")
    return AnnotationSet.objects.filter(author=row.source, state=SUBMITTED).exclude(document__in=refined)


def result_of(row: Refinement) -> dict[str, Any]:
    """The counts of decisions: {"author", "kept", "updated", "removed"} and the number of notes."""
    rows = RefinedItem.objects.filter(refinement=row).order_by().values_list("action")
    counted = Counter(dict(rows.annotate(count=Count("pk"))))
    return {
        "author": row.author.name,
        "kept": counted[Action.KEEP],
        "updated": counted[Action.UPDATE],
        "removed": counted[Action.REMOVE],
        "notes": AnnotationSet.objects.filter(author=row.author).count(),
    }


def _refined(row: Refinement, models: FoldModels, notes: Sequence[int]) -> dict[int, Todo]:
    """The decided to-do lists of these notes."""
    spans: defaultdict[int, list[DomainSpan]] = defaultdict(list)
    accepted, ids = accepted_labels(row.project)
    rows = Span.objects.filter(
        annotation_set__author=row.source, annotation_set__state=SUBMITTED, annotation_set__document__in=notes
    ).order_by("start", "end", "id")
    columns = ("annotation_set__document_id", "start", "end", "label__code", "confidence", "source")
    for note, start, end, code, confidence, source in rows.values_list(*columns):
        if code in accepted:
            spans[note].append(DomainSpan(start, end, accepted[code], confidence, source))
    found = {}
    for pk, text, patient_id, name in Document.objects.filter(pk__in=notes).values_list(
        "pk", "text", "patient_id", "name"
    ):
        decided = models.refine(Todo.of(text, spans[pk], ids), patient_id, name)
        if decided is None:
            raise ServiceError(
                _("Gold version %(number)d has too few spans to learn from.")
                % {"number": row.gold_version.number if row.gold_version else 0},
                code="gold",
            )
        found[pk] = decided
    return found


def _write(row: Refinement, lists: Mapping[int, Todo]) -> None:
    """Write lists and annotation sets in the caller's fenced transaction. Notes erased meanwhile are left out."""
    hold(row.project_id)
    present = set(Document.objects.filter(pk__in=list(lists)).values_list("pk", flat=True))
    kept = {note: todo for note, todo in lists.items() if note in present}
    RefinedItem.objects.filter(refinement=row, document__in=list(kept)).delete()
    insert_objects(RefinedItem, (item for note, todo in kept.items() for item in _items(row, note, todo)))
    _, ids = accepted_labels(row.project)
    store_suggestions(row.author, {note: _rows(todo, ids) for note, todo in kept.items()}, timezone.now())


def _items(row: Refinement, note: int, todo: Todo) -> list[RefinedItem]:
    found = []
    for item in todo.items:
        made = RefinedItem(
            refinement=row, document_id=note, number=item.number, start=item.span.start, end=item.span.end,
            label=item.span.label,
        )  # fmt: skip
        if item.decision is not None:
            made.action, made.reason, made.step = item.decision.action, item.decision.reason, item.decision.step
            made.new_start, made.new_end, made.new_label = item.decision.start, item.decision.end, item.decision.label
        found.append(made)
    return found


def _rows(todo: Todo, ids: Mapping[str, int]) -> list[SpanRow]:
    """The results as rows of spans. A changed span tells what it was, and every span why it is as it is."""
    rows = {}
    for item in todo.items:
        span = item.result
        if span is None or item.decision is None:
            continue
        told = {
            "refined": {
                "action": str(item.decision.action),
                "was": [item.span.start, item.span.end, item.span.label],
                "reason": item.decision.reason,
            }
        }
        text = todo.text[span.start : span.end]
        made = SpanRow(
            0, span.start, span.end, ids[span.label], span.confidence, span.source[:80],
            json.dumps(told, ensure_ascii=False), None, string_key(text),
        )  # fmt: skip
        rows[made[:4]] = made
    return sorted(rows.values(), key=lambda row: row[:4])

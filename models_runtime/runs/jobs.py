"""Execute a model run: each batch's annotation sets and item states are written in one fenced transaction."""

import json
import logging
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations.core.bulk import SpanRow, insert_objects
from annotations.core.services import Canceled, ServiceError, hold, keep_labels
from annotations.core.spans import as_json, json_of
from annotations.jobs.runner import Claim, take_share, writing_share
from annotations.jobs.runner.claims import Held
from annotations.models import Document, RewrittenNote
from annotations.projects.selectors.labels import accepted_labels
from annotations.text.attributes import Doubtful
from annotations.text.combining import MergedSpan
from annotations.text.hashes import string_key, text_sha256
from annotations.text.spans import DEEPEST, MOST_SPANS, Crowd, SpanError, checked, crowd_in, estimated
from annotations.text.spans import Span as DomainSpan
from models_runtime.backends import base
from models_runtime.backends.marginals import GivesMarginals, ThresholdBackend, is_added
from models_runtime.core.combining import CombinedBackend, combined, spans_of
from models_runtime.core.llm import llm_backend
from models_runtime.core.model_files import load_backend, load_model
from models_runtime.core.registry import ENSEMBLE, LLM
from models_runtime.core.suggestions import store_suggestions
from models_runtime.models import Run, RunItem, RunItemState
from models_runtime.training.jobs.calibration import curves_of, newest

# The items of a run in batches. A batch is a worker's share, as large as the backend takes at once.


# How often the worker that leads the run checks whether other workers have finished their batches (seconds).
LOOK_EVERY = 0.25


def batches(claim: Claim, run: Run, budget: base.Budget) -> Iterator[list[RunItem]]:
    """Yield shares of the pending items by id until none is pending. Failed items are not repeated.

    A helper ends when no item is free. The worker that leads the run waits for the other workers' shares, which are
    free again if a worker dies.
    """
    while True:
        ids = take_share(claim, lambda held: _free(run, held, budget))
        if ids:
            claim.check()
            yield list(RunItem.objects.filter(pk__in=ids).select_related("document").order_by("id"))
        elif claim.leads and pending(run).exists():
            claim.check()
            time.sleep(LOOK_EVERY)
        else:
            return


def pending(run: Run) -> QuerySet[RunItem]:
    return RunItem.objects.filter(run=run, state=RunItemState.PENDING)


def _free(run: Run, held: Held, budget: base.Budget) -> list[int]:
    """Return the next free ids, all before the next share of another worker."""
    rows = pending(run)
    for first, last in held:
        rows = rows.exclude(id__range=(first, last))
    ids: list[int] = []
    tokens = 0
    for pk, length in rows.order_by("id").values_list("id", "document__length")[: budget.notes]:
        tokens += estimated(length)
        if ids and (tokens > budget.tokens or any(ids[0] < first < pk for first, _ in held)):
            break
        ids.append(pk)
    return ids


logger = logging.getLogger("deidreview.runs")


def run(claim: Claim) -> dict[str, Any]:
    """Annotate the pending notes of a run, together with other workers. A killed worker's notes are pending again."""
    row = Run.objects.select_related("project__label_set", "author", "model", "calibration").get(
        pk=claim.params["run_id"]
    )
    backend = _backend(row)
    _same_backend(claim, row, backend)
    mapper = _SpanMapper(row)
    if claim.leads:
        _count(claim, row)
        _record_device(claim, row, backend)
    for items in batches(claim, row, base.budget_of(backend)):
        # A write keeps other workers from writing, so the results are prepared before the transaction.
        results = [mapper.outcome(*each) for each in _predict(backend, items, claim)]
        with transaction.atomic():
            keep_labels(row.project_id)
            with writing_share(claim, len(items)):
                dropped = _write(row, results)
            if dropped:
                Run.objects.filter(pk=row.pk).update(spans_without_label=F("spans_without_label") + dropped)
    if claim.leads:
        _record_device(claim, row, backend)
    return _result(claim, row) if claim.leads else {}


def _record_device(claim: Claim, row: Run, backend: base.Backend | CombinedBackend) -> None:
    """Record the device of the worker that leads the run, and the memory used so far."""
    if isinstance(backend, base.OnDevice):
        row.params |= {"device": backend.device.description, "memory": backend.device.memory()}
        with claim.fenced():
            row.save(update_fields=["params"])


def _same_backend(claim: Claim, row: Run, backend: base.Backend | CombinedBackend) -> None:
    """Check that all workers use the same revision of the backend. Raises ServiceError `revision`."""
    if row.revision == backend.revision:
        return
    if not claim.leads or (row.revision and RunItem.objects.filter(run=row, state=RunItemState.DONE).exists()):
        message = _(
            "The backend changed during this run. Start a new run, because a run can use only one revision of "
            "a backend."
        )
        raise ServiceError(message, code="revision")
    row.revision, row.calibration = backend.revision, newest(row.project, row.backend, backend.revision)
    with claim.fenced():
        row.save(update_fields=["revision", "params", "calibration"])


def _count(claim: Claim, row: Run) -> None:
    """Count the finished items while no helper can write. Each share then increases `done`."""
    with claim.fenced():
        total = RunItem.objects.filter(run=row).count()
        claim.progress(total - pending(row).count(), total)


def _result(claim: Claim, row: Run) -> dict[str, Any]:
    failed = RunItem.objects.filter(run=row, state=RunItemState.FAILED).count()
    claim.done = claim.total = RunItem.objects.filter(run=row).count()
    row.refresh_from_db(fields=["spans_without_label"])
    return {
        "run_id": row.pk,
        "run": row.author.name,
        "notes": claim.total - failed,
        "failed": failed,
        "spans_without_label": row.spans_without_label,
    }


def _backend(row: Run) -> base.Backend | CombinedBackend:
    backend = _without_threshold(row)
    threshold = row.params.get("threshold")
    if threshold is None:
        return backend
    if isinstance(backend, CombinedBackend) or not isinstance(backend, GivesMarginals):
        message = _("This backend gives no probabilities of labels. Start a run without a threshold.")
        raise ServiceError(message, code="threshold")
    return ThresholdBackend(backend, threshold)


def _without_threshold(row: Run) -> base.Backend | CombinedBackend:
    try:
        if row.backend == ENSEMBLE:
            return combined(row)
        if row.backend == LLM:
            return llm_backend(row)
        if row.model is not None:
            return load_model(row.model)
        return load_backend(row.backend, row.project, row.params)
    except (base.BackendError, LookupError) as error:
        raise ServiceError(str(error), code="backend") from error


Result = tuple[RunItem, list[DomainSpan] | None, str, base.RewrittenText | None]
"""An item with its spans, or with None and the reason why it failed, and the note as a model rewrote it."""


def _spans(backend: base.Backend | CombinedBackend, items: Sequence[RunItem]) -> list[list[DomainSpan]]:
    notes = [item.document for item in items]
    return backend.predict(notes) if isinstance(backend, CombinedBackend) else spans_of(backend, notes)


Found = list[DomainSpan] | base.RewrittenText | base.BackendError


def _predict(backend: base.Backend | CombinedBackend, items: Sequence[RunItem], claim: Claim) -> list[Result]:
    """Predict the whole batch at once. If that fails, predict note by note, so that only the faulty notes fail.

    A permanent error of the backend, such as missing weights, stops the run, because every note would fail.
    """

    def together() -> Sequence[Found]:
        if isinstance(backend, base.PredictsEach):
            return backend.predict_each([item.document.text for item in items], claim.check)
        return _spans(backend, items)

    try:
        found = base.each_alone(together, lambda item: _spans(backend, [item])[0], items, stop=Canceled)
    except base.BackendError as error:
        raise ServiceError(str(error), code="backend") from error
    return [_result_of(item, one) for item, one in zip(items, found, strict=True)]


def _result_of(item: RunItem, found: Found) -> Result:
    if isinstance(found, base.BackendError):
        logger.warning("The backend failed on a note of a run.")
        return item, None, str(found)[:300], None
    if not isinstance(found, base.RewrittenText):
        return _checked(item, found)
    if found.error:
        return item, None, found.error[:300], found
    item, spans, reason, _rewritten = _checked(item, found.spans)
    return item, spans, reason, found


def _checked(item: RunItem, spans: Sequence[DomainSpan]) -> Result:
    try:
        return item, [checked(item.document.text, span) for span in spans], "", None
    except SpanError as error:
        return item, None, f"The backend returned an invalid span ({error.code}).", None


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What to write for an item: rows of spans, still without a set, and the number of spans without a label.

    `rows` is None if the item failed; `reason` says why.
    """

    item: RunItem
    rows: list[SpanRow] | None
    left_out: int
    reason: str
    rewritten: base.RewrittenText | None = None


class _SpanMapper:
    """Maps a backend's spans to the project's labels and to calibrated confidence."""

    def __init__(self, row: Run) -> None:
        accepted, label_ids = accepted_labels(row.project)
        self._labels = {code: (target, label_ids[target]) for code, target in accepted.items()}
        self._curves = curves_of(row.calibration)

    def outcome(
        self, item: RunItem, spans: Sequence[DomainSpan] | None, reason: str, rewritten: base.RewrittenText | None
    ) -> _Outcome:
        if spans is None:
            return _Outcome(item, None, 0, reason, rewritten)
        made = [self._row(item.document.text, span) for span in spans]
        # Two spans with the same bounds are one span if their labels map to the same label of the project.
        rows = {row[:4]: row for row in reversed(made) if row is not None}
        crowd = crowd_in((row.start, row.end) for row in rows.values())
        if crowd is not None:
            return _Outcome(item, None, 0, _too_many(crowd))
        return _Outcome(item, sorted(rows.values(), key=lambda row: row[:4]), made.count(None), reason, rewritten)

    def _row(self, text: str, span: DomainSpan) -> SpanRow | None:
        """Return the span's row without its set, or None if the project has no such label."""
        if span.label not in self._labels:
            return None
        code, label = self._labels[span.label]
        raw = confidence = span.confidence
        added = is_added(span.source)
        if raw is None or self._curves is None or not self._curves.covers(added=added):
            raw = None
        else:
            confidence = self._curves(code, raw, added=added)
        provenance = json.dumps(span.provenance) if isinstance(span, MergedSpan | Doubtful) else None
        string = string_key(text[span.start : span.end])
        attributes = as_json(json_of(span.attributes))
        return SpanRow(
            0, span.start, span.end, label, confidence, span.source[:80], provenance, raw, string, attributes
        )


def _too_many(crowd: Crowd) -> str:
    if crowd.at is None:
        return f"The backend returned {crowd.count:,} spans. An annotation set can have at most {MOST_SPANS:,}."
    return (
        f"The backend returned {crowd.count} overlapping spans at character {crowd.at}. "
        f"At most {DEEPEST} spans can overlap."
    )


def _write(row: Run, results: Sequence[_Outcome]) -> int:
    """Write a batch's annotation sets and item states in the caller's fenced transaction.

    Return the number of spans without a label.
    """
    now = timezone.now()
    # Notes may have been erased meanwhile, together with their items. Their results are not written.
    hold(row.project_id)
    present = set(
        Document.objects.filter(pk__in=[each.item.document_id for each in results]).values_list("pk", flat=True)
    )
    written = [each for each in results if each.item.document_id in present]
    store_suggestions(row.author, {each.item.document_id: each.rows for each in written if each.rows is not None}, now)
    _store_rewritten(row, written)
    _store_states(written, now)
    return sum(each.left_out for each in written)


def _store_rewritten(row: Run, written: Sequence[_Outcome]) -> None:
    """Keep the notes as a model rewrote them. A retried note's earlier text is replaced."""
    kept = [(each.item.document_id, each.rewritten) for each in written if each.rewritten and each.rewritten.text]
    RewrittenNote.objects.filter(
        author=row.author_id, document__in=[each.item.document_id for each in written]
    ).delete()
    insert_objects(
        RewrittenNote,
        (
            RewrittenNote(
                author_id=row.author_id,
                document_id=note,
                text=rewritten.text,
                sha256=text_sha256(rewritten.text),
                unmapped=[_unmapped(span) for span in rewritten.unmapped],
            )
            for note, rewritten in kept
        ),
    )


def _unmapped(span: DomainSpan) -> list[Any]:
    """Return the row of a span without a label, as models.RewrittenNote describes it."""
    return [span.start, span.end, span.label, span.source, span.provenance if isinstance(span, Doubtful) else None]


def _store_states(results: Sequence[_Outcome], now: datetime) -> None:
    """Store the items' states: one statement for all finished items, and one for each reason of failure."""
    items_by_result: dict[tuple[bool, str], list[int]] = defaultdict(list)
    for each in results:
        items_by_result[each.rows is not None, each.reason].append(each.item.pk)
    for (done, reason), items in items_by_result.items():
        RunItem.objects.filter(pk__in=items).update(
            state=RunItemState.DONE if done else RunItemState.FAILED,
            attempt=F("attempt") + 1,
            error=reason,
            finished_at=now,
        )

"""A model run at work: batches of notes to a backend, each batch's readings and `done` in one fenced transaction."""

import json
import logging
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations.core.bulk import SpanRow, insert_objects, insert_spans
from annotations.core.erasures import hold
from annotations.core.errors import ServiceError
from annotations.core.progress import Cancelled
from annotations.core.proposed_notes import add_notes
from annotations.core.proposed_strings import add_strings, tally_of
from annotations.domain.crowding import DEEPEST, MOST_SPANS, Crowd, crowd_in
from annotations.domain.merging import Merged
from annotations.domain.spans import Span as DomainSpan
from annotations.domain.spans import SpanError, checked
from annotations.domain.strings import string_key
from annotations.jobs.runner import Claim, settling
from annotations.models import AnnotationSet, Document, Span
from annotations.projects.selectors.labels import accepted_labels
from models_runtime.backends.base import Apart, Backend, BackendError, OnDevice, budget_of
from models_runtime.calibration.jobs import curves_of, newest
from models_runtime.core.combining import Combined, combined
from models_runtime.core.llm import llm_backend
from models_runtime.core.model_files import load_backend, load_model
from models_runtime.core.registry import ENSEMBLE, LLM
from models_runtime.models import Run, RunItem
from models_runtime.runs.jobs.batches import batches, pending

logger = logging.getLogger("deidreview.runs")


def run(claim: Claim) -> dict[str, Any]:
    """Work through the items that are not done, beside whoever else does. What a killed worker had comes back."""
    row = Run.objects.select_related("project__label_set", "author", "model", "calibration").get(
        pk=claim.params["run_id"]
    )
    backend = _backend(row)
    _same_backend(claim, row, backend)
    words = _Words(row)
    if claim.leads:
        _count(claim, row)
        _tell_device(claim, row, backend)
    for items in batches(claim, row, budget_of(backend)):
        # Whoever writes keeps the others from writing: all that can be made ready is, before.
        results = [words.outcome(*each) for each in _predict(backend, items, claim)]
        with settling(claim, len(items)):
            dropped = _write(row, results)
            if dropped:
                Run.objects.filter(pk=row.pk).update(spans_without_label=F("spans_without_label") + dropped)
    if claim.leads:
        _tell_device(claim, row, backend)
    return _result(claim, row) if claim.leads else {}


def _tell_device(claim: Claim, row: Run, backend: Backend | Combined) -> None:
    """Where the worker that has the run computes, and with how much memory so far."""
    if isinstance(backend, OnDevice):
        row.params |= {"device": backend.device.words, "memory": backend.device.memory()}
        with transaction.atomic():
            claim.fence()
            row.save(update_fields=["params"])


def _same_backend(claim: Claim, row: Run, backend: Backend | Combined) -> None:
    """One run is one backend, whoever is at it. Raises ServiceError."""
    if row.revision == backend.revision:
        return
    if not claim.leads or (row.revision and RunItem.objects.filter(run=row, state=RunItem.State.DONE).exists()):
        raise ServiceError(
            _("the backend changed while this run was under way; start a new run, so that one run is one backend"),
            code="revision",
        )
    row.revision, row.calibration = backend.revision, newest(row.project, row.backend, backend.revision)
    with transaction.atomic():
        claim.fence()
        row.save(update_fields=["revision", "params", "calibration"])


def _count(claim: Claim, row: Run) -> None:
    """From the rows, while no helper can write. From here on `done` grows with each share."""
    with transaction.atomic():
        claim.fence()
        total = RunItem.objects.filter(run=row).count()
        claim.progress(total - pending(row).count(), total)


def _result(claim: Claim, row: Run) -> dict[str, Any]:
    failed = RunItem.objects.filter(run=row, state=RunItem.State.FAILED).count()
    claim.done = claim.total = RunItem.objects.filter(run=row).count()
    row.refresh_from_db(fields=["spans_without_label"])
    return {
        "run_id": row.pk,
        "run": row.author.name,
        "notes": claim.total - failed,
        "failed": failed,
        "spans_without_label": row.spans_without_label,
    }


def _backend(row: Run) -> Backend | Combined:
    try:
        if row.backend == ENSEMBLE:
            return combined(row)
        if row.backend == LLM:
            return llm_backend(row)
        if row.model is not None:
            return load_model(row.model)
        return load_backend(row.backend, row.project, row.params)
    except (BackendError, LookupError) as error:
        raise ServiceError(str(error), code="backend") from error


Result = tuple[RunItem, list[DomainSpan] | None, str]
"""An item with its spans, or None and the reason in plain words."""


def _spans(backend: Backend | Combined, items: Sequence[RunItem]) -> list[list[DomainSpan]]:
    notes = [item.document for item in items]
    return backend.read(notes) if isinstance(backend, Combined) else backend.predict([note.text for note in notes])


def _predict(backend: Backend | Combined, items: Sequence[RunItem], claim: Claim) -> list[Result]:
    """The whole batch at once; when that fails, note by note, so that one note's error is its own."""
    try:
        if isinstance(backend, Apart):
            apart = backend.predict_each([item.document.text for item in items], claim.check)
            return [_told(item, one) for item, one in zip(items, apart, strict=True)]
        found = _spans(backend, items)
        if len(found) == len(items):
            return [_checked(item, spans) for item, spans in zip(items, found, strict=True)]
    except Cancelled:
        raise
    except Exception as error:
        _stop_if_hopeless(error)
    return [_predict_one(backend, item) for item in items]


def _predict_one(backend: Backend | Combined, item: RunItem) -> Result:
    try:
        (spans,) = _spans(backend, [item])
    except Exception as error:
        _stop_if_hopeless(error)
        reason = str(error) if isinstance(error, BackendError) else f"the backend failed ({type(error).__name__})"
        return item, None, reason[:300]
    return _checked(item, spans)


def _told(item: RunItem, found: list[DomainSpan] | BackendError) -> Result:
    return (item, None, str(found)[:300]) if isinstance(found, BackendError) else _checked(item, found)


def _stop_if_hopeless(error: Exception) -> None:
    """A permanent error of the backend itself (weights gone, server unknown) would fail every note alike."""
    if isinstance(error, BackendError) and error.permanent:
        raise ServiceError(str(error), code="backend") from error
    logger.warning("a note of a run failed: %s", type(error).__name__)


def _checked(item: RunItem, spans: Sequence[DomainSpan]) -> Result:
    try:
        return item, [checked(item.document.text, span) for span in spans], ""
    except SpanError as error:
        return item, None, f"the backend gave a span that can't be ({error.code})"


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What is to be written of an item: the rows of its spans, which have no set yet, and how many spans were left out;
    or, where it failed, no rows and the reason in plain words."""

    item: RunItem
    rows: list[SpanRow] | None
    left_out: int
    reason: str


class _Words:
    """A backend's spans in the project's words: its labels, and confidences as they are to be read."""

    def __init__(self, row: Run) -> None:
        accepted, label_ids = accepted_labels(row.project)
        self._labels = {code: (target, label_ids[target]) for code, target in accepted.items()}
        self._curves = curves_of(row.calibration)

    def outcome(self, item: RunItem, spans: Sequence[DomainSpan] | None, reason: str) -> _Outcome:
        if spans is None:
            return _Outcome(item, None, 0, reason)
        made = [self._row(item.document.text, span) for span in spans]
        # The same span twice, under two labels that are one here, is one.
        rows = {row[:4]: row for row in reversed(made) if row is not None}
        crowd = crowd_in((row.start, row.end) for row in rows.values())
        if crowd is not None:
            return _Outcome(item, None, 0, _too_many(crowd))
        return _Outcome(item, sorted(rows.values(), key=lambda row: row[:4]), made.count(None), reason)

    def _row(self, text: str, span: DomainSpan) -> SpanRow | None:
        """The span's row, without its set; None where the project has no such label."""
        if span.label not in self._labels:
            return None
        code, label = self._labels[span.label]
        raw = sure = span.confidence
        if self._curves is None or raw is None:
            raw = None
        else:
            sure = self._curves(code, raw)
        how = json.dumps(span.provenance) if isinstance(span, Merged) else None
        string = string_key(text[span.start : span.end])
        return SpanRow(0, span.start, span.end, label, sure, span.source[:80], how, raw, string)


def _too_many(crowd: Crowd) -> str:
    if crowd.at is None:
        return f"the backend gave {crowd.count:,} spans; an annotation set holds at most {MOST_SPANS:,}"
    return f"the backend gave {crowd.count} spans over the character at {crowd.at}; at most {DEEPEST} may lie over one"


def _write(row: Run, results: Sequence[_Outcome]) -> int:
    """A batch's readings and item states, in the caller's fenced transaction. Returns how many spans were left out."""
    now = timezone.now()
    # An erased note took its item with it; its result has nowhere to go.
    hold(row.project_id)
    there = set(
        Document.objects.filter(pk__in=[each.item.document_id for each in results]).values_list("pk", flat=True)
    )
    settled = [each for each in results if each.item.document_id in there]
    read = {each.item.document_id: each.rows for each in settled if each.rows is not None}
    sets = _make_sets(row, read, now)
    insert_spans(made._replace(annotation_set_id=sets[note]) for note, rows in read.items() for made in rows)
    add_strings(tally_of(Span.objects.filter(annotation_set__in=sets.values())))
    add_notes(
        row.author_id,
        (
            (note, [((made.string_key or 0, made.label_id), made.confidence) for made in rows])
            for note, rows in read.items()
        ),
    )
    _settle(settled, now)
    return sum(each.left_out for each in settled)


def _make_sets(row: Run, notes: Iterable[int], now: datetime) -> dict[int, int]:
    """The run's readings of these notes: note to set."""
    state = AnnotationSet.State.SUBMITTED
    insert_objects(
        AnnotationSet,
        (
            AnnotationSet(document_id=note, author_id=row.author_id, state=state, submitted_at=now, blind=False)
            for note in notes
        ),
    )
    made = AnnotationSet.objects.filter(author=row.author_id, document__in=list(notes)).order_by()
    return dict(made.values_list("document", "pk"))


def _settle(results: Sequence[_Outcome], now: datetime) -> None:
    """The items' new states: one statement for all that are done, and one for each reason why others failed."""
    alike: dict[tuple[bool, str], list[int]] = defaultdict(list)
    for each in results:
        alike[each.rows is not None, each.reason].append(each.item.pk)
    for (done, reason), items in alike.items():
        RunItem.objects.filter(pk__in=items).update(
            state=RunItem.State.DONE if done else RunItem.State.FAILED,
            attempt=F("attempt") + 1,
            error=reason,
            finished_at=now,
        )

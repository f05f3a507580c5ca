"""Spans of rewritten notes whose placeholder is not a label's: kept without a label until a person chooses one."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from django.db import transaction
from django.db.models import F
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _

from annotations.core.bulk import SpanRow, insert_spans
from annotations.core.errors import ServiceError
from annotations.core.events import record_reads
from annotations.core.locks import hold, keep_labels
from annotations.core.suggestions import add_strings, renew_notes, tally_of
from annotations.exchange.rules import likely_labels
from annotations.models import AnnotationSet, Document, JobState, Project, RewrittenNote, Span, User
from annotations.projects.selectors.labels import accepted_labels
from annotations.review.selectors.suggestions import DOUBTFUL
from annotations.text.hashes import string_key
from annotations.text.spans import crowd_in
from models_runtime.core.registry import LLM
from models_runtime.models import Run, RunItem, RunItemState
from models_runtime.runs.events import PLACEHOLDERS_MAPPED, REWRITTEN_EXPORTED
from models_runtime.runs.services.external import Choice

BATCH = 200
_LIVE = (JobState.QUEUED, JobState.RUNNING, JobState.PAUSED)


def unmapped_placeholders(run: Run) -> dict[str, int]:
    """Count the spans of a run without a label, by placeholder, the most frequent first."""
    counts: Counter[str] = Counter()
    for rows in _with_unmapped(run).values_list("unmapped", flat=True).iterator(chunk_size=BATCH):
        counts.update(row[2] for row in rows)
    return dict(counts.most_common())


def mapping_for(project: Project) -> dict[str, str]:
    """Return the labels that people chose for placeholders in this project's latest run that rewrote notes."""
    last = Run.objects.filter(project=project, backend=LLM, params__strategy="rewrite").order_by("-pk").first()
    return {} if last is None else (last.params.get("mapping") or {}) | (last.params.get("mapped") or {})


def placeholder_choices(run: Run, placeholders: Mapping[str, int]) -> list[Choice]:
    """Return the choice for each placeholder: the label that its words probably mean, or undecided."""
    accepted, _ids = accepted_labels(run.project)
    return [Choice(word, next(iter(likely_labels(word, accepted)), None)) for word in placeholders]


def map_placeholders(*, run: Run, labels: Mapping[str, str], actor: User | None) -> int:
    """Make suggestions of the spans with these placeholders. `labels` maps placeholders to label codes, or to "".

    An empty code drops the spans. The choice is kept for the project's next runs. Return the number of suggestions.
    Raises ServiceError `live` while the run is in progress, and `label` for an unknown label.
    """
    with transaction.atomic():
        keep_labels(run.project_id)
        hold(run.project_id)
        held = Run.objects.select_for_update(of=("self",)).select_related("job", "author").get(pk=run.pk)
        if held.job is not None and held.job.state in _LIVE:
            raise ServiceError(_("This run is still in progress. Wait until it ends, or cancel it."), code="live")
        _accepted, ids = accepted_labels(run.project)
        for code in filter(None, labels.values()):
            if code not in ids:
                raise ServiceError(
                    _("This project has no label “%(code)s”. Choose from the list.") % {"code": code}, code="label"
                )
        count = sum(_map_batch(held, batch, labels, ids) for batch in _batches(held))
        held.params["mapped"] = (held.params.get("mapped") or {}) | dict(labels)
        held.save(update_fields=["params"])
        PLACEHOLDERS_MAPPED.record(
            actor=actor,
            project_id=run.project_id,
            data={"author": run.author_id, "placeholders": len(labels), "suggestions": count},
        )
    return count


def _with_unmapped(run: Run) -> Any:
    return RewrittenNote.objects.filter(author=run.author_id).exclude(unmapped=[]).order_by("pk")


def _batches(run: Run) -> Iterator[list[RewrittenNote]]:
    last = 0
    while rows := list(_with_unmapped(run).filter(pk__gt=last).defer("text")[:BATCH]):
        yield rows
        last = rows[-1].pk


def _map_batch(run: Run, notes: list[RewrittenNote], labels: Mapping[str, str], ids: Mapping[str, int]) -> int:
    """Add the suggestions of some notes. Spans that the set already has, and that would crowd the note, are dropped."""
    pks = [note.document_id for note in notes]
    sets = dict(AnnotationSet.objects.filter(author=run.author_id, document__in=pks).values_list("document_id", "pk"))
    texts = dict(Document.objects.filter(pk__in=pks).values_list("pk", "text"))
    present: dict[int, set[tuple[int, int, int]]] = {pk: set() for pk in sets.values()}
    rows = Span.objects.filter(annotation_set__in=list(present)).order_by()
    for pk, first, past, of in rows.values_list("annotation_set_id", "start", "end", "label_id"):
        present[pk].add((first, past, of))
    made: list[SpanRow] = []
    for note in notes:
        chosen = [row for row in note.unmapped if row[2] in labels]
        note.unmapped = [row for row in note.unmapped if row[2] not in labels]
        own = sets.get(note.document_id)
        for start, end, placeholder, source, doubt in chosen:
            label = ids.get(labels[placeholder])
            if own is None or label is None or (start, end, label) in present[own]:
                continue
            if crowd_in([*((first, past) for first, past, _label in present[own]), (start, end)]) is not None:
                continue
            present[own].add((start, end, label))
            string = string_key(texts[note.document_id][start:end])
            made.append(_row(own, start, end, label, source, doubt, string))
    _store(run, made, {sets[note]: note for note in pks if note in sets})
    RewrittenNote.objects.bulk_update(notes, ["unmapped"])
    return len(made)


def _row(pk: int, start: int, end: int, label: int, source: str, doubt: Any, string: int | None) -> SpanRow:
    provenance = json.dumps(doubt) if doubt else None
    return SpanRow(pk, start, end, label, None, source[:80], provenance, None, string)


def _store(run: Run, made: list[SpanRow], note_of: Mapping[int, int]) -> None:
    """Insert suggestions into existing sets, and renew what is stored about the sets' notes and strings."""
    changed = sorted({row.annotation_set_id for row in made})
    if not changed:
        return
    sets = AnnotationSet.objects.filter(pk__in=changed)
    before = set(Span.objects.filter(annotation_set__in=changed).values_list("pk", flat=True))
    insert_spans(made)
    sets.update(version=F("version") + 1)
    add_strings(tally_of(Span.objects.filter(annotation_set__in=changed).exclude(pk__in=before)))
    renew_notes(run.author_id, {pk: note_of[pk] for pk in changed})


# The notes of a run as the language model rewrote them, as JSON Lines (Miranda et al. 2025, section 4.1).


LINES_AT_ONCE = 100


def rewritten_facts(run: Run) -> dict[str, int] | None:
    """Count the rewritten notes, suggestions with doubtful words, and spans without a label; None for other runs."""
    if run.params.get("strategy") != "rewrite":
        return None
    doubtful = Span.objects.filter(DOUBTFUL, annotation_set__author=run.author_id)
    notes = RewrittenNote.objects.filter(author=run.author_id).count()
    return {"notes": notes, "doubtful": doubtful.count(), "unmapped": sum(unmapped_placeholders(run).values())}


def rewritten_lines(run: Run, *, prompt: bool) -> Iterator[str]:
    """Yield a JSON object and a line break for each rewritten note, in the order of the notes.

    Keys: `note` (the note's name), `original`, `deidentified` (the model's text), `usable` (whether its placeholders
    became suggestions), and with `prompt` also the prompt.
    """
    about: dict[str, Any] = {"prompt": run.params["prompt"]} if prompt else {}
    rows = RewrittenNote.objects.filter(author=run.author_id).order_by("document_id")
    failed = RunItem.objects.filter(run=run, state=RunItemState.FAILED)
    columns = ("document_id", "document__name", "document__text", "text")
    last = 0
    while batch := list(rows.filter(document_id__gt=last).values_list(*columns)[:LINES_AT_ONCE]):
        last = batch[-1][0]
        unusable = set(failed.filter(document__in=[pk for pk, *_ in batch]).values_list("document_id", flat=True))
        for pk, name, original, text in batch:
            row = {"note": name, "original": original, "deidentified": text, "usable": pk not in unusable} | about
            yield json.dumps(row, ensure_ascii=False) + "\n"


def export_rewritten(*, run: Run, prompt: bool, actor: User | None) -> tuple[Iterator[str], str]:
    """Return the lines of the download, and the name of the file. Record the download."""
    notes = RewrittenNote.objects.filter(author=run.author_id).values_list("document_id", flat=True)
    record_reads(actor=actor, project_id=run.project_id, notes=notes, what="rewritten notes")
    REWRITTEN_EXPORTED.record(actor=actor, project_id=run.project_id, data={"author": run.author_id, "prompt": prompt})
    return rewritten_lines(run, prompt=prompt), f"{run.project.slug}-rewritten-{run.pk}.jsonl"


def rewriting_for(project: Project, pk: int) -> Run:
    """Return a run that rewrote notes. Raises Http404 for other runs."""
    rows = Run.objects.select_related("author", "project", "job")
    return get_object_or_404(rows, project=project, pk=pk, params__strategy="rewrite")

"""The notes of a run as the language model rewrote them, as JSON Lines (Miranda et al. 2025, section 4.1)."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.shortcuts import get_object_or_404

from annotations.core.events import record_reads
from annotations.models import Project, RewrittenNote, Span, User
from annotations.review.selectors.doubtful import DOUBTFUL
from models_runtime.models import Run, RunItem, RunItemState
from models_runtime.runs.events import REWRITTEN_EXPORTED
from models_runtime.runs.services.placeholders import unmapped_placeholders

BATCH = 100


@dataclass(frozen=True)
class RewrittenFacts:
    """Numbers of a run: rewritten notes, suggestions with doubtful words, and spans without a label."""

    notes: int
    doubtful: int
    unmapped: int


def rewritten_facts(run: Run) -> RewrittenFacts | None:
    """Return the numbers of a run that rewrites notes, or None for other runs."""
    if run.params.get("strategy") != "rewrite":
        return None
    doubtful = Span.objects.filter(DOUBTFUL, annotation_set__author=run.author_id)
    return RewrittenFacts(
        notes=RewrittenNote.objects.filter(author=run.author_id).count(),
        doubtful=doubtful.count(),
        unmapped=sum(unmapped_placeholders(run).values()),
    )


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
    while batch := list(rows.filter(document_id__gt=last).values_list(*columns)[:BATCH]):
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

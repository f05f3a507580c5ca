"""Inject errors: draw them once, then write the annotation sets, a batch of notes in each fenced transaction.

A worker that takes over continues with the notes that have no annotation set yet.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from django.db import transaction
from django.utils import timezone

from annotations.core.bulk import SpanRow, batched, insert_objects
from annotations.core.services import erasures_of, hold, keep_labels, unerased
from annotations.jobs.runner import Claim
from annotations.models import AnnotationSet, Document, GoldVersion, GoldVersionNote
from annotations.projects.selectors.labels import accepted_labels
from annotations.text.spans import Span
from models_runtime.core.suggestions import store_suggestions
from models_runtime.models import InjectedError, InjectedRun
from models_runtime.refining import selectors
from models_runtime.refining.rules.injection import Draw, Injection, Ticket, ticket
from models_runtime.refining.rules.rules import InjectionRule, candidates


def run(claim: Claim) -> dict[str, Any]:
    """Inject the errors of a run. Safe to repeat."""
    row = InjectedRun.objects.select_related("author", "gold_version__project", "project__label_set").get(
        pk=claim.params["run_id"]
    )
    if row.injected is None:
        _draw(claim, row)
    notes = list(
        GoldVersionNote.objects.filter(version=row.gold_version)
        .exclude(document__in=AnnotationSet.objects.filter(author=row.author).values("document"))
        .order_by("document_id")
        .values_list("document_id", flat=True)
    )
    total = row.gold_version.notes.count()
    done = total - len(notes)
    for batch in batched(notes, selectors.BATCH):
        done += len(batch)
        with transaction.atomic():
            keep_labels(row.project_id)
            claim.progress(done, total)
            _write(row, batch)
    claim.done = claim.total = total
    return {
        "injection_id": row.pk, "run": row.author.name, "notes": total, "injected": row.errors.count(),
        "possible": row.possible_by_rule(),
    }  # fmt: skip


def _draw(claim: Claim, row: InjectedRun) -> None:
    """Draw the errors from all that the rules can make, and store them in one transaction."""
    begun = erasures_of(row.project_id)
    labels, draw = selectors.labels_for(row.project), Draw(selectors.wanted_errors(row))
    rules, sources = (
        [InjectionRule(rule) for rule in row.rules if rule in set(InjectionRule)],
        selectors.sources_of(row),
    )
    for some in _batches(row.gold_version):
        claim.check()
        gold = selectors.frozen_gold(row.gold_version, some)
        columns = ("pk", "text", "sha256", "language")
        for pk, text, sha256, language in Document.objects.filter(pk__in=some).values_list(*columns):
            found = candidates(
                text, gold[pk], labels, language=language or row.project.language, rules=rules,
                sources=[source for source in sources if pk not in source.notes],
            )  # fmt: skip
            draw.add(ticket(each, pk, sha256, row.seed) for each in found)
    drawn = draw.drawn(row.rules)
    row.possible, row.injected, row.terms = {rule: draw.possible[rule] for rule in row.rules}, len(drawn), []
    with claim.fenced():
        unerased(row.project_id, begun)
        insert_objects(InjectedError, (_error(row, each) for each in drawn))
        row.save(update_fields=["possible", "injected", "terms"])


def _error(row: InjectedRun, drawn: Ticket) -> InjectedError:
    one = drawn.injection
    return InjectedError(
        run=row, document_id=drawn.note, start=one.start, end=one.end, label=one.label, was=one.was, rule=one.rule,
        strategy=one.strategy,
    )  # fmt: skip


def _batches(version: GoldVersion) -> Iterator[list[int]]:
    notes = list(version.notes.order_by("document_id").values_list("document_id", flat=True))
    return batched(notes, selectors.BATCH)


def with_errors(gold: Sequence[Span], errors: Sequence[Injection]) -> list[Span]:
    """The gold spans with the errors in their places. A span never tells that it is an error."""
    replaced = {Span(one.start, one.end, one.was) for one in errors if one.was}
    return sorted({*gold} - replaced | {Span(one.start, one.end, one.label) for one in errors})


def _write(row: InjectedRun, notes: Sequence[int]) -> None:
    """Write the annotation sets of these notes in the caller's fenced transaction."""
    hold(row.project_id)
    accepted, ids = accepted_labels(row.project)
    present = set(Document.objects.filter(pk__in=notes).values_list("pk", flat=True))
    gold = {note: spans for note, spans in selectors.frozen_gold(row.gold_version, notes).items() if note in present}
    errors = selectors.errors_in(row, list(gold))
    made = {
        note: {
            (0, span.start, span.end, ids[accepted[span.label]])
            for span in with_errors(spans, errors.get(note, []))
            if span.label in accepted
        }
        for note, spans in gold.items()
    }
    rows = {note: [SpanRow(*each) for each in sorted(spans)] for note, spans in made.items()}
    store_suggestions(row.author, rows, timezone.now())

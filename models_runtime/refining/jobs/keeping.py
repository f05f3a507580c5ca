"""Keep a refiner's decisions as rows as soon as they are made, so that the next worker continues after them.

A note's list is written with open items when the note is begun, and its annotation set when the note is finished.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from django.db import transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Substr
from django.utils import timezone

from annotations.core.bulk import SpanRow, among, insert_objects, update_rows
from annotations.core.services import Fence, hold, keep_labels, no_fence
from annotations.models import AnnotationSet, AnnotationSetState, AuthorKind, Document, Project, Span
from annotations.projects.selectors.labels import accepted_labels
from annotations.text.hashes import string_key
from annotations.text.spans import Span as DomainSpan
from models_runtime.backends.refining.todo import Action, Item, RefinementDecision, Todo
from models_runtime.core.suggestions import store_suggestions
from models_runtime.models import RefinedItem, Refinement


def waiting(row: Refinement) -> "QuerySet[AnnotationSet]":
    """The source's annotation sets of notes that are not refined yet."""
    refined = AnnotationSet.objects.filter(author=row.author).values("document")
    return _sets(row).exclude(document__in=refined)


def count_of_source(row: Refinement) -> int:
    """The number of notes that the source annotated."""
    return _sets(row).count()


def patients_of_source(row: Refinement) -> Iterator[tuple[str, str]]:
    """Patient id and name of each note that the source annotated."""
    yield from _sets(row).order_by().values_list("document__patient_id", "document__name").iterator()


def _sets(row: Refinement) -> "QuerySet[AnnotationSet]":
    return AnnotationSet.objects.filter(author=row.source, state=AnnotationSetState.SUBMITTED)


def source_spans(row: Refinement, notes: Sequence[int]) -> dict[int, list[DomainSpan]]:
    """The source's annotations of notes, by note and in order, with the project's labels. Other labels are left out."""
    spans: defaultdict[int, list[DomainSpan]] = defaultdict(list)
    accepted, _ = accepted_labels(row.project)
    rows = Span.objects.filter(
        annotation_set__author=row.source,
        annotation_set__state=AnnotationSetState.SUBMITTED,
        annotation_set__document__in=notes,
    ).order_by("start", "end", "id")
    columns = ("annotation_set__document_id", "start", "end", "label__code", "confidence", "source")
    for note, start, end, code, confidence, source in rows.values_list(*columns):
        if code in accepted:
            spans[note].append(DomainSpan(start, end, accepted[code], confidence, source))
    return spans


def begin(row: Refinement, note: int, fence: Fence = no_fence) -> Todo | None:
    """The note's to-do list with all decisions that were kept. A note begun for the first time gets open items.

    None if the note was erased.
    """
    with transaction.atomic():
        keep_labels(row.project_id)
        fence()
        hold(row.project_id)
        found = _new(row, note)
        if found is None:
            return None
        kept = list(RefinedItem.objects.filter(refinement=row, document=note).order_by("number"))
        if not kept:
            insert_objects(RefinedItem, (_item(row, note, item) for item in found.items))
    return _restored(found, kept) if kept else found


def load(row: Refinement, note: int) -> Todo | None:
    """The to-do list of a note that was begun; None without one, or if the note was erased."""
    found = _new(row, note)
    kept = list(RefinedItem.objects.filter(refinement=row, document=note).order_by("number"))
    return None if found is None or not kept else _restored(found, kept)


def keep(row: Refinement, note: int, items: Iterable[Item], fence: Fence = no_fence) -> bool:
    """Write these items as they are now, decided or open again. False if the note was erased meanwhile."""
    with transaction.atomic():
        fence()
        hold(row.project_id)
        if not Document.objects.filter(pk=note).exists():
            return False
        for item in items:
            RefinedItem.objects.filter(refinement=row, document=note, number=item.number).update(**_decided(item))
    return True


def finish(row: Refinement, note: int, todo: Todo, fence: Fence = no_fence) -> bool:
    """Write a finished list and its results as the note's annotation set. False if the note was erased meanwhile.

    `todo` has no problems (models_runtime.backends.refining.todo).
    """
    with transaction.atomic():
        keep_labels(row.project_id)
        fence()
        return bool(write(row, {note: todo}))


def write(row: Refinement, lists: Mapping[int, Todo]) -> list[int]:
    """Write lists and annotation sets in the caller's fenced transaction. Returns the notes without erased ones."""
    hold(row.project_id)
    present = set(Document.objects.filter(pk__in=list(lists)).values_list("pk", flat=True))
    kept = {note: todo for note, todo in lists.items() if note in present}
    RefinedItem.objects.filter(refinement=row, document__in=list(kept)).delete()
    insert_objects(RefinedItem, (_item(row, note, item) for note, todo in kept.items() for item in todo.items))
    accepted, codes = accepted_labels(row.project)
    # A label may have been merged into another one after the decision.
    ids = {code: codes[target] for code, target in accepted.items()} | dict(codes)
    store_suggestions(row.author, {note: _rows(row, todo, ids) for note, todo in kept.items()}, timezone.now())
    return list(kept)


def _new(row: Refinement, note: int) -> Todo | None:
    text = Document.objects.filter(pk=note).values_list("text", flat=True).first()
    if text is None:
        return None
    _, ids = accepted_labels(row.project)
    return Todo.of(text, source_spans(row, [note]).get(note, []), ids)


def _restored(new: Todo, kept: Sequence[RefinedItem]) -> Todo:
    """The list as it was kept. Confidence and source, which rows don't have, are those of the source's annotation."""
    known = {(item.span.start, item.span.end, item.span.label): item.span for item in new.items}
    items = []
    for row in kept:
        span = known.get((row.start, row.end, row.label)) or DomainSpan(row.start, row.end, row.label)
        decision = None
        if row.action and row.new_start is not None and row.new_end is not None:
            decision = RefinementDecision(
                Action(row.action), row.new_start, row.new_end, row.new_label, row.reason, row.step
            )
        items.append(Item(row.number, span, decision))
    return Todo(new.text, tuple(items), new.labels)


def _item(row: Refinement, note: int, item: Item) -> RefinedItem:
    span = item.span
    return RefinedItem(
        refinement=row, document_id=note, number=item.number, start=span.start, end=span.end, label=span.label,
        **_decided(item),
    )  # fmt: skip


def _decided(item: Item) -> dict[str, str | int | None]:
    one = item.decision
    if one is None:
        return {"action": "", "new_start": None, "new_end": None, "new_label": "", "reason": "", "step": 0}
    return {
        "action": str(one.action), "new_start": one.start, "new_end": one.end, "new_label": one.label,
        "reason": one.reason, "step": one.step,
    }  # fmt: skip


def _rows(row: Refinement, todo: Todo, ids: Mapping[str, int]) -> list[SpanRow]:
    """The results as rows of spans. Each span tells what it was, what was decided, why, and by whom.

    The names are `run`, `action`, `was`, `reason`, and with a language model `model` and `prompt_version`.
    """
    rows = {}
    asked = {"model": f"{row.server}/{row.model}", "prompt_version": row.prompt_version} if row.server else {}
    for item in todo.items:
        span = item.result
        if span is None or item.decision is None:
            continue
        told = {
            "refined": {
                "action": str(item.decision.action),
                "was": [item.span.start, item.span.end, item.span.label],
                "reason": item.decision.reason,
                "run": row.source_id,
                **asked,
            }
        }
        text = todo.text[span.start : span.end]
        made = SpanRow(
            0, span.start, span.end, ids[span.label], span.confidence, span.source[:80],
            json.dumps(told, ensure_ascii=False), None, string_key(text),
        )  # fmt: skip
        rows[made[:4]] = made
    return sorted(rows.values(), key=lambda made: made[:4])


# What an erasure takes from refinements of other notes: reasons that name what was annotated in the erased notes.


_WORD: Final = re.compile(r"[^\W_]{3,}")
BATCH: Final = 1_000


def forget_reasons(*, project: Project, notes: Sequence[int], patient: str) -> None:
    """Empty the reasons on other notes that have a name or number from annotations of these notes, or the patient id.

    A hook (annotations.core.hooks.patient_erased): it runs in the erasure's transaction, while the notes still exist.
    """
    words = {word.casefold() for text in _strings(notes, patient) for word in _WORD.findall(text) if not word.islower()}

    def names(reason: str) -> bool:
        return not words.isdisjoint(word.casefold() for word in _WORD.findall(reason))

    items = RefinedItem.objects.filter(refinement__project=project).exclude(reason="")
    found = [pk for pk, reason in items.values_list("pk", "reason").iterator(chunk_size=BATCH) if names(reason)]
    RefinedItem.objects.filter(pk__in=among(found)).update(reason="")
    spans = Span.objects.filter(
        annotation_set__author__project=project, annotation_set__author__kind=AuthorKind.REFINED
    )
    changed = []
    for span in spans.only("provenance").iterator(chunk_size=BATCH):
        refined = (span.provenance or {}).get("refined")
        if refined and names(refined["reason"]):
            refined["reason"] = ""
            changed.append(span)
    update_rows(Span, ["provenance"], changed)


def _strings(notes: Sequence[int], patient: str) -> Iterator[str]:
    yield patient
    cut = Substr("annotation_set__document__text", F("start") + 1, F("end") - F("start"))
    rows = Span.objects.filter(annotation_set__document__in=among(notes)).order_by().annotate(text=cut)
    yield from rows.values_list("text", flat=True).distinct().iterator(chunk_size=BATCH)

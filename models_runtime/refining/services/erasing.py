"""What an erasure takes from refinements of other notes: reasons that name what was annotated in the erased notes."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from django.db.models import F
from django.db.models.functions import Substr

from annotations.core.bulk import update_rows
from annotations.models import AuthorKind, Project, Span
from annotations.release.selectors.surrogates import in_parts
from models_runtime.models import RefinedItem

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
    for some in in_parts(found):
        RefinedItem.objects.filter(pk__in=some).update(reason="")
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
    for some in in_parts(sorted(notes)):
        rows = Span.objects.filter(annotation_set__document__in=some).order_by().annotate(text=cut)
        yield from rows.values_list("text", flat=True).distinct().iterator(chunk_size=BATCH)

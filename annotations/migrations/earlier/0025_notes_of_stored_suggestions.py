from collections.abc import Iterator
from random import SystemRandom
from typing import Any

from django.db import migrations
from django.db.models import Exists, F, Min, OuterRef, Value
from django.db.models.functions import Abs, Coalesce

from annotations.domain.reviewing.information import expected_bits

BATCH = 500
CHANCE = SystemRandom()


def fill(apps: Any, schema_editor: Any) -> None:
    """Make the rows that imported suggestions, and runs older than these rows, got only when somebody looked at them."""
    Author, AnnotationSet = apps.get_model("annotations", "Author"), apps.get_model("annotations", "AnnotationSet")
    SuggestedNote = apps.get_model("annotations", "SuggestedNote")
    SuggestedLabel = apps.get_model("annotations", "SuggestedLabel")
    Span = apps.get_model("annotations", "Span")
    there = SuggestedNote.objects.filter(author=OuterRef("author"), document=OuterRef("document"))
    for author in Author.objects.filter(kind__in=["run", "refined"]).order_by("pk").values_list("pk", flat=True):
        sets = AnnotationSet.objects.filter(~Exists(there), author=author, state="submitted").order_by("pk")
        for batch in _batches(sets):
            _fill(author, batch, Span, SuggestedNote, SuggestedLabel)


def _batches(sets: Any) -> Iterator[dict[int, int]]:
    last = 0
    while batch := dict(sets.filter(pk__gt=last).values_list("pk", "document_id")[:BATCH]):
        yield batch
        last = max(batch)


def _fill(author: int, batch: dict[int, int], Span: Any, SuggestedNote: Any, SuggestedLabel: Any) -> None:
    spans = Span.objects.filter(annotation_set__in=list(batch)).order_by()
    found: dict[int, list[Any]] = {pk: [] for pk in batch}
    for pk, key, label, confidence in spans.values_list("annotation_set_id", "string_key", "label_id", "confidence"):
        found[pk].append(((key or 0, label), confidence))
    SuggestedNote.objects.bulk_create(
        SuggestedNote(
            author_id=author, document_id=batch[pk], information=expected_bits(suggestions), place=CHANCE.random()
        )
        for pk, suggestions in found.items()
    )
    confidence = Coalesce(F("confidence"), Value(0.5))
    rows = spans.values_list("annotation_set__document_id", "label_id", "source").annotate(
        lowest=Min(confidence), nearest=Min(Abs(confidence - Value(0.5)))
    )
    SuggestedLabel.objects.bulk_create(
        SuggestedLabel(
            author_id=author, document_id=document, label_id=label, source=source, lowest=lowest, nearest=nearest
        )
        for document, label, source, lowest, nearest in rows
    )


class Migration(migrations.Migration):
    dependencies = [
        ("annotations", "0024_leaks_drawn_ahead"),
    ]

    operations = [
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]

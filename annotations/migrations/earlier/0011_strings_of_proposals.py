from collections.abc import Iterator
from typing import Any

from django.db import migrations

from annotations.domain.reviewing.precision import uncertainty
from annotations.domain.strings import string_key

BATCH = 2_000
Strings = dict[tuple[int, int, int], list[Any]]


def fill(apps: Any, schema_editor: Any) -> None:
    """Proposals that were there before learn their strings' numbers; the strings are counted."""
    Span, ProposedString = apps.get_model("annotations", "Span"), apps.get_model("annotations", "ProposedString")
    strings: Strings = {}
    for rows in _batches(Span):
        changed = []
        for pk, author, text, start, end, label, confidence, decided in rows:
            key = string_key(text[start:end])
            changed.append(Span(pk=pk, string_key=key))
            found = strings.setdefault((author, key, label), [0, 0, 0, 0.0, pk])
            found[0] += 1
            found[1] += decided is None
            if confidence is not None:
                found[2] += 1
                found[3] += confidence
        Span.objects.bulk_update(changed, ["string_key"])
    ProposedString.objects.bulk_create(
        (
            ProposedString(
                author_id=author, string_key=key, label_id=label, count=count, open=left, scored=scored,
                confidence_sum=total, uncertainty=uncertainty(total / scored if scored else None), sample=sample,
            )
            for (author, key, label), (count, left, scored, total, sample) in strings.items()
        ),
        batch_size=BATCH,
    )  # fmt: skip


def _batches(spans: Any) -> Iterator[list[Any]]:
    """By growing id, so that what was filled already is not read again."""
    last = 0
    while True:
        rows = spans.objects.filter(pk__gt=last, annotation_set__author__kind__in=["run", "refined"]).order_by("pk")
        batch = list(
            rows.values_list(
                "pk", "annotation_set__author_id", "annotation_set__document__text", "start", "end", "label_id",
                "confidence", "decision__pk",
            )[:BATCH]
        )  # fmt: skip
        if not batch:
            return
        yield batch
        last = batch[-1][0]


class Migration(migrations.Migration):
    dependencies = [
        ("annotations", "0010_bulk_review"),
    ]

    operations = [
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]

"""A row for each note that a run has read: how much its review is to tell, and its place in an order by chance; and
one for each label there, with its least sure and its most doubtful proposal.

Written with the run, so that the next note is found without going through all of its proposals.
"""

import random
from collections import defaultdict
from collections.abc import Iterable

from django.db import connection, transaction
from django.db.models import Exists, OuterRef, QuerySet

from annotations.domain.information import String, expected_bits
from annotations.models import AnnotationSet, Author, ProposedLabel, ProposedNote, Span

BATCH = 500
_CHANCE = random.SystemRandom()
Read = tuple[int, Iterable[tuple[String, float | None]]]
"""A note's id, and its proposals with their confidences."""


def add_notes(author: int, read: Iterable[Read]) -> None:
    """Inside the caller's transaction, the proposals written."""
    rows = [
        ProposedNote(
            author_id=author, document_id=document, information=expected_bits(proposals), place=_CHANCE.random()
        )
        for document, proposals in read
    ]
    ProposedNote.objects.bulk_create(rows, batch_size=BATCH, ignore_conflicts=True)
    for at in range(0, len(rows), BATCH):
        _add_labels(author, [row.document_id for row in rows[at : at + BATCH]])


_SPANS, _SETS = Span._meta.db_table, AnnotationSet._meta.db_table
_SURENESS = "COALESCE(span.confidence, 0.5)"
_ADD_LABELS = f"""
    INSERT INTO {ProposedLabel._meta.db_table} (author_id, document_id, label_id, source, lowest, nearest)
    SELECT reading.author_id, reading.document_id, span.label_id, span.source,
        MIN({_SURENESS}), MIN(ABS({_SURENESS} - 0.5))
    FROM {_SETS} reading JOIN {_SPANS} span ON span.annotation_set_id = reading.id
    WHERE reading.author_id = %s AND reading.document_id IN ({{documents}})
    GROUP BY reading.author_id, reading.document_id, span.label_id, span.source
"""  # noqa: S608 - names of ours


def _add_labels(author: int, documents: list[int]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_ADD_LABELS.format(documents=", ".join(["%s"] * len(documents))), [author, *documents])


def relabel_notes(source: int, target: int) -> None:
    """A label was merged into another: what was said of its proposals holds for that one."""
    ProposedLabel.objects.filter(label_id=source).update(label_id=target)


def forget_notes(sets: "QuerySet[AnnotationSet]") -> None:
    """These readings are about to be deleted; other ones of the same notes may come."""
    for model in (ProposedNote, ProposedLabel):
        here = sets.filter(author=OuterRef("author"), document=OuterRef("document"), author__kind__in=Author.MODELS)
        model.objects.filter(Exists(here)).delete()


def complete(author: Author) -> None:
    """Rows for what came otherwise: runs from before there were any, and those that were imported."""
    there = ProposedNote.objects.filter(author=author, document=OuterRef("document"))
    sets = AnnotationSet.objects.filter(~Exists(there), author=author, state=AnnotationSet.State.SUBMITTED)
    lacking = sets.order_by().values_list("pk", "document_id")
    if not lacking[:1]:
        return
    with transaction.atomic():
        Author.objects.select_for_update().get(pk=author.pk)  # two who ask at once don't both write
        _complete(author, list(lacking))


def _complete(author: Author, lacking: list[tuple[int, int]]) -> None:
    for at in range(0, len(lacking), BATCH):
        batch = dict(lacking[at : at + BATCH])
        found: dict[int, list[tuple[String, float | None]]] = defaultdict(list)
        spans = Span.objects.filter(annotation_set__in=batch).order_by()
        for pk, key, label, confidence in spans.values_list("annotation_set", "string_key", "label", "confidence"):
            found[pk].append(((key or 0, label), confidence))
        add_notes(author.pk, ((document, found[pk]) for pk, document in batch.items()))

"""Rows that order the notes of a run for review.

Each note has one row with the information expected from its review and a random number, and one row for each label with
the lowest confidence and the confidence nearest to 0.5. They are written with the suggestions, so that the next note is
found without reading all suggestions.
"""

import random
from collections.abc import Mapping

from django.db import connection
from django.db.models import Exists, OuterRef, QuerySet

from annotations.models import AnnotationSet, Author, Review, Span, SuggestedLabel, SuggestedNote
from annotations.text.information import String, expected_bits

BATCH = 500
_CHANCE = random.SystemRandom()


def add_notes(author: int, sets: Mapping[int, int]) -> None:
    """Add the rows of these annotation sets (id to the note's id), in the transaction that has stored their spans."""
    pks = list(sets)
    for at in range(0, len(pks), BATCH):
        batch = pks[at : at + BATCH]
        found: dict[int, list[tuple[String, float | None]]] = {pk: [] for pk in batch}
        spans = Span.objects.filter(annotation_set__in=batch).order_by()
        for pk, key, label, confidence in spans.values_list(
            "annotation_set_id", "string_key", "label_id", "confidence"
        ):
            found[pk].append(((key or 0, label), confidence))
        SuggestedNote.objects.bulk_create(
            (
                SuggestedNote(
                    author_id=author,
                    document_id=sets[pk],
                    information=expected_bits(suggestions),
                    random_order=_CHANCE.random(),
                )
                for pk, suggestions in found.items()
            ),
            ignore_conflicts=True,
        )
        _add_labels(author, [sets[pk] for pk in batch])


def renew_notes(author: int, sets: Mapping[int, int]) -> None:
    """Write the rows of these annotation sets again, in the transaction that has added suggestions to them."""
    for model in (SuggestedNote, SuggestedLabel):
        model.objects.filter(author=author, document__in=sets.values()).delete()
    add_notes(author, sets)


_SPANS, _SETS = Span._meta.db_table, AnnotationSet._meta.db_table
_CONFIDENCE = "COALESCE(span.confidence, 0.5)"
_ADD_LABELS = f"""
    INSERT INTO {SuggestedLabel._meta.db_table} (author_id, document_id, label_id, source, lowest, nearest)
    SELECT sets.author_id, sets.document_id, span.label_id, span.source,
        MIN({_CONFIDENCE}), MIN(ABS({_CONFIDENCE} - 0.5))
    FROM {_SETS} sets JOIN {_SPANS} span ON span.annotation_set_id = sets.id
    WHERE sets.author_id = %s AND sets.document_id IN ({{documents}})
    GROUP BY sets.author_id, sets.document_id, span.label_id, span.source
"""  # noqa: S608 - names of ours


def _add_labels(author: int, documents: list[int]) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_ADD_LABELS.format(documents=", ".join(["%s"] * len(documents))), [author, *documents])


def relabel_notes(source: int, target: int) -> None:
    """Move the rows of a label that was merged into another."""
    SuggestedLabel.objects.filter(label_id=source).update(label_id=target)


def forget_notes(sets: "QuerySet[AnnotationSet]") -> None:
    """Delete the rows of annotation sets that are about to be deleted."""
    here = sets.filter(author=OuterRef("author"), document=OuterRef("document"), author__kind__in=Author.MODELS)
    for model in (SuggestedNote, SuggestedLabel):
        model.objects.filter(Exists(here)).delete()
    Review.objects.filter(Exists(here), ahead=True).delete()

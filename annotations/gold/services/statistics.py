"""Corpus statistics of a frozen gold version by split, stored until the version's notes or splits change."""

from dataclasses import asdict
from itertools import chain
from typing import Any

from django.db import transaction
from django.db.models import Sum

from annotations.core.bulk import in_batches
from annotations.core.services import Progress, erasures_of, silent, unerased
from annotations.core.stored_figures import FigureKind, keep, kept, key_of
from annotations.core.tokenizers import Tokenizers
from annotations.gold.rules import CorpusPart, Count, Split, part_of, together
from annotations.models import Document, GoldVersion, GoldVersionNote, Label
from annotations.text.spans import Span

REVISION = 3
BATCH = 500
# A worker counts versions with more text. This much takes about one second.
MOST_CHARACTERS = 5_000_000

Parts = dict[str, CorpusPart]
"""By split, in order. A version without a split has one part, with an empty name."""
STATISTICS: FigureKind[dict[str, dict[str, Any]]] = FigureKind("corpus")


def takes_long(version: GoldVersion) -> bool:
    """Whether a worker should count."""
    notes = GoldVersionNote.objects.filter(version=version).order_by().values("document_id")
    characters = Document.objects.filter(pk__in=notes).aggregate(total=Sum("length"))["total"] or 0
    return int(characters) > MOST_CHARACTERS


def kept_statistics(version: GoldVersion, tokenizer: str = "") -> Parts | None:
    """The stored statistics, or None if they were not computed yet."""
    found = kept(version.project, STATISTICS, _key(version, tokenizer))
    return None if found is None else _in_order({split: part_of(data) for split, data in found.items()})


def statistics_of(version: GoldVersion, progress: Progress = silent, *, tokenizer: str = "") -> Parts:
    """The stored statistics, or new ones, which are then stored.

    With a `tokenizer` (annotations.core.tokenizers), only in workers and commands. Raises ErasedMeanwhile, and
    ServiceError `tokenizer` if it can't be had.
    """
    found = kept_statistics(version, tokenizer)
    if found is not None:
        return found
    begun, key = erasures_of(version.project_id), _key(version, tokenizer)
    parts = _counted(version, progress, Tokenizers(tokenizer) if tokenizer else None)
    with transaction.atomic():
        unerased(version.project_id, begun)
        if _key(version, tokenizer) == key:
            keep(version.project, STATISTICS, key, {split: asdict(part) for split, part in parts.items()})
    return parts


def _key(version: GoldVersion, tokenizer: str) -> str:
    notes = GoldVersionNote.objects.filter(version=version).order_by("document_id")
    made_of = REVISION, version.pk, version.content_hash, tokenizer
    return key_of(*made_of, list(notes.values_list("document_id", "split")))


def _counted(version: GoldVersion, progress: Progress, tokenizers: Tokenizers | None) -> Parts:
    notes = GoldVersionNote.objects.filter(version=version).order_by("document_id")
    total = notes.count()
    parts: Parts = {}
    rows = notes.values_list("document_id", "split", "document__text", "document__language", "spans")
    batches = in_batches(rows, BATCH, by="document_id")
    for done, (_note, split, text, language, spans) in enumerate(chain.from_iterable(batches), start=1):
        tokenizer = tokenizers(language or version.project.language) if tokenizers else None
        parts.setdefault(split, CorpusPart()).add_note(text, (Span(*span[:3]) for span in spans), tokenizer)
        if done % BATCH == 0 or done == total:
            progress(done, total)
    return _in_order(parts)


def _in_order(parts: Parts) -> Parts:
    return {split: parts[split] for split in (*map(str, Split), "") if split in parts}


# The tables of corpus statistics: rows for each label and category, as in tables 3.1 and 3.2 of Catelli 2021.


WHOLE = "total"


def table_of(version: GoldVersion, parts: Parts, tokenizer: str = "") -> dict[str, Any]:
    """The statistics of a version as JSON, by split and in total. A value that can't be computed is null.

    All labels of the project are rows, also unused ones. Merged and deleted labels are listed where the version has
    them. The category is empty for a label that the project no longer has.
    """
    columns = {split: part for split, part in parts.items() if split} | {WHOLE: together(parts.values())}
    used = columns[WHOLE].labels
    found = Label.objects.filter(label_set__project=version.project).select_related("category")
    labels = [each for each in found.order_by("position", "id") if each.merged_into_id is None or each.code in used]
    labels.sort(key=lambda label: (label.category.position, label.category_id))
    members: dict[str, list[str]] = {}
    for label in labels:
        members.setdefault(label.category.name, []).append(label.code)
    named = [(label.name, label.category.name, label.code) for label in labels]
    unknown = [(code, "", code) for code in sorted(used.keys() - {label.code for label in labels})]

    def cells(codes: list[str]) -> dict[str, dict[str, Any]]:
        return {name: _means(part, part.of(codes)) for name, part in columns.items()}

    return {
        "version": version.number,
        "tokenizer": tokenizer or None,
        "splits": {name: _figures(part) for name, part in columns.items()},
        "labels": [{"label": name, "category": of, "splits": cells([code])} for name, of, code in named + unknown],
        "categories": [{"category": name, "splits": cells(codes)} for name, codes in members.items()],
    }


def _means(part: CorpusPart, count: Count) -> dict[str, Any]:
    spans = count.spans
    return {"spans": spans, "spans_per_note": part.per_note(spans), "tokens_per_span": count.tokens_per_span}


def _figures(part: CorpusPart) -> dict[str, Any]:
    """The counts of a part. Tokens have the tags O, B or I (Salierno et al. 2024, table 6)."""
    tags = {"O": part.outside, "B": part.begin, "I": part.inside}
    return {
        "notes": part.notes,
        "tokens": part.tokens,
        "tokens_per_note": part.per_note(part.tokens),
        **_means(part, part.all),
        "tags": tags,
        "tags_per_note": {tag: part.per_note(n) for tag, n in tags.items()},
    }

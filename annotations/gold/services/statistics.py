"""Corpus statistics of a frozen gold version by split, stored until the version's notes or splits change."""

from django.db import transaction
from django.db.models import Sum

from annotations.core.locks import erasures_of, unerased
from annotations.core.progress import Progress, silent
from annotations.core.stored_figures import FigureKind, keep, kept, key_of
from annotations.core.tokenizers import Tokenizers
from annotations.gold.rules import CorpusPart, PartData, Split, part_of
from annotations.models import Document, GoldVersion, GoldVersionNote
from annotations.text.spans import Span

REVISION = 2
BATCH = 500
# A worker counts versions with more text. This much takes about one second.
MOST_CHARACTERS = 5_000_000

Parts = dict[str, CorpusPart]
"""By split, in order. A version without a split has one part, with an empty name."""
STATISTICS: FigureKind[dict[str, PartData]] = FigureKind("corpus")


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
            keep(version.project, STATISTICS, key, {split: part.data() for split, part in parts.items()})
    return parts


def _key(version: GoldVersion, tokenizer: str) -> str:
    notes = GoldVersionNote.objects.filter(version=version).order_by("document_id")
    made_of = REVISION, version.pk, version.content_hash, tokenizer
    return key_of(*made_of, list(notes.values_list("document_id", "split")))


def _counted(version: GoldVersion, progress: Progress, tokenizers: Tokenizers | None) -> Parts:
    notes = GoldVersionNote.objects.filter(version=version).order_by("document_id")
    total = notes.count()
    parts: Parts = {}
    rows = notes.values_list("split", "document__text", "document__language", "spans").iterator(chunk_size=BATCH)
    for done, (split, text, language, spans) in enumerate(rows, start=1):
        tokenizer = tokenizers(language or version.project.language) if tokenizers else None
        parts.setdefault(split, CorpusPart()).add_note(text, (Span(*span[:3]) for span in spans), tokenizer)
        if done % BATCH == 0 or done == total:
            progress(done, total)
    return _in_order(parts)


def _in_order(parts: Parts) -> Parts:
    return {split: parts[split] for split in (*map(str, Split), "") if split in parts}

"""Corpus statistics of a frozen gold version by split, stored until the version's notes or splits change."""

from django.db import transaction
from django.db.models import Sum

from annotations.core.erasures import erasures_of, unerased
from annotations.core.kept import Kind, keep, kept, key_of
from annotations.core.progress import Progress, silent
from annotations.domain.gold.corpus import Part, PartData, part_of
from annotations.domain.gold.splits import Split
from annotations.domain.spans import Span
from annotations.models import Document, GoldVersion, GoldVersionNote

REVISION = 1
BATCH = 500
# A worker counts versions with more text. This much takes about one second.
MOST_CHARACTERS = 5_000_000

Parts = dict[str, Part]
"""By split, in order. A version without a split has one part, with an empty name."""
STATISTICS: Kind[dict[str, PartData]] = Kind("corpus")


def takes_long(version: GoldVersion) -> bool:
    """Whether a worker should count."""
    notes = GoldVersionNote.objects.filter(version=version).order_by().values("document_id")
    characters = Document.objects.filter(pk__in=notes).aggregate(total=Sum("length"))["total"] or 0
    return int(characters) > MOST_CHARACTERS


def kept_statistics(version: GoldVersion) -> Parts | None:
    """The stored statistics, or None if they were not computed yet."""
    found = kept(version.project, STATISTICS, _key(version))
    return None if found is None else _in_order({split: part_of(data) for split, data in found.items()})


def statistics_of(version: GoldVersion, progress: Progress = silent) -> Parts:
    """The stored statistics, or new ones, which are then stored. Raises ErasedMeanwhile."""
    found = kept_statistics(version)
    if found is not None:
        return found
    begun, key = erasures_of(version.project_id), _key(version)
    parts = _counted(version, progress)
    with transaction.atomic():
        unerased(version.project_id, begun)
        if _key(version) == key:
            keep(version.project, STATISTICS, key, {split: part.data() for split, part in parts.items()})
    return parts


def _key(version: GoldVersion) -> str:
    notes = GoldVersionNote.objects.filter(version=version).order_by("document_id")
    return key_of(REVISION, version.pk, version.content_hash, list(notes.values_list("document_id", "split")))


def _counted(version: GoldVersion, progress: Progress) -> Parts:
    notes = GoldVersionNote.objects.filter(version=version).order_by("document_id")
    total = notes.count()
    parts: Parts = {}
    rows = notes.values_list("split", "document__text", "spans").iterator(chunk_size=BATCH)
    for done, (split, text, spans) in enumerate(rows, start=1):
        parts.setdefault(split, Part()).add_note(text, (Span(*span[:3]) for span in spans))
        if done % BATCH == 0 or done == total:
            progress(done, total)
    return _in_order(parts)


def _in_order(parts: Parts) -> Parts:
    return {split: parts[split] for split in (*map(str, Split), "") if split in parts}

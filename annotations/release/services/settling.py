"""Figures and content hash of a prepared release, from its rows."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from django.db import transaction
from django.db.models import Count, Max, Min, Q, QuerySet, Sum

from annotations.core.erasures import erasures_of, unerased
from annotations.domain.hashing import gold_hash
from annotations.models import Release, ReleasedNote
from annotations.release.selectors.releases import leak_counts

BATCH = 500
State = ReleasedNote.State


def settle(*, release: Release) -> Release:
    """Store figures and content hash of a prepared release, unless nothing has changed since they were stored.

    The hash covers the notes that an export writes: those that are not held back. Raises ErasedMeanwhile if a note was
    erased meanwhile; then start again.
    """
    release.refresh_from_db()
    if release.content_hash or release.state != Release.State.PREPARED:
        return release
    begun = erasures_of(release.project_id)
    seen = release.revision
    figures = _figures(release)
    whole = gold_hash(_hashed(release, with_spans=True))
    figures["surrogates"] = release.figures.get("surrogates", {})
    figures["text_hash"] = gold_hash(_hashed(release, with_spans=False))
    with transaction.atomic():
        unerased(release.project_id, begun)
        locked = Release.objects.select_for_update(of=("self",)).get(pk=release.pk)
        if locked.state == Release.State.PREPARED and locked.revision == seen:
            locked.content_hash, locked.figures = whole, figures
            locked.span_count = figures["spans"]
            locked.save(update_fields=["content_hash", "figures", "span_count"])
    release.refresh_from_db()
    return release


def released_notes(release: Release) -> QuerySet[ReleasedNote]:
    """The notes that an export writes."""
    return ReleasedNote.objects.filter(release=release, state=State.DONE)


def _hashed(release: Release, *, with_spans: bool) -> Iterator[tuple[str, str, list[tuple[int, int, str]]]]:
    columns = ("name", "sha256", "spans") if with_spans else ("name", "sha256")
    rows = released_notes(release).order_by("id").values_list(*columns)
    for name, sha256, *spans in rows.iterator(chunk_size=BATCH):
        yield name, sha256, [(start, end, label) for start, end, label in spans[0]] if spans else []


def _figures(release: Release) -> dict[str, Any]:
    """Counts of the notes that an export writes. They hold no text."""
    rows = released_notes(release).order_by()
    by_label: Counter[str] = Counter()
    by_action: Counter[str] = Counter()
    exceptions: Counter[str] = Counter()
    for pieces, excepted in rows.values_list("pieces", "exceptions").iterator(chunk_size=BATCH):
        exceptions.update(excepted)
        by_label.update(piece[4] for piece in pieces)
        by_action.update(piece[5] for piece in pieces)
    totals = rows.aggregate(
        notes=Count("id"),
        characters=Sum("document__length", default=0),
        kept=Sum("characters_kept", default=0),
        first=Min("first_year"),
        last=Max("last_year"),
        patients=Count("document__patient_id", distinct=True, filter=~Q(document__patient_id="")),
        without=Count("id", filter=Q(document__patient_id="")),
    )
    return {
        "notes": totals["notes"],
        "held_back": ReleasedNote.objects.filter(release=release, state=State.HELD).count(),
        "spans": by_label.total(),
        "characters": totals["characters"],
        "characters_kept": totals["kept"],
        "spans_by_label": dict(sorted(by_label.items())),
        "spans_by_action": dict(sorted(by_action.items())),
        "leaks": leak_counts(release),
        "exceptions": dict(sorted(exceptions.items())),
        "years": None if totals["first"] is None else [totals["first"], totals["last"]],
        "patients": totals["patients"],
        "notes_without_patient": totals["without"],
    }

"""The jobs of releases: preparing the notes, and exporting them."""

import time
from typing import Any

from django.db import transaction

from annotations.exchange.services.export_labels import ExportLabels
from annotations.jobs.runner import Claim, take_share, writing_share
from annotations.models import Release, ReleasedNote, ReleaseState
from annotations.release.selectors.releases import leak_counts, note_counts
from annotations.release.services.batches import MEANWHILE, next_batch, pending, prepare_rows, preparer_of
from annotations.release.services.exporting import run_release_export
from annotations.release.services.measuring import dropped, surrogate_measures
from annotations.release.services.searching import searched_in
from annotations.release.services.settling import settle

# How often the worker that leads the job checks whether others have finished their batches (seconds).
LOOK_EVERY = 0.25


def run(claim: Claim) -> dict[str, Any]:
    """Prepare the pending notes of a release, together with other workers. A killed worker's notes stay pending."""
    release = Release.objects.select_related("project__label_set", "policy").get(pk=claim.params["release_id"])
    preparer = preparer_of(release)
    if claim.leads:
        _count(claim, release)
    preparer.avoid_originals(claim.check)
    while True:
        ids = take_share(claim, lambda held: next_batch(release, held))
        if ids:
            claim.check()
            try:
                prepare_rows(release, preparer, ids, writing_share(claim, len(ids)))
            except MEANWHILE:
                continue  # The rows of erased notes are gone.
        elif claim.leads and pending(release).exists():
            claim.check()
            time.sleep(LOOK_EVERY)
        else:
            break
    return _finish(claim, release) if claim.leads else {}


def _count(claim: Claim, release: Release) -> None:
    """Count the prepared notes while no helper can write. Each share then increases `done`."""
    with transaction.atomic():
        claim.fence()
        total = ReleasedNote.objects.filter(release=release).count()
        claim.progress(total - pending(release).count(), total)


def _finish(claim: Claim, release: Release) -> dict[str, Any]:
    measures = surrogate_measures(release)
    with transaction.atomic():
        claim.fence()
        preparing = Release.objects.select_for_update(of=("self",)).filter(pk=release.pk)
        before = preparing.get().figures.get("surrogates") or {}
        preparing.filter(state=ReleaseState.PREPARING).update(
            state=ReleaseState.PREPARED,
            figures={"surrogates": measures | dropped(before), "searched": searched_in(release)},
            content_hash="",
        )
    while True:
        try:
            release = settle(release=release)
            break
        except MEANWHILE:
            claim.check()
    claim.done = claim.total = ReleasedNote.objects.filter(release=release).count()
    counts = note_counts(release)
    return {
        "release": release.number,
        "notes": counts["done"],
        "spans": release.span_count,
        "leaks": leak_counts(release)["open"],
        "held_back": counts["held"],
    }


def run_export(claim: Claim) -> dict[str, Any]:
    """Write a release into a stored file. After a crash the job starts over: a partial file is never committed."""
    return run_release_export(
        release_id=claim.params["release_id"],
        format=str(claim.params["format"]),
        leave_out=bool(claim.params.get("leave_out")),
        actor_id=claim.actor_id,
        progress=claim.progress,
        labels=ExportLabels.from_params(claim.params["labels"]) if "labels" in claim.params else None,
    )

"""What an erasure does to feeds."""

from collections.abc import Collection
from functools import partial

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from annotations.models import Project
from models_runtime.feeds.services.delivering import clear_soon, entomb
from models_runtime.models import FeedFile, FeedFileState, FeedNote, Tombstone


def erase_from_feeds(*, project: Project, notes: Collection[int], patient: str, **about: object) -> None:
    """Withdraw what was delivered of erased notes, and forget the names of their files.

    A hook (annotations.core.hooks.patient_erased). The keyed hash of a file stays, so that the same file is not taken
    again: it is removed from the incoming folder. The patient's files in quarantine are removed, too.
    """
    found = list(FeedNote.objects.filter(feed__project=project, document__in=list(notes)))
    entomb([note for note in found if note.path], Tombstone.Reason.ERASED)
    own = Q(pk__in={note.file_id for note in found})
    if patient:
        own |= Q(patient=patient)
    files = FeedFile.objects.filter(own, feed__project=project)
    feeds = {note.feed_id for note in found} | set(files.values_list("feed_id", flat=True))
    files.update(state=FeedFileState.WITHDRAWN, since=timezone.now(), name="", patient="", detail="", problems=[])
    if feeds:
        transaction.on_commit(partial(clear_soon, sorted(feeds)), robust=True)

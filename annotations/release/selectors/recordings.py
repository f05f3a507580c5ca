"""Recordings of a release: which ones, what is muted in them, and the excerpts to which an auditor listens."""

import random
from collections.abc import Mapping, Sequence
from typing import Final

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotations.audio.rules.intervals import Interval
from annotations.audio.selectors import muted_intervals
from annotations.models import AuditNote, Recording, Release, ReleasedNote
from annotations.release.rules.redaction.policy import Action
from annotations.release.selectors.findings import stored_pieces
from annotations.text.spans import Bounds

WORDS: Final = "words"
"""The cause of muted words whose label an export doesn't write."""
EXCERPTS: Final = 3
EXCERPT: Final = 20.0
"""Seconds. A recording that is not longer than all its excerpts is heard as a whole."""


def has_recordings(release: Release) -> bool:
    """Whether a released note is the transcript of a recording."""
    return ReleasedNote.objects.filter(release=release, document__recording__isnull=False).exists()


def lost_recordings(release: Release) -> "QuerySet[ReleasedNote]":
    """The released notes whose recordings' files were deleted, by name."""
    rows = ReleasedNote.objects.filter(release=release, document__recording__isnull=False)
    return rows.filter(document__source__original=None).order_by("name")


def lost(names: Sequence[str]) -> str:
    """What to do about lost recordings of these released notes, as a sentence; empty for none."""
    if not names:
        return ""
    message = _(
        "The file of the recording was deleted, so no muted copy can be made: %(names)s. Restore it from a "
        "backup, or delete the note, import its recording again, and prepare a new release."
    )
    return message % {"names": ", ".join(names)}


def released_intervals(
    note: ReleasedNote, recording: Recording, planted: Bounds | None = None, codes: Mapping[str, str] | None = None
) -> list[Interval]:
    """What is muted in a released recording: the words of what the release replaced, and the recording's regions.

    `planted`: the bounds of a planted leak in the original, whose words stay audible. `codes`: what is
    written for labels; of an empty code, the cause is WORDS.
    """
    codes = codes or {}
    spans = [
        (piece.start, piece.end, codes.get(piece.label, piece.label) or WORDS)
        for piece in stored_pieces(note.pieces)
        if piece.action is not Action.KEEP and (piece.start, piece.end) != planted
    ]
    return muted_intervals(recording, spans)


def excerpts_of(row: AuditNote, recording: Recording) -> Sequence[tuple[float, float]]:
    """The excerpts of a recording that an auditor hears, in seconds: always the same for the note of an audit.

    They are drawn at random. One of them has the planted leak, if the note has one, at a random place.
    """
    whole = recording.duration
    if whole <= EXCERPTS * EXCERPT:
        return [(0.0, whole)]
    drawn = random.Random(f"{row.plan_id}-{row.position}")  # noqa: S311 - the same excerpts after a reload
    starts = [drawn.uniform(0, whole - EXCERPT) for _ in range(EXCERPTS)]
    if row.planted_start is not None and row.planted_end is not None:
        words = [word for word in recording.words if word[0] < row.planted_end and row.planted_start < word[1]]
        if words:
            begin = min(word[2] for word in words) - drawn.uniform(1, EXCERPT - 5)
            starts[0] = min(max(0.0, begin), whole - EXCERPT)
    return [(start, start + EXCERPT) for start in sorted(starts)]

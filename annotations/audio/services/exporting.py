"""Muted copies of recordings: one to a folder, or all those of a release."""

import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Final

from django.db import transaction
from django.utils.translation import gettext as _

from annotations.audio.events import AUDIO_EXPORTED
from annotations.audio.rules.gaps import MUTED, heard_text
from annotations.audio.rules.intervals import MOST_MARGIN, Interval, Stretch, seconds_of
from annotations.audio.rules.sound import facts_of, tags_of, write_muted
from annotations.audio.selectors import is_muted, muted_intervals, opened, words_of
from annotations.audio.services.starting import readable
from annotations.core.services import ServiceError, erasures_of, unerased
from annotations.exchange.services.writing import Content, write_to_path
from annotations.models import Label, Recording, RegionCause, User
from annotations.text.spans import Span, stretches

NEUTRAL: Final = "recording"
"""The name of a copy's files: that of a recording often has the name of a patient."""


def check_margin(margin: float) -> None:
    """Raise ServiceError `margin` unless it is between 0 and MOST_MARGIN seconds."""
    if not 0 <= margin <= MOST_MARGIN:
        message = _("The margin must be between 0 and %(most)s milliseconds.")
        raise ServiceError(message % {"most": int(MOST_MARGIN * 1000)}, code="margin")


def muted_copy(recording: Recording, intervals: Sequence[Interval], *, tone: bool = False) -> tuple[str, IO[bytes]]:
    """The ending and the content of a muted copy, in an unnamed temporary file. Raises ServiceError.

    A copy with tags is refused: writing it anew has removed them all.
    """
    with opened(recording) as source, readable():
        copy: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - for the caller
        write_muted(source, copy, intervals, tone=tone)
        if tags_of(copy):
            raise ServiceError(_("The muted copy still has tags. It was not written."), code="tags")
        copy.seek(0)
        return facts_of(source).ending, copy


def intervals_file(recording: Recording, intervals: Sequence[Interval]) -> bytes:
    """The list of intervals with their causes, as JSON."""
    about = {
        "rate": recording.rate,
        "samples": recording.frames,
        "voice": "kept",
        "muted_seconds": round(seconds_of(intervals), 3),
        "intervals": [[one.start, one.end, one.cause] for one in intervals],
    }
    return json.dumps(about, indent=1).encode()


def _heard(recording: Recording, spans: Sequence[Span]) -> str:
    """The transcript with placeholders for the spans, and [MUTED] for other words and gaps that are muted."""
    note = recording.document
    assert note is not None
    labels = Label.objects.filter(label_set__project=note.project_id)
    placeholder_of = dict(labels.values_list("code", "placeholder"))
    regions = [one for one in recording.regions.all() if is_muted(one)]
    words = words_of(recording)
    replaced = [(start, end, placeholder_of[label]) for start, end, label in stretches(spans)]
    taken = replaced[:]
    for region in regions:
        if region.cause != RegionCause.GAP:
            said = [one for one in words if one.begin < region.end and region.start < one.finish]
            replaced += [
                (one.start, one.end, MUTED)
                for one in said
                if not any(start < one.end and one.start < end for start, end, _new in taken)
            ]
    gaps = [Stretch(one.start, one.end) for one in regions if one.cause == RegionCause.GAP]
    return heard_text(note.text, words, replaced, gaps)


def write_copy(
    *, recording: Recording, spans: Sequence[Span], margin: float, tone: bool, out: Path, actor: User | None
) -> dict[str, Any]:
    """Write a muted copy, the transcript with placeholders, and the intervals. Return what was muted.

    Raises ServiceError, and ErasedMeanwhile if a note was erased meanwhile; then nothing is written.
    """
    note = recording.document
    assert note is not None
    begun = erasures_of(note.project_id)
    intervals = muted_intervals(recording, [(one.start, one.end, one.label) for one in spans], margin=margin)
    text = _heard(recording, spans)

    def files() -> Iterator[tuple[str, Content]]:
        ending, copy = muted_copy(recording, intervals, tone=tone)
        with copy:
            yield f"{NEUTRAL}.{ending}", copy
        yield f"{NEUTRAL}.txt", text.encode()
        yield f"{NEUTRAL}.intervals.json", intervals_file(recording, intervals)

    def finish(move: Any) -> None:
        with transaction.atomic():
            unerased(note.project_id, begun)
            AUDIO_EXPORTED.record(
                actor=actor, project_id=note.project_id, document_id=note.pk,
                data={"intervals": len(intervals), "seconds": round(seconds_of(intervals), 3)},
            )  # fmt: skip
            move()

    write_to_path(out, files(), finish)
    return {
        "files": 1,
        "muted": len(intervals),
        "muted_seconds": round(seconds_of(intervals), 3),
        "gaps": recording.regions.filter(cause=RegionCause.GAP).count(),
        "intervals": [list(one) for one in intervals],
    }

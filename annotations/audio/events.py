"""Events of recordings."""

from typing import TypedDict

from django.utils.translation import gettext_lazy as _

from annotations.core.services import Verb


class RecordingStored(TypedDict):
    """The note, and counts."""

    words: int
    widened: int
    regions: int


class RegionChanged(TypedDict):
    """A region, its bounds in seconds, its decision and sort; empty where nothing was decided."""

    region: int
    start: float
    end: float
    decision: str
    sort: str


class GapsJudged(TypedDict):
    """How many regions a language model judged, and how many it called harmless."""

    regions: int
    harmless: int


class AudioExported(TypedDict):
    """What was muted: the intervals and their seconds."""

    intervals: int
    seconds: float


RECORDING_STORED = Verb[RecordingStored]("recording.stored", _("transcribed a recording"))
REGION_CHANGED = Verb[RegionChanged]("audio_region.changed", _("decided about a part of a recording"))
GAPS_JUDGED = Verb[GapsJudged]("audio_gaps.judged", _("asked a language model about gaps of a recording"))
AUDIO_EXPORTED = Verb[AudioExported]("audio.exported", _("exported a muted recording"), reading=True)

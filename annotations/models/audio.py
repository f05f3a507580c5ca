from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from annotations.models.notes import Document, Import
from annotations.models.project import Table


class Recording(Table):
    """The recording whose transcript a note is. `document` is null until the words are known.

    `frames` counts samples of each channel, `rate` samples a second. `words`: for each word [start, end, begin, finish,
    confidence, speaker, rough], offsets in code points (end-exclusive), times in seconds; `rough` times are
    interpolated. `source` says where the words come from, `widened` how many had wrong times. `voice` names the
    detector of voices, and `margin` the seconds that a muted word gets on both sides. `peaks`: the loudest sample of
    each twentieth of a second, from 0 to 100.

    While the job has not ended, `given` holds the words of a file, [word, start, end, confidence, speaker, rough], and
    `name` and `patient_id` those of the note.
    """

    document = models.OneToOneField(Document, models.CASCADE, null=True, related_name="recording")
    imported_by = models.OneToOneField(Import, models.CASCADE, related_name="recording")
    format = models.CharField(max_length=12)
    subtype = models.CharField(max_length=24)
    rate = models.PositiveIntegerField()
    channels = models.PositiveSmallIntegerField()
    frames = models.PositiveBigIntegerField()
    source = models.CharField(max_length=80)
    voice = models.CharField(max_length=20, blank=True)
    margin = models.FloatField()
    widened = models.PositiveIntegerField(default=0)
    name = models.CharField(max_length=255, blank=True, db_default="", default="")
    patient_id = models.CharField(max_length=80, blank=True, help_text="That of the note, until there is one.")
    given = models.JSONField(null=True)
    words = models.JSONField(default=list)
    peaks = models.JSONField(default=list)

    class Meta:
        ordering = ["id"]

    @property
    def duration(self) -> float:
        """Seconds."""
        return self.frames / self.rate


class RecordingBlock(Table):
    """A part of a recording that a job has finished: its words and where a voice is heard, in seconds of the recording.

    Deleted when the job ends.
    """

    recording = models.ForeignKey(Recording, models.CASCADE, related_name="blocks", db_index=False)
    end = models.FloatField()
    words = models.JSONField(default=list)
    voiced = models.JSONField(default=list)

    class Meta:
        ordering = ["end"]
        constraints = [models.UniqueConstraint(fields=["recording", "end"], name="recording_block_once")]


class RegionCause(models.TextChoices):
    GAP = "gap", _("Voice without words")
    CONFIDENCE = "confidence", _("Uncertain words")
    PERSON = "person", _("Marked by hand")


class RegionSort(models.TextChoices):
    """As Singh et al. 2025, section 4.8, sort what is muted beside the words."""

    NAME = "name", _("Name")
    CONTEXT = "context", _("Relevant context")
    NOISE = "noise", _("Noise")


class RegionDecision(models.TextChoices):
    ACCEPTED = "accepted", _("Mute")
    REJECTED = "rejected", _("Keep audible")


class AudioRegion(Table):
    """A part of a recording that is suggested for muting beside the words of an annotation set, in seconds.

    It is muted unless a person rejects it, or, before a person decides, a language model called it harmless.
    `verdict` is the model's: a type of entity, PHI, NON-PHI or UNKNOWN; empty if none was asked.
    """

    recording = models.ForeignKey(Recording, models.CASCADE, related_name="regions", db_index=False)
    start = models.FloatField()
    end = models.FloatField()
    cause = models.CharField(max_length=10, choices=RegionCause)
    verdict = models.CharField(max_length=60, blank=True)
    sort = models.CharField(max_length=7, choices=RegionSort, blank=True)
    decision = models.CharField(max_length=8, choices=RegionDecision, blank=True)
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    decided_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["start", "id"]
        indexes = [models.Index(fields=["recording", "start"], name="audio_region_by_time")]
        constraints = [
            models.CheckConstraint(condition=models.Q(end__gt=models.F("start")), name="audio_region_not_empty")
        ]

    @property
    def moment(self) -> str:
        """When a person decided, in ISO 8601; empty if nobody has."""
        return "" if self.decided_at is None else self.decided_at.isoformat()

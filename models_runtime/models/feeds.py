from django.conf import settings
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotations.models import Document, Import, Project, Release, ReleasePolicy
from annotations.models.job import Job
from annotations.models.project import Created, Table
from models_runtime.models.runs import Run


class FeedPeriod(models.TextChoices):
    DAY = "day", _("Every day")
    WEEK = "week", _("Every week")


class Feed(Created):
    """A standing pipeline: files of the folder `source` are imported, read, reviewed, and released to `target`.

    Both folders are relative to the setting FEED_ROOT. `backend` starts the feed's run with the first notes; empty
    where `run` was chosen. `continues` is the first release of the standing release. `problem` says why the feed can't
    go on now; it names no file. `job` does the work, and is started again for more.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="feeds", db_index=False)
    name = models.CharField(max_length=40)
    source = models.CharField(max_length=500)
    target = models.CharField(max_length=500)
    run = models.ForeignKey(Run, models.SET_NULL, null=True, related_name="+")
    backend = models.CharField(max_length=120, blank=True, help_text="A backend, or a trained model.")
    policy = models.ForeignKey(ReleasePolicy, models.RESTRICT, related_name="+")
    read_percent = models.PositiveSmallIntegerField(
        default=100, help_text="Share of the notes that people review before they are released, drawn by a keyed hash."
    )
    period = models.CharField(max_length=4, choices=FeedPeriod, default=FeedPeriod.DAY)
    continues = models.ForeignKey(Release, models.SET_NULL, null=True, related_name="+")
    paused_at = models.DateTimeField(null=True)
    paused_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    problem = models.CharField(max_length=500, blank=True)
    looked_at = models.DateTimeField(null=True, help_text="When the folder was last looked at.")
    job = models.ForeignKey(Job, models.SET_NULL, null=True, related_name="+")

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(fields=["project", "name"], name="feed_name_once"),
            models.UniqueConstraint(fields=["source"], name="feed_source_once"),
            models.UniqueConstraint(fields=["target"], name="feed_target_once"),
        ]


class FeedFileState(models.TextChoices):
    TAKEN = "taken", _("Taken")
    IMPORTED = "imported", _("Imported")
    QUARANTINED = "quarantined", _("In quarantine")
    WITHDRAWN = "withdrawn", _("Erased")


class QuarantineReason(models.TextChoices):
    """Why a file lies in quarantine."""

    LINK = "link", _("It is a link, which is not followed.")
    SPECIAL = "special", _("It is not a plain file.")
    NAME = "name", _("Its name is not allowed.")
    LARGE = "large", _("It is larger than an upload may be.")
    UNREADABLE = "unreadable", _("It can't be read. Check its permissions.")
    REFUSED = "refused", _("It can't be imported.")
    DUPLICATE = "duplicate", _("The project has a note with the same text.")
    EMPTY = "empty", _("It holds no note.")
    RECORDS = "records", _("Some of its records were refused. The others were taken.")


class FeedFile(Table):
    """A file of the incoming folder. `key` is a keyed hash of its content, by which it is taken once.

    `name` is its path in the folder; it and `patient` are emptied when its notes are erased. `detail` says
    more about the reason, as a sentence for people. `moved`: the file lies in the quarantine folder.
    """

    feed = models.ForeignKey(Feed, models.CASCADE, related_name="files", db_index=False)
    key = models.CharField(max_length=64)
    name = models.CharField(max_length=500, blank=True)
    kind = models.CharField(max_length=8, blank=True, help_text="note, document or records.")
    size = models.PositiveBigIntegerField(default=0)
    patient = models.CharField(max_length=80, blank=True)
    state = models.CharField(max_length=11, choices=FeedFileState, default=FeedFileState.TAKEN)
    since = models.DateTimeField(default=timezone.now)
    taken_at = models.DateTimeField(default=timezone.now)
    imported_by = models.ForeignKey(Import, models.SET_NULL, null=True, related_name="+")
    reason = models.CharField(max_length=10, choices=QuarantineReason, blank=True)
    detail = models.CharField(max_length=300, blank=True)
    moved = models.BooleanField(default=False)
    problems = models.JSONField(default=list, help_text="The first refused records: {where, path, reason}.")

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["feed", "key"], name="feed_file_once")]
        indexes = [models.Index(fields=["feed", "state", "id"], name="feed_file_by_state")]


class FeedNoteState(models.TextChoices):
    IMPORTED = "imported", _("Waits for the run")
    READ = "read", _("Waits for review")
    READY = "ready", _("Waits for release")
    GATE = "gate", _("At the leak gate")
    DELIVERING = "delivering", _("Being delivered")
    RELEASED = "released", _("Released")
    WITHDRAWN = "withdrawn", _("Withdrawn")
    REFUSED = "refused", _("Can't leave")


class FeedNote(Table):
    """A note of a file on its way. It is deleted with the note; what was delivered then gets a tombstone.

    `path` is relative to the outgoing folder. It is stored before the file is written, so that nothing lies there of
    which no row knows; `sha256` is that of the delivered text.
    """

    file = models.ForeignKey(FeedFile, models.CASCADE, related_name="notes")
    feed = models.ForeignKey(Feed, models.CASCADE, related_name="notes", db_index=False)
    document = models.OneToOneField(Document, models.CASCADE, related_name="feed_note")
    run = models.ForeignKey(Run, models.SET_NULL, null=True, related_name="+")
    state = models.CharField(max_length=10, choices=FeedNoteState, default=FeedNoteState.IMPORTED)
    since = models.DateTimeField(default=timezone.now)
    reviewed = models.BooleanField(default=True, help_text="Whether people review it before it is released.")
    path = models.CharField(max_length=300, blank=True)
    sha256 = models.CharField(max_length=64, blank=True)
    delivered_at = models.DateTimeField(null=True)
    record = models.BooleanField(default=False)
    record_sha256 = models.CharField(max_length=64, blank=True, db_default="", help_text="That of the record.")

    class Meta:
        ordering = ["id"]
        indexes = [models.Index(fields=["feed", "state", "id"], name="feed_note_by_state")]


class FeedDelta(Table):
    """The part of a standing release that one period adds: a release with a folder, and at its end a certificate.

    `certified` is the number of the certificate that lies in the folder; 0 while the period is open.
    """

    feed = models.ForeignKey(Feed, models.CASCADE, related_name="deltas")
    release = models.OneToOneField(Release, models.CASCADE, related_name="feed_delta")
    begins = models.DateField(help_text="The first day of the period.")
    folder = models.CharField(max_length=30)
    records = models.BooleanField(default=False, help_text="Its notes are those of records.")
    certified = models.PositiveIntegerField(default=0)
    closed = models.BooleanField(default=False)

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["feed", "folder"], name="feed_folder_once")]


class Tombstone(Table):
    """A delivered file that was withdrawn, without anything of its note. `cleared_at`: when it was removed."""

    class Reason(models.TextChoices):
        ERASED = "erased", _("The note was erased")
        WITHDRAWN = "withdrawn", _("The release was withdrawn")
        HELD = "held", _("The leak gate holds the note back")
        LEAK = "leak", _("A later note of the patient showed a leak in it")

    feed = models.ForeignKey(Feed, models.CASCADE, related_name="tombstones")
    path = models.CharField(max_length=300)
    sha256 = models.CharField(max_length=64, blank=True)
    delivered_at = models.DateTimeField(null=True)
    withdrawn_at = models.DateTimeField(default=timezone.now)
    reason = models.CharField(max_length=9, choices=Reason)
    cleared_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["id"]
        indexes = [models.Index(fields=["feed", "cleared_at"], name="tombstone_to_clear")]

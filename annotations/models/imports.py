from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from annotations.formats.documents.base import DOCUMENTS, MIXED
from annotations.models.project import Project
from annotations.models.stored_file import StoredFile


class ImportState(models.TextChoices):
    STAGED = "staged", _("Waiting for confirmation")
    RUNNING = "running", _("Running")
    DONE = "done", _("Done")
    FAILED = "failed", _("Failed; nothing was imported")
    CANCELED = "canceled", _("Canceled; nothing was imported")


class Import(models.Model):
    """One import of notes, with its report. While it runs, it can be canceled, which removes what it has added."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="imports")
    stored_file = models.ForeignKey(StoredFile, models.SET_NULL, null=True, related_name="+")
    format = models.CharField(max_length=20)
    written_as = models.CharField(
        max_length=170, blank=True, help_text="gold, annotator:NAME or run:NAME; empty without annotations."
    )
    language = models.CharField(max_length=8, blank=True)
    labels_found = models.JSONField(
        null=True, help_text="Labels of the files: {name: [spans, notes]}. Null: not counted."
    )
    notes_found = models.PositiveIntegerField(
        default=0, help_text="Notes counted when the files were staged, for files that hold many; 0: not counted."
    )
    label_choices = models.JSONField(
        default=dict, help_text="What to do with labels of the files, by name; complete once the import starts."
    )
    take_duplicates = models.BooleanField(default=False, help_text="Import texts that exist under another name.")
    repair_offsets = models.BooleanField(
        default=False, help_text="Move a span to the text that it quotes, if that stands nearby."
    )
    all_or_nothing = models.BooleanField(default=False, help_text="Import nothing if a note is refused.")
    encoding = models.CharField(
        max_length=40, blank=True, help_text="Encoding of the text in documents; empty: it is detected."
    )
    no_cleanup = models.JSONField(default=list, help_text="Clean-up rules that documents are read without.")
    state = models.CharField(max_length=10, choices=ImportState, default=ImportState.STAGED)
    notes_done = models.PositiveIntegerField(default=0, help_text="Notes that a resumed import may skip.")
    files_done = models.PositiveIntegerField(
        default=0, help_text="Documents read to the end, which a resumed import doesn't read again."
    )
    notes_of_files = models.PositiveIntegerField(default=0, help_text="Those of `notes_done` from `files_done`.")
    report = models.JSONField(default=dict)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"import {self.pk}"

    @property
    def has_documents(self) -> bool:
        """Whether some of the files are documents, which take long to read."""
        return self.format == DOCUMENTS or self.format.endswith(MIXED)

    @property
    def main_format(self) -> str:
        """The format of the other files."""
        return self.format.removesuffix(MIXED)

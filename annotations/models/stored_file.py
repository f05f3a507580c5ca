from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from annotations.models.project import Project


class StoredFileKind(models.TextChoices):
    UPLOAD = "upload", _("Upload")
    EXPORT = "export", _("Export")
    MODEL = "model", _("Model")
    ARCHIVE = "archive", _("Project archive")
    RELEASE = "release", _("Release")
    ORIGINAL = "original", _("Original document")


class StoredFile(models.Model):
    """An upload to be imported, a document that notes were extracted from, an export, a release, or a trained model.

    Stored in the database, not on disk, so that workers on other machines need no shared file system.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="stored_files")
    kind = models.CharField(max_length=8, choices=StoredFileKind)
    name = models.CharField(max_length=255)
    size = models.PositiveBigIntegerField(default=0)
    sha256 = models.CharField(max_length=64, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(
        null=True, db_index=True, help_text="Null: the file is kept until a person deletes it."
    )

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"file {self.pk}"


class StoredChunk(models.Model):
    """Up to 1 MiB of a stored file; `number` counts from 0."""

    file = models.ForeignKey(StoredFile, models.CASCADE, related_name="chunks", db_index=False)
    number = models.PositiveIntegerField()
    data = models.BinaryField()

    class Meta:
        ordering = ["number"]
        constraints = [models.UniqueConstraint(fields=["file", "number"], name="chunk_once")]

    def __str__(self) -> str:
        return f"chunk {self.number} of file {self.file_id}"

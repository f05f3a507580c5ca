from django.db import models

from annotations.models.imports import Import
from annotations.models.project import Project
from annotations.models.stored_file import StoredFile


class Document(models.Model):
    """A note. `text` is stored exactly as imported and never changes; `length` counts code points.

    `text` is the last column, so that SQLite reads the other columns without its overflow pages.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="documents", db_index=False)
    name = models.CharField(max_length=255)
    sha256 = models.CharField(max_length=64)
    length = models.PositiveIntegerField()
    language = models.CharField(max_length=8, blank=True)
    patient_id = models.CharField(max_length=80, blank=True)
    imported_by = models.ForeignKey(Import, models.SET_NULL, null=True, related_name="documents")
    created_at = models.DateTimeField(auto_now_add=True)
    text = models.TextField()

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["project", "name"], name="note_name_once")]
        indexes = [
            models.Index(fields=["project", "id"], name="note_by_project"),
            models.Index(fields=["project", "sha256"], name="note_by_sha256"),
            models.Index(fields=["project", "patient_id"], name="note_by_patient"),
        ]

    def __str__(self) -> str:
        return f"note {self.pk}"


class NoteMetadata(models.Model):
    """What is known about a note beside its text, for strata and subgroups: its type and the site that wrote it.

    A table of its own, so that the table of notes, the largest one, is not rebuilt, and its text stays the last column.
    """

    document = models.OneToOneField(Document, models.CASCADE, primary_key=True, related_name="metadata")
    note_type = models.CharField(max_length=80, blank=True)
    site = models.CharField(max_length=80, blank=True)

    def __str__(self) -> str:
        return f"metadata of note {self.pk}"


class DocumentSource(models.Model):
    """The document from which the text of a note was extracted.

    `places` is the source map, a list of [start, end, place]: offsets in code points, end-exclusive, and the name of a
    page or part. `ocr_confidence` is null unless OCR read the text. Several notes may come from one original; it is
    deleted when one of them is erased.
    """

    document = models.OneToOneField(Document, models.CASCADE, primary_key=True, related_name="source")
    original = models.ForeignKey(StoredFile, models.SET_NULL, null=True, related_name="sources")
    name = models.CharField(max_length=255, help_text="Relative path of the document in its import.")
    kind = models.CharField(max_length=12)
    encoding = models.CharField(max_length=40, blank=True)
    cleaned = models.JSONField(default=dict, help_text="Number of changes by clean-up rule.")
    places = models.JSONField(default=list)
    ocr_confidence = models.FloatField(null=True, help_text="Mean confidence of the words that OCR read, from 0 to 1.")

    def __str__(self) -> str:
        return f"source of note {self.document_id}"

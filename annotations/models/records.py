from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from annotations.models.notes import Document
from annotations.models.project import Created, Project, Table
from annotations.models.release import Release


class RecordSchemaState(models.TextChoices):
    DRAFT = "draft", _("Draft")
    REVIEWED = "reviewed", _("Reviewed")
    ACTIVE = "active", _("Active")
    RETIRED = "retired", _("Replaced")


class RecordSchema(Created):
    """One version of the schema of a type of records: a JSON Schema with a rule for each leaf. Versions never change.

    `number` counts the versions of the type from 1; one of them is active at most. Without `created_by`, deidreview
    brought the schema, and it came reviewed.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="record_schemas", db_index=False)
    data_type = models.CharField(max_length=80)
    number = models.PositiveIntegerField()
    record_version = models.CharField(max_length=40, blank=True)
    schema = models.JSONField(help_text="See annotations.records.rules.schemas.")
    repairs = models.JSONField(default=list, help_text="What was repaired in the file, as sentences.")
    state = models.CharField(max_length=8, choices=RecordSchemaState, default=RecordSchemaState.DRAFT)
    reviewed_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    reviewed_at = models.DateTimeField(null=True)
    activated_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    activated_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["data_type", "-number"]
        constraints = [
            models.UniqueConstraint(fields=["project", "data_type", "number"], name="record_schema_once"),
            models.UniqueConstraint(
                fields=["project", "data_type"], condition=models.Q(state="active"), name="one_active_record_schema"
            ),
        ]


class Record(Table):
    """A record that waits for its note: the note holds its free text, and the identifiers of its other fields.

    `schema` is the version with which it was read. `sections`: [start, end, JSON pointer] in the note's text, in code
    points. `has_text`: it holds free text, which somebody must review. It is deleted with its note.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    schema = models.ForeignKey(RecordSchema, models.CASCADE, related_name="records")
    document = models.OneToOneField(Document, models.CASCADE, related_name="record")
    release = models.ForeignKey(Release, models.SET_NULL, null=True, related_name="records")
    content_hash = models.CharField(max_length=64)
    has_text = models.BooleanField(default=True)
    sections = models.JSONField(default=list)
    record = models.JSONField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["schema", "content_hash"], name="record_once")]
        indexes = [models.Index(fields=["project", "release", "id"], name="record_by_release")]

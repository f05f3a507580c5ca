from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from annotations.models.notes import Document
from annotations.models.project import Created, Project, Table


class KnownPerson(Table):
    """One patient of a project's patient master.

    `sealed` holds the person (release.rules.known.person), encrypted with the project's key; `digest` is a keyed
    digest of it, by which an import finds rows that it would not change.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    patient_id = models.CharField(max_length=80)
    sealed = models.BinaryField()
    digest = models.CharField(max_length=64)
    fields = models.PositiveIntegerField(default=0, help_text="One bit for each field of Person that has a value.")
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ["patient_id"]
        constraints = [models.UniqueConstraint(fields=["project", "patient_id"], name="known_person_once")]


class KnownUploadState(models.TextChoices):
    WAITING = "waiting", _("Being read")
    READ = "read", _("Waiting for confirmation")


class KnownUpload(Created):
    """A file of a patient master that waits for confirmation, encrypted with the project's key.

    `sealed` holds the file until a worker has read it, and then the people in it. `report` holds counts, and names of
    columns and fields; never a value of a row.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="+")
    format = models.CharField(max_length=4)
    state = models.CharField(max_length=7, choices=KnownUploadState, default=KnownUploadState.WAITING)
    sealed = models.BinaryField()
    report = models.JSONField(default=dict)

    class Meta:
        ordering = ["-id"]


class ListedTermKind(models.TextChoices):
    ALLOW = "allow", _("Allow")
    DENY = "deny", _("Deny")


class ListedTerm(Table):
    """A term of a project's allow list or deny list.

    `sealed` holds the term, encrypted with the project's key. `digest` is a keyed digest of the folded term. `label` is
    the code of a denied term's label.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    kind = models.CharField(max_length=5, choices=ListedTermKind)
    sealed = models.BinaryField()
    digest = models.CharField(max_length=64)
    label = models.CharField(max_length=60, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["project", "kind", "digest"], name="listed_term_once")]


class SurrogateEntity(Table):
    """An entity of a project's index of surrogates: what the notes call it, and what replaces it.

    `sealed` holds the original forms and the parts of the surrogate, encrypted with the project's key. `scope` is empty
    for kinds that all patients share, else a keyed digest of the patient, or of the note where it has no patient.
    `surrogate_digest` is a keyed digest of the surrogate; null for kinds whose surrogates may repeat, such as ages.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="surrogate_entities", db_index=False)
    kind = models.CharField(max_length=20, help_text="annotations.release.rules.redaction.policy")
    scope = models.CharField(max_length=32, blank=True)
    sealed = models.BinaryField()
    surrogate_digest = models.CharField(max_length=32, null=True)  # noqa: DJ001, several entities may have none
    locked = models.BooleanField(default=False, help_text="Only a person may change the surrogate or add forms.")
    made_by = models.CharField(max_length=60, help_text="rules, person, or a model with a digest of its prompts.")
    version = models.PositiveIntegerField(default=1, help_text="Counts changes, so that no editor undoes another's.")
    created_at = models.DateTimeField(auto_now_add=True)
    edited_at = models.DateTimeField(null=True, help_text="When a person last changed the entity.")
    edited_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")

    class Meta:
        ordering = ["kind", "id"]
        constraints = [
            # The digest is second, because the index also answers which kinds have a surrogate.
            models.UniqueConstraint(fields=["project", "surrogate_digest", "kind"], name="surrogate_once"),
        ]
        indexes = [
            models.Index(fields=["project", "kind", "id"], name="surrogate_by_kind"),
            models.Index(fields=["project", "scope"], name="surrogate_by_scope"),
            models.Index(fields=["project", "edited_at"], name="surrogate_by_edit"),
        ]


class SurrogateKey(Table):
    """A keyed digest by which an entity is found again: of a name, or of a part of it. Two entities share none."""

    entity = models.ForeignKey(SurrogateEntity, models.CASCADE, related_name="keys")
    project = models.ForeignKey(Project, models.CASCADE, related_name="+", db_index=False)
    kind = models.CharField(max_length=20)
    scope = models.CharField(max_length=32, blank=True)
    digest = models.CharField(max_length=32)

    class Meta:
        constraints = [
            # The digest is second, because the index also answers whether a text is any entity's name.
            models.UniqueConstraint(fields=["project", "digest", "kind", "scope"], name="surrogate_key_once"),
        ]


class SurrogateMention(Table):
    """Where a note mentions an entity. `start` and `end` are code points; `form` is a keyed hash of the text there."""

    entity = models.ForeignKey(SurrogateEntity, models.CASCADE, related_name="mentions", db_index=False)
    document = models.ForeignKey(Document, models.CASCADE, related_name="+", db_index=False)
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    form = models.BigIntegerField()

    class Meta:
        ordering = ["document", "start"]
        constraints = [
            models.UniqueConstraint(fields=["document", "start", "end"], name="surrogate_mention_once"),
            models.CheckConstraint(condition=Q(end__gt=F("start")), name="surrogate_mention_not_empty"),
        ]
        indexes = [models.Index(fields=["entity", "form"], name="surrogate_mention_by_form")]

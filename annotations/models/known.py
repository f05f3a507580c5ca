from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from annotations.models.project import Project


class KnownPerson(models.Model):
    """One patient of a project's patient master.

    `sealed` holds the person (domain.knowing.person.Person), encrypted with the project's key; `digest` is a keyed
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

    def __str__(self) -> str:
        return f"known person {self.pk}"


class KnownUploadState(models.TextChoices):
    WAITING = "waiting", _("Being read")
    READ = "read", _("Waiting for confirmation")


class KnownUpload(models.Model):
    """A file of a patient master that waits for confirmation, encrypted with the project's key.

    `sealed` holds the file until a worker has read it, and then the people in it. `report` holds counts, and names of
    columns and fields; never a value of a row.
    """

    project = models.ForeignKey(Project, models.CASCADE, related_name="+")
    format = models.CharField(max_length=4)
    state = models.CharField(max_length=7, choices=KnownUploadState, default=KnownUploadState.WAITING)
    sealed = models.BinaryField()
    report = models.JSONField(default=dict)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"known upload {self.pk}"


class ListedTermKind(models.TextChoices):
    ALLOW = "allow", _("Allow")
    DENY = "deny", _("Deny")


class ListedTerm(models.Model):
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

    def __str__(self) -> str:
        return f"listed term {self.pk}"

from django.conf import settings
from django.db import models

from annotations.models.keys import SigningKey
from annotations.models.release import Release


class Certificate(models.Model):
    """A signed certificate of a release, as the bytes that everybody gets. Certificates never change.

    `number` counts the certificates of a release from 1; a newer one supersedes the older ones. `sha256` is that of the
    JSON, by which a file is found again.
    """

    release = models.ForeignKey(Release, models.CASCADE, related_name="certificates", db_index=False)
    number = models.PositiveIntegerField()
    key = models.ForeignKey(SigningKey, models.PROTECT, related_name="+")
    sha256 = models.CharField(max_length=64, db_index=True)
    json = models.BinaryField()
    pdf = models.BinaryField()
    note_count = models.PositiveIntegerField()
    expires_on = models.DateField(null=True)
    signed_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    signed_at = models.DateTimeField()

    class Meta:
        ordering = ["-number"]
        constraints = [models.UniqueConstraint(fields=["release", "number"], name="certificate_number_once")]

    def __str__(self) -> str:
        return f"certificate {self.number}"


class ReleaseErasure(models.Model):
    """Notes that were erased from a prepared or signed release: how many, and of how many patients, but not which.

    `patients` is 1 where a patient was erased, and 0 where a single note was deleted.
    """

    release = models.ForeignKey(Release, models.CASCADE, related_name="erasures")
    notes = models.PositiveIntegerField()
    patients = models.PositiveIntegerField()
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"{self.notes} notes erased from release {self.release_id}"

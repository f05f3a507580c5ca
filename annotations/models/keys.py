from django.db import models

from annotations.models.project import Project


class ProjectKey(models.Model):
    """The secret key of a project, sealed with the key of the instance (annotations.core.sealing).

    What a release must keep secret is sealed with it or derived from it: the index of surrogates, the patient master,
    hashes, and the offsets of dates. It is deleted with its project, and all that it seals becomes unreadable.
    """

    project = models.OneToOneField(Project, models.CASCADE, primary_key=True, related_name="+")
    sealed = models.BinaryField()
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"key of project {self.project_id}"


class SigningKey(models.Model):
    """An Ed25519 key of the instance, with which it signs certificates. `sealed` holds the private key.

    The newest key signs. Older ones are kept, so that older certificates can be verified.
    """

    public = models.BinaryField(max_length=32)
    sealed = models.BinaryField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"signing key {self.pk}"

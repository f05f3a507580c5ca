from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from annotations.models.project import Project


class ApiToken(models.Model):
    """A token with which programs of one person use the API. Only the SHA-256 of the token is stored.

    The row gives no rights: each request asks for those of the person, and the scope can only lessen them.
    """

    class Scope(models.TextChoices):
        """From little to much; each includes the ones before it."""

        READ = "read", _("Read")
        WRITE = "write", _("Read and write")
        MANAGE = "manage", _("Read, write and manage")

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="api_tokens")
    name = models.CharField(max_length=80)
    prefix = models.CharField(max_length=16, help_text="The beginning of the token, by which people recognize it.")
    digest = models.CharField(max_length=64, unique=True)
    scope = models.CharField(max_length=6, choices=Scope, default=Scope.READ)
    project = models.ForeignKey(
        Project, models.CASCADE, null=True, blank=True, related_name="+", help_text="The only project that it reaches."
    )
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]

    def __str__(self) -> str:
        return f"API token {self.pk}"


class ApiAnswer(models.Model):
    """The answer to a request with an idempotency key, for a day.

    `status` is null while the request runs under its `claim`. `sealed` holds the headers and the body, encrypted with
    the key of the project, or of the instance without a project. It and `fingerprint` are emptied when notes of the
    project are erased.
    """

    token = models.ForeignKey(ApiToken, models.CASCADE, related_name="+", db_index=False)
    key = models.CharField(max_length=64, help_text="Keyed digest of the idempotency key.")
    fingerprint = models.CharField(max_length=64, help_text="Keyed digest of the method, the path and the body.")
    claim = models.UUIDField()
    claimed_at = models.DateTimeField()
    status = models.PositiveSmallIntegerField(null=True)
    sealed = models.BinaryField(null=True)
    project = models.ForeignKey(Project, models.CASCADE, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["token", "key"], name="api_answer_once")]

    def __str__(self) -> str:
        return f"answer {self.pk} of the API"

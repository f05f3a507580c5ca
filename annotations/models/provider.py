import uuid

from django.conf import settings
from django.db import models

from annotations.models.project import Project, Role


class ProviderAccount(models.Model):
    """A person at an organization's provider, and the account that this person has here.

    `provider` is the id of the provider in the settings, `subject` what identifies the person there for good. `sealed`
    holds what the relay needs to ask the provider whether the person is still there. `checked_at` is when the provider
    last said so, `next_check_at` when it is asked again.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="provider_accounts")
    provider = models.CharField(max_length=40)
    subject = models.CharField(max_length=255)
    sealed = models.BinaryField(default=b"")
    second_factor = models.BooleanField(
        default=False, help_text="Whether the provider asked for a second factor at the last sign-in."
    )
    signed_in_at = models.DateTimeField(null=True)
    checked_at = models.DateTimeField(null=True)
    next_check_at = models.DateTimeField(null=True, db_index=True)

    class Meta:
        ordering = ["id"]
        constraints = [
            models.UniqueConstraint(fields=["provider", "subject"], name="one_account_per_subject"),
            models.UniqueConstraint(fields=["provider", "user"], name="one_subject_per_account"),
        ]

    def __str__(self) -> str:
        return f"account {self.user_id} of {self.provider}"


class ProviderSession(models.Model):
    """A session that began at a provider. Deleting the row ends the session.

    `sid` and `name_id` are what the provider calls the session and the person when it ends the session.
    """

    account = models.ForeignKey(ProviderAccount, models.CASCADE, related_name="sessions")
    sid = models.CharField(max_length=255, blank=True, db_index=True)
    name_id = models.CharField(max_length=255, blank=True)
    until = models.DateTimeField(null=True, help_text="When the session ends in any case.")
    began_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"session {self.pk}"


class UsedToken(models.Model):
    """The digest of a token or an assertion that was used and must not be used again, until it expires anyway."""

    digest = models.CharField(max_length=64, unique=True)
    until = models.DateTimeField(db_index=True)

    class Meta:
        ordering = ["id"]

    def __str__(self) -> str:
        return f"token {self.pk}"


class GroupRole(models.Model):
    """The role that the members of a provider's group have in a project."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="group_roles")
    provider = models.CharField(max_length=40)
    group = models.CharField(max_length=255)
    role = models.CharField(max_length=10, choices=Role)

    class Meta:
        ordering = ["provider", "group", "id"]
        constraints = [
            models.UniqueConstraint(fields=["project", "provider", "group"], name="one_role_per_group"),
        ]

    def __str__(self) -> str:
        return f"group role {self.pk}: {self.role}"


class ProvisionedUser(models.Model):
    """What a provider says by SCIM about a person, whose account here is `account`.

    `name_key` is the user name as names are compared. `active` is what the provider said last. `said` holds the other
    attributes that it sent: names and e-mail addresses.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    account = models.OneToOneField(ProviderAccount, models.CASCADE, related_name="provisioned")
    provider = models.CharField(max_length=40)
    user_name = models.CharField(max_length=255)
    name_key = models.CharField(max_length=255)
    external_id = models.CharField(max_length=255, blank=True, db_index=True)
    active = models.BooleanField()
    said = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)
    changed_at = models.DateTimeField()

    class Meta:
        ordering = ["created_at", "id"]
        constraints = [
            models.UniqueConstraint(fields=["provider", "name_key"], name="one_provisioned_user_per_name"),
        ]

    def __str__(self) -> str:
        return f"provisioned user {self.pk}"


class ProvisionedGroup(models.Model):
    """A group that a provider pushes by SCIM. Its name is the one that has roles in projects (GroupRole)."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    provider = models.CharField(max_length=40)
    name = models.CharField(max_length=255)
    external_id = models.CharField(max_length=255, blank=True)
    members = models.ManyToManyField(ProvisionedUser, related_name="groups")
    created_at = models.DateTimeField(auto_now_add=True)
    changed_at = models.DateTimeField()

    class Meta:
        ordering = ["created_at", "id"]
        constraints = [
            models.UniqueConstraint(fields=["provider", "name"], name="one_provisioned_group_per_name"),
        ]

    def __str__(self) -> str:
        return f"provisioned group {self.pk}"

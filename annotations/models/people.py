import uuid
from typing import Any

from django.conf import settings
from django.contrib.auth.models import AbstractUser
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotations.models.project import Label, Project, Role, Table


class User(AbstractUser):
    """A person who signs in. Membership, not the account, decides what they may do in a project."""

    reduced_chips = models.BooleanField(default=False, help_text="Show the label chip of a span only on focus.")
    created_in = models.ForeignKey(
        "annotations.Project",
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        help_text="The project whose manager created the account.",
    )
    password_set_at = models.DateTimeField(
        null=True, blank=True, editable=False, help_text="Wrong passwords from before this time no longer count."
    )

    left_provider_at = models.DateTimeField(
        null=True,
        blank=True,
        editable=False,
        help_text="The account is deactivated since then, until its provider lets the person sign in again.",
    )

    # Whether this session showed a second factor; None outside sessions. Not stored (annotations.core.access).
    shown_second_factor: bool | None = None
    # The rows that a request began with (annotations.core.entrance). Not stored.
    entrance: Any = None

    class Meta(AbstractUser.Meta):
        pass

    def set_password(self, raw_password: Any) -> None:
        super().set_password(raw_password)
        self.password_set_at = timezone.now()


class ProviderAccount(Table):
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


class ProviderSession(Table):
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


class UsedToken(Table):
    """The digest of a token or an assertion that was used and must not be used again, until it expires anyway."""

    digest = models.CharField(max_length=64, unique=True)
    until = models.DateTimeField(db_index=True)

    class Meta:
        ordering = ["id"]


class GroupRole(Table):
    """The role that the members of a provider's group have in a project."""

    project = models.ForeignKey(Project, models.CASCADE, related_name="group_roles")
    provider = models.CharField(max_length=40)
    group = models.CharField(max_length=255)
    role = models.CharField(max_length=10, choices=Role)

    class Meta:
        ordering = ["provider", "group", "id"]
        constraints = [models.UniqueConstraint(fields=["project", "provider", "group"], name="one_role_per_group")]


class ProvisionedUser(Table):
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
        constraints = [models.UniqueConstraint(fields=["provider", "name_key"], name="one_provisioned_user_per_name")]


class ProvisionedGroup(Table):
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
        constraints = [models.UniqueConstraint(fields=["provider", "name"], name="one_provisioned_group_per_name")]


class ApiToken(Table):
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


class ApiAnswer(Table):
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


class PersonalKey(Table):
    """A person's own keyboard shortcut for a label, instead of the project's; empty: no shortcut."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    label = models.ForeignKey(Label, models.CASCADE, related_name="personal_keys")
    key = models.CharField(max_length=1, blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [models.UniqueConstraint(fields=["user", "label"], name="one_key_per_person_and_label")]


class SearchKind(models.TextChoices):
    TEXT = "text", _("In the text of the notes")
    NAME = "name", _("In the names of the notes")


class Search(Table):
    """A person's search in a project's notes or in their names.

    The URL of the page holds only the id, because `text` may be a patient's name. Erasing a patient deletes it here.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    project = models.ForeignKey(Project, models.CASCADE, related_name="searches")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    kind = models.CharField(max_length=4, choices=SearchKind, default=SearchKind.TEXT)
    text = models.CharField(max_length=255)
    options = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at"]

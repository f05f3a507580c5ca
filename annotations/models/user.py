from typing import Any

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.utils import timezone


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

    class Meta(AbstractUser.Meta):
        pass

    def set_password(self, raw_password: Any) -> None:
        super().set_password(raw_password)
        self.password_set_at = timezone.now()

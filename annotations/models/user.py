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

    class Meta(AbstractUser.Meta):
        pass

    def set_password(self, raw_password: Any) -> None:
        super().set_password(raw_password)
        self.password_set_at = timezone.now()

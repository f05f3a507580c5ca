from typing import Any

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.utils import timezone


class User(AbstractUser):
    """A person who signs in. What they may do is decided per project (Membership), never here."""

    reduced_chips = models.BooleanField(default=False, help_text="Show a span's label chip on focus only.")
    created_in = models.ForeignKey(
        "annotations.Project",
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        help_text="The project whose manager made the account.",
    )
    password_set_at = models.DateTimeField(
        null=True, blank=True, editable=False, help_text="Wrong passwords from before no longer count."
    )

    class Meta(AbstractUser.Meta):
        pass

    def set_password(self, raw_password: Any) -> None:
        super().set_password(raw_password)
        self.password_set_at = timezone.now()

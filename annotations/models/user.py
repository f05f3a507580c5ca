from django.contrib.auth.models import AbstractUser
from django.db import models


class User(AbstractUser):
    """A person who signs in. What they may do is decided per project (Membership), never here."""

    reduced_chips = models.BooleanField(default=False, help_text="Show a span's label chip on focus only.")

    class Meta(AbstractUser.Meta):
        pass

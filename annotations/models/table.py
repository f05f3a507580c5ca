"""What all tables share."""

from django.conf import settings
from django.db import models


class Table(models.Model):
    """A row is shown by its kind and number, for example in the administration: never by text of a note."""

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self._meta.verbose_name} {self.pk}"


class Created(Table):
    """A row knows who made it, and when. Rows that a command made are nobody's."""

    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        abstract = True

"""What all tables share."""

from django.db import models


class Table(models.Model):
    """A row is shown by its kind and number, for example in the administration: never by text of a note."""

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self._meta.verbose_name} {self.pk}"

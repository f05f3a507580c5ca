"""URLs of the import pages."""

from django.urls import reverse

from annotations.models import Import

PAGE = "/projects/covid/import/"
GOLD = {"format": "brat", "annotations": "gold"}


def page_of(row: Import) -> str:
    return reverse("import_preview", args=["covid", row.pk])

"""Helpers for tests of imports: how files are sent."""

import json
from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from annotations.core.services import silent
from annotations.exchange.services.importing import run_import
from annotations.models import Import

HUGE = 10**25


def upload(
    client: Client, files: dict[str, bytes], *, slug: str = "covid", paths: bool | str = True, **data: Any
) -> Any:
    """Send files as the page does, with their relative paths in another field."""
    sent = [SimpleUploadedFile(name.rpartition("/")[2], content) for name, content in files.items()]
    body = {"do": "files", "format": "text", "annotations": "none", "files": sent} | data
    if paths:
        body["paths"] = paths if isinstance(paths, str) else json.dumps(list(files))
    return client.post(reverse("import", args=[slug]), body)


def staged(response: Any) -> Import:
    """Return the import to which a response redirects."""
    assert response.status_code == 302, response.content.decode()[-3000:]
    return Import.objects.get(pk=int(response.url.rstrip("/").rpartition("/")[2]))


def run(row: Import) -> dict[str, Any]:
    """Run the import as the job does."""
    return run_import(import_id=row.pk, progress=silent)

"""Helpers for tests of the managers' pages: who has no access, and how files are sent."""

import io
import json
import zipfile
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from annotations.core.progress import silent
from annotations.models import Import
from annotations.transfer.services.importing import run_import

SignIn = Callable[..., Client]
HUGE = 10**25


def check_closed(world: SimpleNamespace, sign_in: SignIn, url: str, method: str = "get") -> None:
    """Check that only managers have access: strangers and other projects' managers get 404, members 403."""
    assert getattr(Client(), method)(url).status_code == 302
    assert getattr(sign_in(world.out), method)(url).status_code == 404
    for member in (world.ann, world.vic, world.rev):
        assert getattr(sign_in(member), method)(url).status_code == 403, member


def check_method(client: Client, url: str, method: str = "put") -> None:
    assert getattr(client, method)(url).status_code == 405


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


def zip_of(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()

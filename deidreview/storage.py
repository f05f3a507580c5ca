"""Static files under names that contain their hash, looked up once."""

from typing import Any

from django.conf import settings
from whitenoise.storage import CompressedManifestStaticFilesStorage


class StaticFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # its class has no types
    """Caches URLs: a page uses about twenty files, and their URLs stay the same while the process runs."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._urls: dict[str, str] = {}

    def url(self, name: str | None, force: bool = False) -> str:
        known = self._urls.get(name or "")
        if known is not None and not force and not settings.DEBUG:
            return known
        found: str = super().url(name, force)
        if not force:
            self._urls[name or ""] = found
        return found

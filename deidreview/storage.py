"""Static files under names that contain their hash, looked up once."""

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.files.base import ContentFile
from whitenoise.storage import CompressedManifestStaticFilesStorage

from deidreview.bundles import bundles


class StaticFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # its class has no types
    """Joins files that pages need together, and caches URLs, which stay the same while the process runs."""

    joins = True

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

    def post_process(self, paths: dict[str, Any], dry_run: bool = False, **options: Any) -> Iterator[Any]:
        """Join files from their sources: the folder may contain joined files of an earlier version."""

        def read(name: str) -> str:
            source, path = paths[name]
            with source.open(path) as file:
                return str(file.read().decode())

        for name, text in [] if dry_run else list(bundles(paths, read)):
            self.delete(name)
            self.save(name, ContentFile(text.encode()))
            paths[name] = (self, name)
        yield from super().post_process(paths, dry_run=dry_run, **options)

"""Translations of the scripts' texts: Django's JavaScript catalog, as a file that browsers may cache.

Its URL contains the language and a hash of the content, so it depends on neither the session nor the headers of the
request. It contains only strings of this app and none of Django's, since our scripts use none of them.
"""

from functools import lru_cache
from hashlib import sha256

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import get_language, override
from django.views.decorators.http import require_safe
from django.views.i18n import JavaScriptCatalog

# The language of the source strings, which needs no catalog.
SOURCE = "en"
KEPT = "public, max-age=31536000, immutable"


@lru_cache(maxsize=64)
def catalog(language: str) -> tuple[str, bytes]:
    """Return a hash, and the script that sets `django.gettext` and related functions for a language."""
    with override(language):
        # Naming one application leaves out Django's own ones. LOCALE_PATHS is always read.
        content = JavaScriptCatalog(packages=["annotations"]).get(HttpRequest()).content
    return sha256(content).hexdigest()[:16], content


@login_not_required
@require_safe
def script_words(request: HttpRequest, language: str, version: str) -> HttpResponse:
    """Return the catalog. A page loaded before an update requests an old version and gets the new one, uncached."""
    if language not in dict(settings.LANGUAGES):
        raise Http404
    present, content = catalog(language)
    return HttpResponse(
        content,
        content_type="text/javascript; charset=utf-8",
        headers={"Cache-Control": KEPT if version == present else "no-store"},
    )


def script_words_address(request: HttpRequest) -> dict[str, str]:
    """Give templates the URL of the catalog for the page's scripts. It is empty for English."""
    language = get_language() if settings.USE_I18N else SOURCE
    if language is None or language == SOURCE:
        return {"script_words": ""}
    return {"script_words": reverse("script_words", args=[language, catalog(language)[0]])}

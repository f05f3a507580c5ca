"""The scripts' words in another language than English: Django's JavaScript catalogue, as a file that browsers may keep.

Its address holds the language and a hash of what it says, so it depends on neither the session nor the headers of the
request. Only strings of this product are in it, none of Django's own: our scripts say nothing that those do.
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

# What the strings are written in: it needs no catalogue.
SOURCE = "en"
KEPT = "public, max-age=31536000, immutable"


@lru_cache(maxsize=64)
def catalogue(language: str) -> tuple[str, bytes]:
    """The script that sets `django.gettext` and its like for a language, and a hash of it."""
    with override(language):
        # An application is named so that those of Django are left out; LOCALE_PATHS is always read.
        content = JavaScriptCatalog(packages=["annotations"]).get(HttpRequest()).content
    return sha256(content).hexdigest()[:16], content


@login_not_required
@require_safe
def script_words(request: HttpRequest, language: str, version: str) -> HttpResponse:
    """A page from before an update asks for another version than the present one: it gets that, for this once."""
    if language not in dict(settings.LANGUAGES):
        raise Http404
    present, content = catalogue(language)
    return HttpResponse(
        content,
        content_type="text/javascript; charset=utf-8",
        headers={"Cache-Control": KEPT if version == present else "no-store"},
    )


def script_words_address(request: HttpRequest) -> dict[str, str]:
    """For templates: where the page's scripts find their words, empty where these are English."""
    language = get_language() if settings.USE_I18N else SOURCE
    if language is None or language == SOURCE:
        return {"script_words": ""}
    return {"script_words": reverse("script_words", args=[language, catalogue(language)[0]])}

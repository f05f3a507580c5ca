"""A second language for tests: a pseudo-language that puts every translated string in brackets, and real catalogs.

The app has one language, so Django uses its null translation; these helpers use the real one for one test.
"""

import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from gettext import NullTranslations
from pathlib import Path
from typing import Any

from django.utils import translation
from django.utils.translation import trans_real

from deidreview.catalog import catalog

OPEN, CLOSE = "⟦", "⟧"
# A variant of English, so that formats of dates and numbers stay English and only texts are in brackets.
PSEUDO = "en-gb"
LOCALE_MIDDLEWARE = "django.middleware.locale.LocaleMiddleware"

PSEUDO_SCRIPT = """
const bracketed = (text) => `⟦${text}⟧`;
globalThis.django = {
  gettext: bracketed,
  ngettext: (one, many, count) => bracketed(count === 1 ? one : many),
  pgettext: (_context, text) => bracketed(text),
};
"""


class Bracketed(NullTranslations):
    """Puts every string in brackets, without the context that Django prepends."""

    def gettext(self, message: str) -> str:
        return f"{OPEN}{message.rpartition(trans_real.CONTEXT_SEPARATOR)[2]}{CLOSE}"

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return self.gettext(msgid1 if n == 1 else msgid2)

    def to_language(self) -> str:
        return PSEUDO


def _forget() -> None:
    """Reset Django, which chooses between its real and its null translation once, and caches every catalog."""
    vars(translation._trans).clear()  # type: ignore[attr-defined]  # private
    trans_real._translations = {}
    trans_real._default = None
    catalog.cache_clear()


@contextmanager
def speaking(settings: Any, *languages: str, paths: tuple[Path, ...] = ()) -> Iterator[None]:
    """Configure the app with these languages besides English, as the settings would."""
    settings.LANGUAGES = [("en", "English"), *((language, language) for language in languages)]
    settings.USE_I18N = True
    settings.LOCALE_PATHS = [*paths]
    index = settings.MIDDLEWARE.index("django.middleware.common.CommonMiddleware")
    settings.MIDDLEWARE = [*settings.MIDDLEWARE[:index], LOCALE_MIDDLEWARE, *settings.MIDDLEWARE[index:]]
    _forget()
    try:
        yield
    finally:
        settings.USE_I18N = False
        _forget()


@contextmanager
def pseudo(settings: Any, monkeypatch: Any) -> Iterator[None]:
    """Put every translated string of pages and scripts in brackets for requests in PSEUDO."""
    with speaking(settings, PSEUDO):
        trans_real._translations[PSEUDO] = Bracketed()
        monkeypatch.setattr("deidreview.catalog.catalog", lambda language: (language, PSEUDO_SCRIPT.encode()))
        yield


def compile_catalog(
    folder: Path, language: str, domain: str, plural: str, words: Mapping[str, str | list[str]]
) -> None:
    """Write a compiled catalog as `msgfmt` would (format: the GNU gettext manual, "The Format of GNU MO Files").

    `words`: source → translation; for plurals "one\\0many" → the forms, for a context "context\\x04source".
    """
    header = f"Content-Type: text/plain; charset=UTF-8\nPlural-Forms: {plural};\n"
    entries = {
        "": header,
        **{source: target if isinstance(target, str) else "\0".join(target) for source, target in words.items()},
    }
    ordered = sorted((source.encode(), target.encode()) for source, target in entries.items())
    strings = b""
    tables: list[list[tuple[int, int]]] = [[], []]
    begin = 28 + 16 * len(ordered)
    for column, table in enumerate(tables):
        for entry in ordered:
            table.append((len(entry[column]), begin + len(strings)))
            strings += entry[column] + b"\0"
    head = struct.pack("<7I", 0x950412DE, 0, len(ordered), 28, 28 + 8 * len(ordered), 0, begin)
    body = b"".join(struct.pack("<2I", *entry) for table in tables for entry in table)
    file = folder / language / "LC_MESSAGES" / f"{domain}.mo"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(head + body + strings)

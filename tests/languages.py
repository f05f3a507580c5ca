"""A second language for tests: a pseudo-language that puts every translated string in brackets, and real catalogues.

The product has one language, so Django's null translation stands there; these put the real one there for one test.
"""

import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from gettext import NullTranslations
from pathlib import Path
from typing import Any

from django.utils import translation
from django.utils.translation import trans_real

from deidreview.catalogue import catalogue

OPEN, CLOSE = "⟦", "⟧"
# English has its own formats of dates and numbers there, so that only words are in brackets.
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
    """Every string in brackets; a context is told from its string as Django puts them together."""

    def gettext(self, message: str) -> str:
        return f"{OPEN}{message.rpartition(trans_real.CONTEXT_SEPARATOR)[2]}{CLOSE}"

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return self.gettext(msgid1 if n == 1 else msgid2)

    def to_language(self) -> str:
        return PSEUDO


def _forget() -> None:
    """Django chooses between its real and its null translation once, and keeps every catalogue."""
    vars(translation._trans).clear()  # type: ignore[attr-defined]  # private
    trans_real._translations = {}
    trans_real._default = None
    catalogue.cache_clear()


@contextmanager
def speaking(settings: Any, *languages: str, paths: tuple[Path, ...] = ()) -> Iterator[None]:
    """The product with these languages besides English, as its settings would have them."""
    settings.LANGUAGES = [("en", "English"), *((language, language) for language in languages)]
    settings.USE_I18N = True
    settings.LOCALE_PATHS = [*paths]
    place = settings.MIDDLEWARE.index("django.middleware.common.CommonMiddleware")
    settings.MIDDLEWARE = [*settings.MIDDLEWARE[:place], LOCALE_MIDDLEWARE, *settings.MIDDLEWARE[place:]]
    _forget()
    try:
        yield
    finally:
        settings.USE_I18N = False
        _forget()


@contextmanager
def pseudo(settings: Any, monkeypatch: Any) -> Iterator[None]:
    """Whoever asks for PSEUDO gets every translated string in brackets, of pages and of scripts."""
    with speaking(settings, PSEUDO):
        trans_real._translations[PSEUDO] = Bracketed()
        monkeypatch.setattr("deidreview.catalogue.catalogue", lambda language: (language, PSEUDO_SCRIPT.encode()))
        yield


def compile_catalogue(
    folder: Path, language: str, domain: str, plural: str, words: Mapping[str, str | list[str]]
) -> None:
    """Write a compiled catalogue as `msgfmt` would (format: the GNU gettext manual, "The Format of GNU MO Files").

    `words`: source → translation; for plurals "one\\0many" → the forms, for a context "context\\x04source".
    """
    header = f"Content-Type: text/plain; charset=UTF-8\nPlural-Forms: {plural};\n"
    entries = {
        "": header,
        **{source: said if isinstance(said, str) else "\0".join(said) for source, said in words.items()},
    }
    ordered = sorted((source.encode(), said.encode()) for source, said in entries.items())
    strings = b""
    tables: list[list[tuple[int, int]]] = [[], []]
    begin = 28 + 16 * len(ordered)
    for column, table in enumerate(tables):
        for entry in ordered:
            table.append((len(entry[column]), begin + len(strings)))
            strings += entry[column] + b"\0"
    head = struct.pack("<7I", 0x950412DE, 0, len(ordered), 28, 28 + 8 * len(ordered), 0, begin)
    body = b"".join(struct.pack("<2I", *place) for table in tables for place in table)
    target = folder / language / "LC_MESSAGES" / f"{domain}.mo"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(head + body + strings)

"""A pseudo-language for tests: every text that is marked for translation stands in ⟦brackets⟧."""

from typing import Any

from django.utils import translation

from deidreview.templates import ConstantPart

SCRIPT = """
const bracketed = (text) => `⟦${text}⟧`;
globalThis.django = {
  gettext: bracketed,
  ngettext: (one, many, count) => bracketed(count === 1 ? one : many),
  pgettext: (_context, text) => bracketed(text),
};
"""


def bracket_marked_texts(monkeypatch: Any) -> None:
    """Put the marked texts of Python and of templates in brackets. For those of scripts, a page runs SCRIPT first."""
    monkeypatch.setattr(ConstantPart, "render", lambda part, context: part.nodes.render(context))
    functions = translation._trans  # type: ignore[attr-defined]  # private
    monkeypatch.setattr(functions, "gettext", lambda text: f"⟦{text}⟧")
    monkeypatch.setattr(functions, "pgettext", lambda _context, text: f"⟦{text}⟧")
    monkeypatch.setattr(functions, "ngettext", lambda one, many, count: f"⟦{one if count == 1 else many}⟧")

"""The guide in docs/guide as HTML. Its links lead to the app's pages of the guide, its images to static files."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

from django.conf import settings
from django.templatetags.static import static
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import slugify
from markdown_it import MarkdownIt
from markdown_it.token import Token

FIRST = "README"
_PARSER = MarkdownIt("commonmark", {"html": False}).enable("table")
_LINK = re.compile(r"(?:\.\./|)([A-Za-z-]+)\.md(#.*)?\Z")


@dataclass(frozen=True)
class GuideHeading:
    id: str
    text: str


@dataclass(frozen=True)
class HelpPage:
    """`headings` are those of the second level, in order. `html` begins after the title."""

    title: str
    headings: tuple[GuideHeading, ...]
    html: SafeString


def files() -> dict[str, Path]:
    """Return the pages of the guide by name: its own, and the glossary."""
    docs = settings.DOCS_DIR
    found = {file.stem: file for file in sorted((docs / "guide").glob("*.md"))}
    return found | {"glossary": docs / "glossary.md"}


def _tokens(name: str) -> list[Token]:
    return _PARSER.parse(files()[name].read_text(encoding="utf-8"))


@cache
def sections_of(name: str) -> frozenset[str]:
    """Return the ids of a page's headings. Raises KeyError for an unknown name."""
    return frozenset(heading.id for heading in _headings(_tokens(name)))


@cache
def page_of(name: str) -> HelpPage:
    """Render a page. Raises KeyError for an unknown name."""
    tokens = _tokens(name)
    title, rest = tokens[1].content, tokens[3:]
    headings = tuple(_headings(rest))
    for token in rest:
        # The parser aligns columns by a style attribute, which the content-security policy refuses.
        token.attrs.pop("style", None)
        if token.type == "th_open":
            token.attrSet("scope", "col")
        for child in token.children or ():
            _point(child)
    html: str = _PARSER.renderer.render(rest, _PARSER.options, {})
    return HelpPage(title, headings, mark_safe(html))  # noqa: S308 - our own text, and raw HTML is off in the parser


def _headings(tokens: list[Token]) -> Iterator[GuideHeading]:
    for token, inline in pairwise(tokens):
        if token.type == "heading_open" and token.tag == "h2":
            heading = GuideHeading(slugify(inline.content), inline.content)
            token.attrSet("id", heading.id)
            yield heading


def _point(token: Token) -> None:
    """Let a link to another page of the guide, or an image, lead to where the app serves it."""
    if token.type == "image":
        token.attrSet("src", static(str(token.attrs["src"]).replace("images/", "guide/", 1)))
    elif token.type == "link_open" and (link := _LINK.match(str(token.attrs["href"]))):
        token.attrSet(
            "href", (reverse("help") if link[1] == FIRST else reverse("help_page", args=[link[1]])) + (link[2] or "")
        )

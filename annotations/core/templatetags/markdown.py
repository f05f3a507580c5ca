"""Markdown of guidelines as HTML, without raw HTML and images. Links lead to the web, to mail or to this server."""

import re
from dataclasses import dataclass

from django import template
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.token import Token

register = template.Library()

_SCHEME = re.compile(r"\s*([a-z][a-z0-9+.-]*):", re.IGNORECASE)
_SAFE_SCHEMES = {"http", "https", "mailto"}


def safe_link(url: str) -> bool:
    """Whether a link is allowed: http, https, mailto, or a relative URL."""
    scheme = _SCHEME.match(url)
    return scheme is None or scheme[1].lower() in _SAFE_SCHEMES


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    parser.validateLink = safe_link  # type: ignore[method-assign]  # as markdown-it documents it
    return parser


_PARSER = _parser()


def _prepared(tokens: list[Token]) -> list[Token]:
    """Move headings one level down, since the page has its own first one, and keep links from sending a referrer."""
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + 1)}"
        # The parser aligns columns by a style attribute, which the content-security policy refuses.
        if style := token.attrs.pop("style", None):
            token.attrs["class"] = f"column-{str(style).removeprefix('text-align:')}"
        for child in token.children or ():
            if child.type == "link_open":
                child.attrSet("rel", "noopener noreferrer")
    return tokens


@register.filter
def markdown(text: str) -> SafeString:
    """Render CommonMark with tables. The parser escapes everything that isn't Markdown."""
    return _rendered(_prepared(_PARSER.parse(text)))


def _rendered(tokens: list[Token]) -> SafeString:
    html: str = _PARSER.renderer.render(tokens, _PARSER.options, {})
    return mark_safe(html)  # noqa: S308 - raw HTML is off in the parser


@dataclass(frozen=True)
class Heading:
    """A heading to link to: its id in the HTML, its level as written in the Markdown, and its text."""

    id: str
    level: int
    text: str


@dataclass(frozen=True)
class WithHeadings:
    html: SafeString
    headings: list[Heading]


@register.filter
def markdown_with_headings(text: str, prefix: str) -> WithHeadings:
    """Render like `markdown`, with ids on the headings (`prefix` and a number), and list the headings."""
    tokens = _prepared(_PARSER.parse(text))
    headings: list[Heading] = []
    for at, token in enumerate(tokens):
        if token.type == "heading_open" and token.level == 0 and (heading := _text(tokens[at + 1])):
            name = f"{prefix}-{len(headings) + 1}"
            token.attrSet("id", name)
            headings.append(Heading(name, int(token.tag[1]) - 1, heading))
    return WithHeadings(_rendered(tokens), headings)


def _text(inline: Token) -> str:
    """Return the text of a line without its formatting."""
    return "".join(child.content or " " for child in inline.children or () if child.type != "html_inline").strip()

"""Parts of the overview of a project."""

import re
from html import unescape

from django.test import Client
from django.urls import reverse

from tests.worlds.checks import check_page


def show(client: Client, slug: str = "covid") -> str:
    return check_page(client.get(reverse("project", args=[slug])))


def plain(html: str) -> str:
    """The text without markup, with single spaces."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def section(html: str, heading: str) -> str:
    """The part of the page with this heading; empty without it."""
    parts = [body for tag in ("section", "details") for body in re.findall(rf"<{tag}\b(.*?)</{tag}>", html, re.DOTALL)]
    found = (body for body in parts if re.search(rf"<h2[^>]*>(?:<a[^>]*>)?{re.escape(heading)}<", body))
    return next(found, "")


def rows(html: str, heading: str) -> dict[str, str]:
    """The items of a list under a heading: text, and the address of its link."""
    items = re.findall(r"<li[^>]*>(.*?)</li>", section(html, heading), re.DOTALL)
    links = {
        plain(re.sub(r'<a class="btn.*', "", item, flags=re.DOTALL)): re.findall(r'href="([^"]*)"', item)
        for item in items
    }
    return {text: unescape(found[-1]) if found else "" for text, found in links.items()}


def stages(html: str) -> dict[str, str]:
    """The stages with their values as text, and the address of each; empty without one."""
    strip = re.search(r'<ol class="pipeline">(.*?)</ol>', html, re.DOTALL)
    items = re.findall(r"<li>(.*?)</li>", strip[1], re.DOTALL) if strip else []
    links = [(plain(item), re.search(r'href="([^"]*)"', item)) for item in items]
    return {text: unescape(found[1]) if found else "" for text, found in links}

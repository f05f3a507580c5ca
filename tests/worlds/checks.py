"""Checks that every page must pass."""

import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from django.http import HttpResponse

from annotations.core.services import ServiceError

WORDS_OF_THE_NOTE = ("Mario", "Rossi", "Bianchi")


def refused(code: str, match: str | None = None) -> "pytest.RaisesExc[ServiceError]":
    """Expect a ServiceError with this code, and with these words if any are given."""
    return pytest.raises(ServiceError, match=match, check=lambda error: error.code == code)


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.faults: list[str] = []
        self.h1 = 0
        self.ids: list[str] = []
        self.links: list[str] = []
        self.labeled: set[str] = set()
        self.controls: list[dict[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.h1 += tag == "h1"
        if tag == "style" or (tag == "script" and "src" not in values and values.get("type") != "application/json"):
            self.faults.append(f"inline <{tag}>")
        self.faults += [f"{name} on <{tag}>" for name in values if name == "style" or name.startswith("on")]
        if tag == "th" and "scope" not in values:
            self.faults.append("<th> without scope")
        if "id" in values:
            self.ids.append(str(values["id"]))
        if tag == "label" and values.get("for"):
            self.labeled.add(str(values["for"]))
        if tag in ("input", "select", "textarea") and values.get("type") not in ("hidden", "submit"):
            self.controls.append(values)
        self.links += [str(values[name]) for name in ("href", "action", "hx-get", "hx-post") if values.get(name)]


def check_page(response: HttpResponse, *, fragment: bool = False) -> str:
    """Check the page's policy, headings, ids, labels and URLs, which contain no note text. Return its HTML.

    Line breaks of templates are left out beside blocks, and are spaces elsewhere.
    """
    html = response.content.decode()
    page = _Page()
    page.feed(html)
    assert page.faults == []
    assert page.h1 == (0 if fragment else 1)
    twice = {name for name in page.ids if page.ids.count(name) > 1}
    assert not twice, f"duplicate ids: {twice}"
    for control in page.controls:
        named = control.get("id") in page.labeled or control.get("aria-label") or control.get("aria-labelledby")
        assert named, f"a control without a label: {control}"
    for link in page.links:
        assert not any(word.lower() in link.lower() for word in WORDS_OF_THE_NOTE), link
    assert not re.search(r"\{[{%#]", html), "template code on the page"
    return re.sub(r" *\n +", " ", re.sub(r"\n +(?=</?(?:d[dlt]|div|li|p|t[dhr])\b)", "", html))


def bytes_elsewhere(file: str | Path) -> bytes:
    """Return the bytes of a file of SQLite, read by another process.

    A process that closes a file loses all its locks on it, those of SQLite as well. The next process to close the
    database would then delete the log that this process still uses.
    """
    return subprocess.run(["cat", str(file)], capture_output=True, check=True).stdout


def batch(client: Any, url: str, *changes: dict[str, Any]) -> Any:
    """The answer to a batch of changes, as a page's script sends it; its HTML with single spaces."""
    body = {"person": int(client.session["_auth_user_id"]), "changes": changes}
    answer = client.post(url, body, content_type="application/json")
    assert answer.status_code == 200, answer.content
    done = answer.json()
    return done | {"parts": {name: " ".join(html.split()) for name, html in done["parts"].items()}}

"""Texts of scripts: every call is extracted, placeholders have names, pages in another language load the catalog."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.urls import reverse
from django.utils import translation

from annotations.installation import CODE

FILES = sorted(path for path in (CODE / "static" / "js").rglob("*.js") if path.name != "translating.js")
STRING = r'"((?:[^"\\]|\\.)*)"'


@dataclass(frozen=True)
class Message:
    """A call that marks a string, as `makemessages -d djangojs` finds it, and the code after its last string."""

    function: str
    strings: tuple[str, ...]
    after: str


def messages(path: Path) -> Iterator[Message]:
    source = path.read_text()
    for call in re.finditer(rf"\b([np]?gettext)\(\s*{STRING}(?:\s*,\s*{STRING})?", source):
        yield Message(call[1], tuple(text for text in call.groups()[1:] if text is not None), source[call.end() :])


def test_every_call_can_be_extracted():
    """Arguments are plain strings: a variable or a template literal would never reach the translators."""
    for path in FILES:
        assert len(list(messages(path))) == len(re.findall(r"\b[np]?gettext\(", path.read_text())), path.name
    plural = [each for path in FILES for each in messages(path) if each.function == "ngettext"]
    assert len(plural) > 30 and all(len(each.strings) == 2 for each in plural)


def test_placeholders_are_filled_by_name():
    """The surrounding `interpolate` fills each `%(name)s`, and passes no other value."""
    for path in FILES:
        for each in messages(path):
            places = set(re.findall(r"%\((\w+)\)s", " ".join(each.strings)))
            if places:
                given = re.match(r"[^{}]*?\)\s*,\s*\{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}", each.after)
                assert given, f"{path.name}: {each.strings[0]} is not filled"
                named = re.sub(r"\([^()]*(\([^()]*\)[^()]*)*\)", "", given[1])
                names = set(re.findall(r"(?:^|,)\s*(\w+)(?=\s*(?::|,|$))", named))
                assert names == places, f"{path.name}: {each.strings[0]}"


@pytest.mark.django_db
def test_pages_in_another_language_load_the_catalog(client, monkeypatch):
    catalog = reverse("script_words")
    assert catalog not in client.get(reverse("account_login")).text
    monkeypatch.setattr(translation._trans, "get_language", lambda: "it")
    assert f'<script src="{catalog}"></script>' in client.get(reverse("account_login")).text
    answer = client.get(catalog)
    assert answer.headers["Content-Type"].startswith("text/javascript") and "ngettext" in answer.text

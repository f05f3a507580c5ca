"""Words that pages explain: each is in the glossary, and holds its own explanation."""

import re
from pathlib import Path

import pytest
from django.template import Context, Template
from django.test import RequestFactory

from annotations.core.templatetags.terms import glossary

USED = re.compile(r'{% term "([^"]+)"')
SUMMARY = re.compile(r"<(summary|label|a)\b(?:(?!</\1>).)*{% term ", re.S)


def test_every_word_that_a_template_explains_is_in_the_glossary():
    templates = Path(__file__).parents[2] / "templates"
    used = {word for file in templates.rglob("*.html") for word in USED.findall(file.read_text(encoding="utf-8"))}
    assert len(used) > 5 and used <= glossary().keys()
    inside = [file.name for file in templates.rglob("*.html") if SUMMARY.search(file.read_text(encoding="utf-8"))]
    assert not inside, "a button can't be inside of these"
    assert glossary()["leak gate"] == glossary()["finding"]
    assert not any("**" in meaning or "](" in meaning for meaning in glossary().values())


def test_each_word_opens_its_own_explanation():
    """An explanation inside of a folded part could not be shown for a word outside."""
    page = Template('{% load terms %}{% term "leak gate" %} {% term "leak gate" shown %}')
    html = page.render(Context({"shown": "<gate>", "request": RequestFactory().get("/")}))
    names = re.findall(r'popovertarget="([^"]+)"', html)
    assert len(set(names)) == 2 and names == re.findall(r'<span class="term-text" id="([^"]+)" popover>', html)
    assert (
        Template('{% load terms %}{% term "95% interval" _("95% range") %}').render(Context()).count("95% range<") == 1
    )
    assert "&lt;gate&gt;</button>" in html and glossary()["leak gate"][:30] in html
    with pytest.raises(KeyError):
        Template('{% load terms %}{% term "moon" %}').render(Context())

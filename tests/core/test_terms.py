"""Words that pages explain: each is in the glossary, and a page holds an explanation once."""

import re
from pathlib import Path

import pytest
from django.template import Context, Template
from django.test import RequestFactory

from annotations.core.templatetags.terms import glossary

USED = re.compile(r'{% term "([^"]+)"')


def test_every_word_that_a_template_explains_is_in_the_glossary():
    templates = Path(__file__).parents[2] / "templates"
    used = {word for file in templates.rglob("*.html") for word in USED.findall(file.read_text(encoding="utf-8"))}
    assert len(used) > 5 and used <= glossary().keys()
    assert glossary()["leak gate"] == glossary()["finding"]
    assert not any("**" in meaning or "](" in meaning for meaning in glossary().values())


def test_a_page_holds_an_explanation_once():
    page = Template('{% load terms %}{% term "leak gate" %} {% term "leak gate" shown %}')
    html = page.render(Context({"shown": "<gate>", "request": RequestFactory().get("/")}))
    assert html.count('popovertarget="term-leak-gate"') == 2 and html.count('id="term-leak-gate"') == 1
    assert "&lt;gate&gt;</button>" in html and glossary()["leak gate"][:30] in html
    with pytest.raises(KeyError):
        Template('{% load terms %}{% term "moon" %}').render(Context())

"""Constant parts of templates are rendered once, and every page is the one that Django's own loader gives."""

import re
from datetime import UTC, datetime

import pytest
from django.conf import settings
from django.template import Context, Engine, TemplateDoesNotExist, engines
from django.test import override_settings
from django.utils.safestring import mark_safe

from deidreview.templates import ConstantPart
from tests import factories as make

OPTIONS = settings.TEMPLATES[0]["OPTIONS"]
PLAIN = [{**settings.TEMPLATES[0], "OPTIONS": {**OPTIONS, "loaders": OPTIONS["loaders"][0][1]}}]
PAGES = ("", "notes/", "notes/{note}/", "notes/{note}/annotate/", "labels/", "people/", "settings/", "export/", "keys/")
# Tokens of forms, their ids, and the times of events are new on each page.
CHANGING = re.compile(r'[A-Za-z0-9]{64}|value="[-0-9a-f]{36}"|<time[^>]*>[^<]*</time>')


def engine_of(**texts):
    loaders = [("deidreview.templates.Loader", [("django.template.loaders.locmem.Loader", texts)])]
    return Engine(loaders=loaders, libraries={"i18n": "django.templatetags.i18n"})


@pytest.mark.django_db
@pytest.mark.parametrize("role", ["manager", "annotator"])
def test_pages_equal_those_of_the_plain_loader(client, role):
    project = make.make_project()
    note = make.make_note(project, "Name: Ann <b>\nPhone: 12")
    person = make.make_member(project, role, "ann")
    make.make_set(note, make.make_author(project, user=person))
    client.force_login(person)
    urls = ["/", *(f"/projects/{project.slug}/{page.format(note=note.pk)}" for page in PAGES)]

    def pages():
        answers = [client.get(url) for url in urls]
        return [(answer.status_code, CHANGING.sub("", answer.content.decode())) for answer in answers]

    pages()
    with override_settings(TEMPLATES=PLAIN):
        plain = pages()
    assert pages() == plain and plain[0][0] == 200


def test_a_constant_part_is_rendered_once_and_a_variable_one_each_time():
    engine = engine_of(page="{% load i18n %}{% translate 'a' %}{# c #}c{% if x %}{% translate 'b' %}{{ x }}{% endif %}")
    template = engine.get_template("page")
    assert isinstance(template.nodelist[0], ConstantPart) and len(template.nodelist) == 2
    assert [template.render(Context({"x": x})) for x in ("1", "<", "")] == ["acb1", "acb&lt;", "ac"]


def test_words_are_translated_anew_where_pages_have_several_languages(settings, monkeypatch):
    template = engine_of(page="{% load i18n %}{% translate 'a' %}").get_template("page")
    assert template.render(Context()) == "a"
    settings.USE_I18N = True
    monkeypatch.setattr("django.templatetags.i18n.TranslateNode.render", lambda self, context: "è")
    assert template.render(Context()) == "è"


@pytest.mark.parametrize(
    "texts",
    [
        {"page": "a{% include 'part' %}{{ x }}", "part": "{% if x %}{% translate 'b' as x %}{{ x }}{% endif %}"},
        {"page": "{% include 'part' with y=x %}{{ y }}", "part": "{{ y }}{{ z }}{{ n }}"},
        {"page": "{% for c in z %}{% include 'part' %}{% endfor %}", "part": "{{ c }}{% cycle 'a' 'b' %}"},
        {"page": "{% include 'child' %}", "child": "{% extends 'base' %}{% block b %}1{% endblock %}", "base":
            "{% block b %}{% endblock %}"},
        {"page": "{% if not deep %}{% include 'page' with deep=1 %}{% endif %}{{ x }}"},
        {"page": "{% include part %}{% include 'part' only %}", "part": "{{ x }}c"},
        {"page": "{% autoescape off %}{{ x }}{{ n }}{% endautoescape %}{{ x }}{{ n }}{{ none }}{{ time }}"},
        {"page": "{% if none %}{% include 'missing' %}{% endif %}a"},
    ],
)  # fmt: skip
def test_templates_in_others_and_values_are_as_djangos_own_loader_renders_them(texts):
    texts = {name: "{% load i18n %}" * ("translate" in text) + text for name, text in texts.items()}
    plain = Engine(
        loaders=[("django.template.loaders.locmem.Loader", texts)], libraries={"i18n": "django.templatetags.i18n"}
    )
    values = {"x": "<b>&", "z": ["1", mark_safe("<i>")], "n": 1234.5, "none": None, "part": "part"}
    values["time"] = datetime(2026, 11, 3, 23, 30, tzinfo=UTC)
    rendered = [
        [engine.get_template("page").render(Context(values)) for _ in range(2)]
        for engine in (engine_of(**texts), plain)
    ]
    assert rendered[0] == rendered[1] and rendered[0][0] == rendered[0][1] != ""


def test_a_missing_template_is_reported_when_it_is_needed():
    with pytest.raises(TemplateDoesNotExist):
        engine_of(page="{% include 'missing' %}").get_template("page").render(Context())


def test_the_pages_of_the_app_use_it():
    assert any(isinstance(node, ConstantPart) for node in engines["django"].get_template("base.html").template.nodelist)

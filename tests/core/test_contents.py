"""The contents list of long pages."""

from django.template import Context, Template
from django.urls import reverse

from annotations.core.templatetags.contents import LEAST
from tests import factories as make
from tests.worlds.checks import check_page

SECTION = '<section aria-labelledby="{0}"><h2 class="x" id="{0}">{1}</h2></section>'


def shown(*sections: tuple[str, str]) -> str:
    content = "".join(SECTION.format(pk, heading) for pk, heading in sections)
    template = Template("{% load contents %}{% contents %}{{ content|safe }}{% endcontents %}")
    return template.render(Context({"content": content}))


def test_it_lists_the_sections_by_their_names():
    html = shown(
        ("one", "Scores &amp; errors <span class='tag'>few notes</span>"),
        ("two", '<a href="/x">Agreement</a>\n <small class="mute">4</small>'),
        ("three", "Notes"),
    )
    assert '<nav class="contents" aria-label="Contents">' in html
    assert '<li><a href="#one">Scores &amp; errors</a></li>' in html
    assert '<li><a href="#two">Agreement</a></li><li><a href="#three">Notes</a></li>' in html
    assert html.index("<nav") < html.index("<section")
    assert html.count("<h2") == 3


def test_a_short_page_has_no_list():
    html = shown(*[(f"id-{n}", f"Section {n}") for n in range(LEAST - 1)])
    assert "<nav" not in html and html.startswith("<section")


def test_a_heading_without_a_name_is_left_out():
    html = shown(("one", "One"), ("two", "<span class='sr-only'>x</span>"), ("three", "Three"), ("four", "Four"))
    assert "#two" not in html and html.count("<li>") == 3


def test_the_labels_page_lists_its_categories(world, sign_in):
    html = check_page(sign_in(world.mia).get(reverse("labels", args=["covid"])))
    category = make.label_of(world.project, "CITY").category
    assert f'<li><a href="#category-{category.pk}">{category.name}</a></li>' in html
    assert '<li><a href="#add-title">Add label</a></li>' in html

"""The contents list of long pages."""

from django.template import Context, Template

from annotations.core.templatetags.contents import LEAST

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
    assert html.index("<nav") < html.index("<section") and html.count("<h2") == 3


def test_a_short_page_has_no_list_and_a_heading_without_a_name_is_left_out():
    html = shown(*[(f"id-{n}", f"Section {n}") for n in range(LEAST - 1)])
    assert "<nav" not in html and html.startswith("<section")
    html = shown(("one", "One"), ("two", "<span class='sr-only'>x</span>"), ("three", "Three"), ("four", "Four"))
    assert "#two" not in html and html.count("<li>") == 3

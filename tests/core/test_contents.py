"""The contents list of long pages."""

from django.template import Context, Template

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

"""Published tables on pages: every figure, note and heading, folded."""

from html import unescape

import pytest
from django.template import Context, Template

from annotations.scores.rules.published import ON_PAGE


@pytest.mark.parametrize("page", ON_PAGE)
def test_a_page_shows_all_of_its_tables(page):
    html = unescape(Template("{% load scores %}{% published page %}").render(Context({"page": page})))
    assert html.count("<table") == html.count("<details>") == len(ON_PAGE[page])
    for table in ON_PAGE[page]:
        assert f"<summary>{table.source}: {table.title}. " in html and table.corpus in html
        for line in table.lines:
            assert f'<th scope="row">{line.name}' in html
            assert all(f'<td class="num">{cell}</td>' in html for cell in line.cells)
        assert all(note in html for note in (*(one.text for one in table.footnotes), *table.notes))
        assert all(f'<th scope="col" class="num">{column.name}</th>' in html for column in table.columns)

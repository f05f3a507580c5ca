"""Guidelines: safe Markdown, visible to members, edited by managers without losing anybody's text."""

import re

from django.utils import timezone

from annotations.core.templatetags.markdown import markdown
from annotations.models import Amendment, Event, Project
from annotations.projects.events import GUIDELINES_CHANGED
from tests.worlds.checks import check_page

PAGE = "/projects/covid/guidelines/"
EDIT, BESIDE = f"{PAGE}edit/", f"{PAGE}beside"


def write(client, text, seen=0, do="save", **options):
    return client.post(EDIT, {"text": text, "seen_version": seen, "do": do}, **options)


def stored():
    return Project.objects.values_list("guidelines", "guidelines_version").get(slug="covid")


# ── Markdown ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_markdown():
    for text, holds in (
        ("# Dates", "<h2>Dates</h2>"),  # the page itself has the first-level heading
        ("**bold** and *slanted*", "<strong>bold</strong> and <em>slanted</em>"),
        ("| a | b |\n| - | - |\n| 1 | 2 |", "<td>1</td>"),
        ("[rules](https://example.org/x)", '<a href="https://example.org/x" rel="noopener noreferrer">rules</a>'),
        ("[here](/projects/)", 'href="/projects/"'),
        # The content security policy forbids style attributes.
        ("| a | b |\n|:-:|--:|\n| 1 | 2 |", '<th class="column-center">a</th>\n<th class="column-right">b</th>'),
    ):
        assert holds in markdown(text) and "style" not in markdown(text)


def test_markdown_is_harmless():
    for text in (
        "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))", "[x](&#106;avascript:alert(1))", "[x](java\nscript:alert(1))",
        "[x](data:text/html,<script>1</script>)", "[x](vbscript:x)", "[x](file:///etc/passwd)", "<javascript:alert(1)>",
        "![x](https://example.org/pixel.png)", "![x](javascript:alert(1))", "[ref]: javascript:alert(1)\n\n[ref]",
        '[x](https://example.org "\\" onmouseover=alert(1)")', "```<script>\n</pre><script>\n```",

    ):  # fmt: skip
        html = markdown(text).lower()
        schemes = [f'href="{scheme}' for scheme in ("javascript:", "data:", "vbscript:", "file:")]
        assert not any(harm in html for harm in ("<script", "<img", '" onmouseover', *schemes))


# ── Reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_member_reads_them_on_their_page_and_beside_the_text(world, sign_in, mia):
    assert "No guidelines yet" in check_page(mia.get(PAGE))
    assert "have not written guidelines yet" in check_page(sign_in(world.ann).get(BESIDE), fragment=True)
    write(mia, "# Names\n\n## `Titles` & more\n\n- # no heading to jump to\n\n# Dates")
    for member in (world.ann, world.vic, world.rev, world.mia):
        client = sign_in(member)
        html = check_page(client.get(PAGE))
        assert '<h2 id="guide-1">Names</h2>' in html and "Version 1" in html
        assert (EDIT in html) == (member == world.mia)
        html = check_page(client.get(BESIDE), fragment=True)
        jumps = [("guide-1", "Names"), ("guide-2", "Titles &amp; more"), ("guide-3", "Dates")]
        assert re.findall(r'<a href="#(guide-\d)">([^<]*)</a>', html) == jumps
        assert '<h2 id="guide-1">Names</h2>' in html and 'data-version="1.0"' in html


def test_added_rules_follow_the_text(world, sign_in, mia):
    write(mia, "# Names")
    text = "Wards are **no** hospital. <b>"
    Amendment.objects.create(project=world.project, number=1, text=text, guidelines_version=1, at=timezone.now())
    for page, fragment in ((BESIDE, True), (PAGE, False)):
        html = check_page(sign_in(world.ann).get(page), fragment=fragment)
        assert "Wards are <strong>no</strong> hospital. &lt;b&gt;" in html and "1 rule added" in html
        assert ('data-version="1.1"' in html) == fragment


# ── Writing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_saving_makes_the_next_version_once(mia):
    assert "Saving creates version 1" in check_page(mia.get(EDIT))
    for _ in range(2):  # a double click
        assert write(mia, "First\r\nlines\r\n").url == PAGE
    assert stored() == ("First\nlines\n", 1) and "You are editing version 1" in check_page(mia.get(EDIT))
    assert Event.objects.get(verb=GUIDELINES_CHANGED).data == {"version": 1, "length": 12}


def test_preview_saves_nothing(mia):
    html = check_page(write(mia, "# Try\n\n<b>x</b>", do="preview"))
    assert "<h2>Try</h2>" in html and "&lt;b&gt;x" in html and 'name="seen_version" value="0"' in html
    seen = write(mia, "x" * 200_001, do="preview", headers={"HX-Request": "true"})
    assert seen.status_code == 200 and "errorlist" in seen.text.partition('id="preview"')[2]
    assert stored() == ("", 0)


def test_a_version_that_the_editor_has_not_seen_is_not_overwritten(mia):
    write(mia, "Theirs", 0)
    response = write(mia, "Mine", 0)
    html = check_page(response)
    assert response.status_code == 422 and 'name="seen_version" value="1"' in html
    assert "Mine</textarea>" in html and "Theirs</textarea>" in html and stored() == ("Theirs", 1)
    # Now that the page has shown the other version, saving replaces it.
    assert write(mia, "Mine", 1).url == PAGE and stored() == ("Mine", 2)

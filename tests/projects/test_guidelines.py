"""Guidelines: safe Markdown, visible to members, edited by managers without losing anybody's text."""

import re

import pytest
from django.urls import reverse
from django.utils import timezone

from annotations.core.templatetags.markdown import markdown
from annotations.models import Amendment, Event, Project
from annotations.projects.events import GUIDELINES_CHANGED
from tests.worlds.checks import check_page

PAGE = "/projects/covid/guidelines/"
EDIT = "/projects/covid/guidelines/edit/"


@pytest.fixture
def mia(world, sign_in):
    return sign_in(world.mia)


def write(client, text, seen=0, do="save"):
    return client.post(EDIT, {"text": text, "seen_version": seen, "do": do})


# ── Markdown ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "text, holds",
    [
        ("# Dates", "<h2>Dates</h2>"),  # the page itself has the first-level heading
        ("###### Small", "<h6>Small</h6>"),
        ("**bold** and *slanted*", "<strong>bold</strong> and <em>slanted</em>"),
        ("| a | b |\n| - | - |\n| 1 | 2 |", "<td>1</td>"),
        ("[rules](https://example.org/x)", '<a href="https://example.org/x" rel="noopener noreferrer">rules</a>'),
        ("[mail](mailto:a@example.org)", 'href="mailto:a@example.org"'),
        ("[here](/projects/)", 'href="/projects/"'),
    ],
)
def test_markdown(text, holds):
    assert holds in markdown(text)


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "[x](&#106;avascript:alert(1))",
        "[x](java\nscript:alert(1))",
        "[x](data:text/html,<script>1</script>)",
        "[x](vbscript:x)",
        "[x](file:///etc/passwd)",
        "<javascript:alert(1)>",
        "![x](https://example.org/pixel.png)",
        "![x](javascript:alert(1))",
        "[ref]: javascript:alert(1)\n\n[ref]",
        '[x](https://example.org "\\" onmouseover=alert(1)")',
        "```<script>\n</pre><script>\n```",
    ],
)
def test_markdown_is_harmless(text):
    html = markdown(text).lower()
    assert "<script" not in html
    assert "<img" not in html
    for scheme in ("javascript:", "data:", "vbscript:", "file:"):
        assert f'href="{scheme}' not in html
    assert '" onmouseover' not in html


# ── Reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_every_member_reads_them(world, sign_in, mia):
    assert "No guidelines yet" in check_page(mia.get(PAGE))
    write(mia, "# Names\n\nTitles stay **outside**.")
    for member in (world.ann, world.vic, world.rev, world.mia):
        html = check_page(sign_in(member).get(PAGE))
        assert '<h2 id="guide-1">Names</h2>' in html
        assert "Version 1" in html
        assert (EDIT in html) == (member == world.mia)
    assert sign_in(world.out).get(PAGE).status_code == 404


# ── Writing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_saving_makes_the_next_version(world, mia):
    assert "Saving creates version 1" in check_page(mia.get(EDIT))
    assert write(mia, "First\r\nlines\r\n").url == PAGE
    project = Project.objects.get(pk=world.project.pk)
    assert (project.guidelines, project.guidelines_version) == ("First\nlines\n", 1)
    assert "You are editing version 1" in check_page(mia.get(EDIT))
    assert Event.objects.get(verb=GUIDELINES_CHANGED).data == {"version": 1, "length": 12}


def test_a_double_click_makes_one_version(world, mia):
    for _ in range(2):
        assert write(mia, "First", 0).url == PAGE
    assert Project.objects.get(pk=world.project.pk).guidelines_version == 1


def test_preview_saves_nothing(world, mia):
    html = check_page(write(mia, "# Try\n\n<b>x</b>", 0, "preview"))
    assert "<h2>Try</h2>" in html
    assert "&lt;b&gt;x" in html
    assert 'name="seen_version" value="0"' in html
    assert Project.objects.get(pk=world.project.pk).guidelines == ""
    asked = {"text": "x" * 200_001, "seen_version": 0, "do": "preview"}
    seen = mia.post(EDIT, asked, headers={"HX-Request": "true"})
    assert seen.status_code == 200 and "errorlist" in seen.content.decode().partition('id="preview"')[2]


def test_a_version_that_the_editor_has_not_seen_is_not_overwritten(world, mia):
    write(mia, "Theirs", 0)
    response = write(mia, "Mine", 0)
    assert response.status_code == 422
    html = check_page(response)
    assert "Someone saved version 1 while you were writing" in html
    assert "Mine</textarea>" in html and "Theirs</textarea>" in html
    assert 'name="seen_version" value="1"' in html
    assert Project.objects.get(pk=world.project.pk).guidelines == "Theirs"
    # Now that the page has shown the other version, saving replaces it.
    assert write(mia, "Mine", 1).url == PAGE
    assert Project.objects.get(pk=world.project.pk).guidelines == "Mine"


@pytest.mark.parametrize(
    "body", [{"text": "x"}, {"text": "x", "seen_version": "y"}, {"text": "x" * 200_001, "seen_version": 0}]
)
def test_invalid_forms_save_nothing(world, mia, body):
    response = mia.post(EDIT, body)
    assert response.status_code == 422
    check_page(response)
    assert Project.objects.get(pk=world.project.pk).guidelines_version == 0


def test_the_page_links_to_the_editor(mia):
    assert reverse("guidelines_edit", args=["covid"]) in mia.get(PAGE).content.decode()


def test_aligned_columns_need_no_style_attribute():
    """The content security policy forbids style attributes."""
    html = markdown("| a | b | c |\n|:-:|--:|---|\n| 1 | 2 | 3 |")
    assert "style" not in html
    assert '<th class="column-center">' in html
    assert '<td class="column-right">' in html


# ── Beside the text ──────────────────────────────────────────────────────────────────────────────────────────────────

BESIDE = "/projects/covid/guidelines/beside"


def test_the_panel_beside_the_text(world, sign_in, mia):
    assert "have not written guidelines yet" in check_page(sign_in(world.ann).get(BESIDE), fragment=True)
    write(mia, "# Names\n\n## `Titles` & more\n\n- # no heading to jump to\n\n# Dates")
    for member in (world.ann, world.vic, world.rev):
        html = check_page(sign_in(member).get(BESIDE), fragment=True)
        assert re.findall(r'<a href="#(guide-\d)">([^<]*)</a>', html) == [
            ("guide-1", "Names"), ("guide-2", "Titles &amp; more"), ("guide-3", "Dates"),
        ]  # fmt: skip
        assert '<h2 id="guide-1">Names</h2>' in html
        assert 'data-version="1.0"' in html and "Version 1, changed on" in html
    assert sign_in(world.out).get(BESIDE).status_code == 404


def test_added_rules_follow_the_text(world, sign_in, mia):
    write(mia, "# Names")
    Amendment.objects.create(
        project=world.project, number=1, text="Wards are **no** hospital. <b>", guidelines_version=1, at=timezone.now()
    )
    for page, fragment in ((BESIDE, True), (PAGE, False)):
        html = check_page(sign_in(world.ann).get(page), fragment=fragment)
        assert "Wards are <strong>no</strong> hospital. &lt;b&gt;" in html
        assert "1 rule added" in html
    assert 'data-version="1.1"' in sign_in(world.ann).get(BESIDE).content.decode()

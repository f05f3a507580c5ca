"""Pairs of decisions in Chromium: settling by keyboard, and the error of a wrong file beside its field."""

import pytest
from playwright.sync_api import expect

from annotations.models import Document, PublishedDecision
from tests.factories import make_member
from tests.pairs.decisions import invented
from tests.pairs.piles import court, pair


@pytest.mark.browser
def test_a_person_settles_by_keyboard(transactional_db, page_of, tmp_path):
    project = court()
    mia = make_member(project, "manager", "mia")
    one = invented(1, tokens=300)
    twin = one.clear.replace("servito", "prestato servizio")
    pair(project, {"first": one.clear, "second": twin, "published": one.published})
    page = page_of(mia, "pairs", "court")
    page.get_by_role("radio", name="first").focus()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("radio", name="second")).to_be_checked()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator('tr[data-state="paired"]')).to_contain_text("second")
    assert PublishedDecision.objects.get().document == Document.objects.get(name="second")
    file = tmp_path / "pile.zip"
    file.write_bytes(b"x")
    page.set_input_files("input[type=file]", str(file))
    page.get_by_role("button", name="Upload and pair").click()
    expect(page.locator(".errorlist").first).to_be_visible()

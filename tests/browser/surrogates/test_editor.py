"""The editor of the index of surrogates in Chromium, by keyboard on a phone."""

import pytest
from playwright.sync_api import expect

from annotations.models import SurrogateEntity
from tests.browser.widths import PHONE, fits
from tests.release.surrogates.conftest import make_ward, making

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.nightly
def test_from_the_list_to_another_surrogate(page_of, live):
    ward = making(make_ward())
    ward.make()
    page = page_of(ward.mia, **PHONE)
    page.goto(live("surrogates", "ward"))
    assert fits(page)
    page.get_by_role("link", name="Adam Wilson").focus()
    page.keyboard.press("Enter")
    field = page.get_by_label("Surrogate to use")
    expect(field).to_be_visible()
    assert fits(page)
    field.fill("Emily Carter")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("Type another surrogate")
    field.fill("Gregory Fletcher")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Gregory Fletcher")
    page.get_by_role("checkbox", name="Choose the mention in n1, line 1").press("Space")
    page.get_by_role("button", name="Split off chosen mentions").press("Enter")
    expect(page.get_by_text("are now this new entity")).to_be_visible()
    assert SurrogateEntity.objects.filter(kind="name").count() == 3

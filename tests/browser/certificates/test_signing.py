"""From the page of a release to its signed certificate and back through verification, in Chromium; axe-core."""

from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from tests.certificates.conftest import released, world

__all__ = ["released", "world"]

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("width, scheme", [(1280, "light"), (390, "dark")])
def test_sign_download_and_verify(page_of, live, axe, released, width, scheme, tmp_path):
    page = page_of(released.mia)
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=scheme)
    page.goto(live("release", "covid", 1))
    page.get_by_role("link", name="Sign the release").click()
    page.get_by_label("Purpose").fill("Teaching")
    page.get_by_label("Recipient").fill("University of Milan")
    page.get_by_label("Valid until").fill((timezone.localdate() + timedelta(days=30)).isoformat())
    fits(page, axe)

    # With the keyboard alone: a risk that is not accepted is refused, and what was typed stays.
    page.get_by_role("button", name="Sign", exact=True).press("Enter")
    expect(page.get_by_text("2 open risks are not accepted.")).to_be_visible()
    expect(page.get_by_label("Recipient")).to_have_value("University of Milan")
    fits(page, axe)
    for risk in page.get_by_role("checkbox").all():
        risk.press("Space")
    page.get_by_role("button", name="Sign", exact=True).press("Enter")
    expect(page.get_by_text("Release 1 is signed.")).to_be_visible()
    fits(page, axe)

    with page.expect_download() as download:
        page.get_by_role("link", name="PDF of certificate 1").click()
    file = tmp_path / "certificate.pdf"
    download.value.save_as(file)
    page.get_by_role("link", name="Verify a certificate").click()
    fits(page, axe)
    page.get_by_label("Certificate", exact=True).set_input_files(file)
    page.get_by_role("button", name="Verify", exact=True).click()
    expect(page.get_by_role("heading", name="The certificate is verified")).to_be_visible()
    fits(page, axe)
    page.get_by_role("link", name="Keys of this instance").click()
    expect(page.get_by_role("heading", name="Public keys")).to_be_visible()
    fits(page, axe)


def fits(page, axe):
    assert axe(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

"""A manager's way from a new release to a verified certificate, by mouse alone."""

from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from annotations.jobs.runner import run as run_job
from annotations.models import Release
from annotations.release.rules.certificates.signatures import open_certificate
from tests.browser.test_first_day import Hands
from tests.browser.widths import fits_everywhere
from tests.worlds.released import make_clinic

pytestmark = pytest.mark.django_db(transaction=True)


def test_from_a_new_release_to_its_certificate(page_of, live, tmp_path):
    clinic = make_clinic()
    page: Page = page_of(clinic.mia)
    hands = Hands(page)
    page.goto(live("releases", "covid"))

    hands.link("New release")
    hands.fill("Purpose", "Teaching")
    hands.fill("Recipient", "University of Milan")
    day = timezone.localdate() + timedelta(days=90)
    hands.fill("Certificate valid until", "")  # The focus goes there; a date takes keys only.
    page.keyboard.type(f"{day:%m%d%Y}")
    hands.acts += 1
    hands.button("Start release")
    expect(page.get_by_text("Waiting for a worker").first).to_be_visible()
    run_job(Release.objects.get().job.pk)

    hands.link("Decide findings")
    expect(page.locator("html")).to_have_attribute("data-findings", "ready")
    for left in (1, 0):
        hands.button("Replace")
        expect(page.locator("#count-open")).to_have_text(str(left))
    hands.link("Release 1")

    hands.link("Plan audit")
    hands.choose("Notes with a planted leak", "0%")  # Three notes are too few to measure recall.
    hands.button("Compute sample size")
    expect(page.locator("#sample")).to_be_focused()
    expect(page.get_by_role("heading", name="Sample")).to_be_in_viewport()
    hands.button("Start audit")
    hands.button("Read next note")
    for position in (1, 2, 3):
        expect(page.locator("#finish [name=note]")).to_have_value(str(position))
        expect(page.locator("html")).to_have_attribute("data-audit", "ready")
        hands.button("No leak")
    expect(page.get_by_role("heading", name="Result")).to_be_visible()
    page.goto(live("release", "covid", 1))

    hands.link("Review and sign")
    expect(hands.field("Recipient")).to_have_value("University of Milan")
    # A risk that is not accepted is refused, and what was typed stays.
    page.get_by_role("button", name="Sign", exact=True).press("Enter")
    expect(page.get_by_role("alert")).to_be_focused()
    expect(hands.field("Recipient")).to_have_value("University of Milan")
    for risk in page.get_by_role("checkbox").all():
        hands.tick(risk.evaluate("node => node.labels[0].textContent"))
    hands.press(page.get_by_role("button", name="Sign", exact=True))
    expect(page.get_by_text("Release 1 is signed.")).to_be_visible()
    with page.expect_download() as download:
        hands.link("PDF of certificate 1")
    download.value.save_as(tmp_path / "certificate.pdf")
    content = open_certificate((tmp_path / "certificate.pdf").read_bytes()).content
    assert content["identifiability"]["gate"]["replaced"] == 3 and content["context"]["expires_on"] == day.isoformat()
    assert content["identifiability"]["audit"]["read"] == 3
    assert hands.acts <= 40

    page.get_by_role("link", name="Verify a certificate").press("Enter")
    page.get_by_label("Certificate", exact=True).set_input_files(tmp_path / "certificate.pdf")
    page.get_by_role("button", name="Verify", exact=True).press("Enter")
    expect(page.get_by_role("heading", name="The certificate is verified")).to_be_visible()
    assert fits_everywhere(page)

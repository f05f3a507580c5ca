"""Releases in Chromium: findings, an audit and the certificate, by mouse and by keys."""

from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from annotations.models import LeakFinding
from annotations.release.rules.certificates.signatures import open_certificate
from annotations.release.services.deciding import answer_chosen
from tests.browser.annotate.steps import press
from tests.browser.test_first_day import Hands
from tests.browser.widths import fits_everywhere
from tests.waiting import wait_for
from tests.worlds.released import make_clinic, make_release

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def clinic():
    made = make_clinic()
    about = {"purpose": "Teaching", "recipient": "University of Milan"}
    until = timezone.localdate() + timedelta(days=90)
    made.release = make_release(made.project, made.mia, expires_on=until, **about)
    return made


@pytest.mark.nightly
def test_a_stretch_its_counterpart_and_an_example(clinic, page_of, live, axe):
    page = page_of(clinic.mia, "release_note", "covid", 1, clinic.notes[0].pk)
    expect(page.locator("html")).to_have_attribute("data-beside", "ready")
    page.locator(".is-original .stretch").nth(3).focus()
    expect(page.locator(".stretch.is-linked")).to_have_text(["Torino", "[CITY]"])
    page.locator(".is-released .stretch").first.hover()
    expect(page.locator(".stretch.is-linked")).to_have_text(["Mario Rossi", "[PATIENT]"])
    # An example follows the chosen action, and so does the preview of a release.
    page.goto(live("release_policy", "covid", "mask"))
    page.get_by_label("Action for PATIENT").select_option("remove")
    row = page.locator("tr", has=page.get_by_label("Action for PATIENT"))
    expect(row.locator(".policy-example")).to_contain_text("removed")
    page.goto(live("release_new", "covid") + "?set=gold")
    page.locator("label[for=policy-remove]").click()
    expect(page.locator("#preview .is-released .stretch.is-remove").first).to_be_attached()
    assert axe(page) == [] and fits_everywhere(page)


def test_findings_are_decided(clinic, page_of):
    """A decision is not lost while another of its string is answered; then by keys alone."""
    page = page_of(clinic.mia, "release", "covid", 1)
    page.get_by_role("link", name="Decide findings").press("Enter")
    expect(page.locator("html")).to_have_attribute("data-findings", "ready")
    items = page.locator(".leak-item")
    expect(items).to_have_count(3)
    held = []
    page.route("**/findings/decide", lambda route: held.append(route))

    def answered() -> None:
        """Wait for a request, and let it go. The round trip lets Playwright hand over requests."""
        wait_for(lambda: page.evaluate("1") and held, 10, "a request")
        held.pop().continue_()

    first, second = items.nth(0), items.nth(1)
    # The second decision waits for the first answer, which replaces the buttons of the string. By keys, going on:
    for key in ("j", "a", "r"):
        page.keyboard.press(key)
    answered()
    expect(first).to_contain_text("allowed")
    answered()
    expect(second).to_contain_text("replaced")
    expect(items.nth(2)).to_be_focused()
    expect(page.locator("#count-open")).to_have_text("1")
    # The decided card is folded. By mouse:
    page.locator(".leak-fold summary").first.click()
    for item in (first, second):
        item.get_by_role("button", name="Undo").click()
    for left in ("2", "3"):
        answered()
        expect(page.locator("#count-open")).to_have_text(left)
    for item in (first, second):
        expect(item.get_by_role("button", name="Allow")).to_be_visible()
    page.unroute("**/findings/decide")

    page.reload()
    expect(page.locator("html")).to_have_attribute("data-findings", "ready")
    press(page, "j")
    expect(first).to_be_focused()
    press(page, "r")
    expect(first).to_contain_text("replaced")
    expect(page.locator("#count-open")).to_have_text("2")
    expect(second).to_be_focused()
    expect(page.locator("#toast")).to_contain_text("Replaced: Rossi")
    press(page, "u")
    expect(page.locator("#count-open")).to_have_text("3")
    expect(first).to_be_focused()
    press(page, "Shift+A")
    expect(page.locator("#count-open")).to_have_text("1")
    expect(page.locator(".leak-fold").first).not_to_have_attribute("open", "")
    expect(items.nth(2)).to_be_focused()
    press(page, "a")
    expect(page.locator("#count-open")).to_have_text("0")
    expect(page.locator("#onward")).to_be_focused()
    assert sorted(LeakFinding.objects.values_list("decision", flat=True)) == ["allow"] * 3
    press(page, "?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    assert fits_everywhere(page)
    press(page, "Escape", "Enter")
    page.wait_for_url("**/releases/1/")


def test_from_an_audit_to_a_verified_certificate(clinic, page_of, live, tmp_path):
    """By mouse alone. A risk that is not accepted is refused, and what was typed stays."""
    answer_chosen(release=clinic.release, answer="replace", actor=clinic.mia)
    page = page_of(clinic.mia)
    hands = Hands(page)
    page.goto(live("release", "covid", 1))
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
    page.get_by_role("button", name="Sign", exact=True).press("Enter")
    expect(page.get_by_role("alert")).to_be_focused()
    expect(hands.field("Recipient")).to_have_value("University of Milan")
    for risk in page.get_by_role("checkbox").all():
        hands.tick(risk.evaluate("node => node.labels[0].textContent"))
    hands.press(page.get_by_role("button", name="Sign", exact=True))
    expect(page.get_by_text("Release 1 is signed.")).to_be_visible()
    with page.expect_download() as download:
        hands.link("PDF of certificate 1")
    assert hands.acts <= 26
    download.value.save_as(tmp_path / "certificate.pdf")
    content = open_certificate((tmp_path / "certificate.pdf").read_bytes()).content["identifiability"]
    assert (content["gate"]["replaced"], content["audit"]["read"]) == (3, 3)
    page.get_by_role("link", name="Verify a certificate").press("Enter")
    page.get_by_label("Certificate", exact=True).set_input_files(tmp_path / "certificate.pdf")
    page.get_by_role("button", name="Verify", exact=True).press("Enter")
    expect(page.get_by_role("heading", name="The certificate is verified")).to_be_visible()
    assert fits_everywhere(page)

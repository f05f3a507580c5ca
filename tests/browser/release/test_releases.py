"""Releases in Chromium: from choosing annotations to a decided release, by mouse and by keys."""

import pytest
from playwright.sync_api import expect

from annotations.models import LeakFinding
from tests import factories as make
from tests.browser.annotate.steps import press
from tests.browser.widths import fits_everywhere
from tests.waiting import wait_for
from tests.worlds.released import make_clinic, make_release

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def clinic():
    made = make_clinic()
    made.release = make_release(made.project, made.mia)
    return made


@pytest.mark.nightly
def test_a_stretch_its_counterpart_and_an_example(clinic, page_of, live, axe):
    page = page_of(clinic.mia)
    page.goto(live("release_note", "covid", 1, clinic.notes[0].pk))
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


def test_findings_are_decided(clinic, page_of, live):
    """A decision is not lost while another of its string is answered; then by keys alone."""
    page = page_of(clinic.mia)
    page.goto(live("release", "covid", 1))
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


def test_sixty_findings_take_eight_acts(page_of, live):
    """Six names that are labeled in one note stand unlabeled in ten others of the patient: an act a name."""
    made = make_clinic()
    names = ["Alba", "Berti", "Corsi", "Dotti", "Elmi", "Fanti"]
    first, *others = (
        make.make_note(made.project, " ".join(names), f"visita-{number}", language="it", patient_id="P-9")
        for number in range(11)
    )
    bounds = [(at, at + len(name), "DOCTOR") for name in names for at in [first.text.index(name)]]
    for note in (first, *others):
        make.make_set(note, made.gold, bounds if note is first else [], submitted=True)
    make_release(made.project, made.mia)
    is_open = LeakFinding.objects.filter(decision="")
    assert is_open.filter(note__document__in=others).count() == 60
    is_open.exclude(note__document__in=others).update(decision="allow")
    page = page_of(made.mia)
    page.goto(live("release_findings", "covid", 1))
    expect(page.locator("html")).to_have_attribute("data-findings", "ready")
    press(page, "j", *["Shift+R"] * 6)
    expect(page.locator("#onward")).to_be_focused()
    expect(page.locator("#count-open")).to_have_text("0")
    press(page, "Enter")
    page.wait_for_url("**/releases/1/")
    assert not is_open.exists()

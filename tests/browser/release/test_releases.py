"""Releases in Chromium: from choosing annotations to a decided release, by mouse and by keys; axe-core, a phone."""

import pytest
from playwright.sync_api import expect

from annotations.jobs.runner import run as run_job
from annotations.models import LeakFinding, Release
from tests import factories as make
from tests.waiting import Patience
from tests.worlds.released import make_clinic, make_release

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def clinic():
    made = make_clinic()
    made.release = make_release(made.project, made.mia)
    return made


def test_from_the_gold_page_to_a_prepared_release(clinic, page_of, live):
    page = page_of(clinic.mia)
    page.goto(live("gold", "covid"))
    page.get_by_role("link", name="Release de-identified text").click()
    preview = page.locator("#preview")
    expect(preview.get_by_role("cell").first).to_contain_text("Mario Rossi")
    expect(preview).to_contain_text("The leak gate finds 1 identifier")
    page.locator("label[for=policy-remove]").click()
    expect(preview.locator(".is-released .stretch.is-remove").first).to_be_attached()
    preview.get_by_role("button", name="Next").click()
    expect(preview).to_contain_text("Note 2 of 3")
    page.get_by_label("Purpose").fill("Research")
    page.get_by_role("button", name="Start release").click()
    expect(page.get_by_text("Waiting for a worker").first).to_be_visible()
    run_job(Release.objects.get(number=2).job.pk)
    expect(page.get_by_role("link", name="Decide findings")).to_be_visible()
    assert "Rossi" not in page.url


def test_findings_are_decided_by_keys_alone(clinic, page_of, live):
    page = page_of(clinic.mia)
    page.goto(live("release", "covid", 1))
    page.get_by_role("link", name="Decide findings").press("Enter")
    expect(page.locator("html")).to_have_attribute("data-findings", "ready")
    items = page.locator(".leak-item")
    expect(items).to_have_count(3)
    page.keyboard.press("j")
    expect(items.first).to_be_focused()
    page.keyboard.press("r")
    expect(items.first).to_contain_text("replaced")
    expect(page.locator("#count-open")).to_have_text("2")
    expect(items.first).to_be_focused()
    page.keyboard.press("u")
    expect(page.locator("#count-open")).to_have_text("3")
    page.keyboard.press("Shift+A")
    expect(page.locator("#count-open")).to_have_text("1")
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(items.nth(2)).to_be_focused()
    page.keyboard.press("a")
    expect(page.locator("#count-open")).to_have_text("0")
    assert sorted(LeakFinding.objects.values_list("decision", flat=True)) == ["allow"] * 3
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()


def test_a_decision_is_not_lost_while_another_of_its_string_is_answered(clinic, page_of, live):
    page = page_of(clinic.mia)
    held = []
    page.route("**/findings/decide", lambda route: held.append(route))
    page.goto(live("release_findings", "covid", 1))
    expect(page.locator("html")).to_have_attribute("data-findings", "ready")

    def answered() -> None:
        """Wait for a request, and let it go."""
        patience = Patience(5)
        while not held and not patience.has_run_out(len(held)):
            page.wait_for_timeout(20)
        held.pop().continue_()

    first, second = (page.locator(".leak-item").nth(n) for n in range(2))
    # The second decision waits for the first answer, which replaces the buttons of the string. By keys:
    for key in ("j", "a", "j", "r"):
        page.keyboard.press(key)
    answered()
    expect(first).to_contain_text("allowed")
    answered()
    expect(second).to_contain_text("replaced")
    expect(second).to_be_focused()
    expect(page.locator("#count-open")).to_have_text("1")
    # By mouse:
    for item in (first, second):
        item.get_by_role("button", name="Undo").click()
    for left in ("2", "3"):
        answered()
        expect(page.locator("#count-open")).to_have_text(left)
    for item in (first, second):
        expect(item.get_by_role("button", name="Allow")).to_be_visible()


def test_a_stretch_and_its_counterpart_are_highlighted_together(clinic, page_of, live):
    page = page_of(clinic.mia)
    page.goto(live("release_note", "covid", 1, clinic.notes[0].pk))
    expect(page.locator("html")).to_have_attribute("data-beside", "ready")
    page.locator(".is-original .stretch").nth(3).focus()
    expect(page.locator(".stretch.is-linked")).to_have_text(["Torino", "[CITY]"])
    page.locator(".is-released .stretch").first.hover()
    expect(page.locator(".stretch.is-linked")).to_have_text(["Mario Rossi", "[PATIENT]"])


def test_an_example_follows_the_chosen_action(clinic, page_of, live):
    page = page_of(clinic.mia)
    page.goto(live("release_policy", "covid", "mask"))
    page.get_by_label("Action for PATIENT").select_option("remove")
    row = page.locator("tr", has=page.get_by_label("Action for PATIENT"))
    expect(row.locator(".policy-example")).to_contain_text("removed")
    page.get_by_role("button", name="Save as version 2").click()
    expect(page.get_by_text("Version 2 is saved.")).to_be_visible()
    expect(page.locator("#v2 ins")).to_have_text("Remove (Patient or relative)")


def test_the_review_shows_surrogates_of_what_gold_holds(clinic, page_of, live):
    run = make.make_author(clinic.project, kind="run", name="rules-1")
    note = make.make_note(clinic.project, "Luca Verdi, di Torino.", "caso-004", language="it", patient_id="P-4")
    make.make_set(note, run, [(0, 10, "PATIENT")], submitted=True)
    make.list_for_review(run)
    page = page_of(clinic.rev)
    page.goto(live("review", "covid", run.pk, note.pk))
    expect(page.locator("html")).to_have_attribute("data-review", "ready")
    page.keyboard.press("a")
    views = page.get_by_role("group", name="View of the text")
    # Nothing is left to decide, so the note is masked.
    expect(views.get_by_role("button", name="Masked")).to_have_attribute("aria-pressed", "true")
    span = page.locator("#note .span.is-accepted")
    expect(span).to_have_attribute("data-instead", "[PATIENT]")
    views.get_by_role("button", name="Surrogates").click()
    expect(span).not_to_have_attribute("data-instead", "[PATIENT]")
    assert page.url.endswith("?view=surrogates")
    page.locator("#note").focus()
    page.keyboard.press("v")
    expect(views.get_by_role("button", name="Original")).to_have_attribute("aria-pressed", "true")
    assert "?" not in page.url


@pytest.mark.parametrize("width, scheme", [(1440, "light"), (390, "dark")])
def test_every_page_is_accessible_and_fits(clinic, page_of, live, axe, width, scheme):
    page = page_of(clinic.mia, viewport={"width": width, "height": 900}, color_scheme=scheme)
    note = clinic.notes[0].pk
    urls = [live(name, "covid") for name in ("releases", "release_new", "release_policies")]
    urls += [live(name, "covid", 1) for name in ("release", "release_findings")]
    urls += [live("release_note", "covid", 1, note), live("release_policy", "covid", "safe-harbor")]
    urls += [f"{live('note', 'covid', note)}?view={view}" for view in ("masked", "surrogates")]
    found = []
    for url in urls:
        page.goto(url)
        if url.endswith("/new/"):
            expect(page.locator("#preview .beside")).to_be_visible()
        found += [f"{url}: {line}" for line in axe(page)]
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            found.append(f"{url}: wider than the screen")
    assert found == []

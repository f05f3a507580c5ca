"""The review page in Chromium: by mouse, by keyboard alone, finishing, saving offline or beside another."""

import base64
import re
from itertools import pairwise

from playwright.sync_api import Route, expect

from annotations.models import Decision, DocumentSource, Label, Review, Span, StoredFile, StoredFileKind
from tests.browser.annotate.steps import TEXT, click_text, drag, label_button, painted, press, saved, wait_for_held
from tests.browser.conftest import session_cookie
from tests.browser.review.steps import act, chosen, decided, gold, open_review, states

# The smallest PNG.
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNg+M9QDwADgQGAWjR9awAAAABJRU5ErkJggg=="
)


def test_decisions_by_mouse(many):
    page = many.page
    # A click during which an answer arrives counts.
    held: list[Route] = []
    page.route("**/*", lambda route: held.append(route) if route.request.method == "POST" else route.continue_())
    act(page, "accept").click()
    expect(chosen(page)).to_contain_text("12/03/2021")
    act(page, "reject").hover()
    page.mouse.down()
    wait_for_held(page, held, 1)
    held[0].continue_()
    saved(page)
    page.mouse.up()
    expect(chosen(page)).to_contain_text("Torino")
    page.unroute_all()
    # Clicks select and undo reverts.
    many.go_on()
    page.locator("#suggestions button", has_text="Bianchi").click()
    expect(page.locator("#note .is-selected")).to_have_text("Bianchi")
    act(page, "reject").click()
    expect(page.locator("#note .is-rejected")).to_have_text("Bianchi")
    saved(page)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("#note .is-rejected")).to_have_count(0)
    expect(chosen(page)).to_contain_text("Bianchi")  # the undone suggestion is selected
    page.get_by_role("button", name="Redo").click()
    expect(page.locator("#note .is-rejected")).to_have_text("Bianchi")
    page.get_by_role("button", name="Previous suggestion").click()
    expect(chosen(page)).to_contain_text("Torino")
    page.get_by_role("button", name="Next suggestion").click()
    expect(chosen(page)).to_contain_text("Bianchi")
    act(page, "accept").click()  # a decision can be changed
    assert many.gold == [("DOCTOR", "Bianchi")]
    assert Decision.objects.filter(review__document=many.note).count() == 1
    # A double click decides once.
    many.go_on()
    act(page, "accept").dblclick()
    assert many.gold == [("PATIENT", "Mario Rossi")]
    label_button(page, "CITY").dblclick()
    assert many.gold == [("PATIENT", "Mario Rossi"), ("CITY", "12/03/2021")]
    # An added span can be removed.
    many.go_on()
    press(page, "Escape")
    drag(page, "54 anni")
    assert page.locator("#palette-ends").count() == 0, "no suggestion is selected"
    label_button(page, "AGE").click()
    saved(page)
    click_text(page, "54 anni")
    expect(page.locator("#chosen-title")).to_have_text("Selected gold span")
    expect(page.locator("#chosen")).to_contain_text("Added by you")
    page.get_by_role("button", name="Remove from gold").click()
    assert many.gold == []
    press(page, "u")
    expect(page.locator("#note .is-accepted")).to_have_text("54 anni")
    # What ends moved by keys leave out is offered for a label.
    many.go_on()
    selected = "String(document.getSelection())"
    offered = page.locator("#chosen [data-act=ends]")
    expect(offered).to_have_count(0)
    press(page, "Shift+ArrowLeft")
    expect(offered).to_have_text("Label what was left out: Rossi e")
    # The next key still moves the end: back to the whole suggestion, then to its first word again.
    press(page, "Shift+ArrowRight")
    expect(offered).to_have_count(0)
    assert many.after("Shift+ArrowLeft") == [("PATIENT", "Mario")] and page.evaluate(selected) == ""
    press(page, "e")
    assert page.evaluate(selected) == "Rossi"
    expect(page.locator("#palette")).to_be_hidden()
    expect(page.locator("#chosen")).to_contain_text("The correction left this text out.")
    assert many.after("2") == [("PATIENT", "Mario"), ("DOCTOR", "Rossi")]
    click_text(page, "Mario")
    expect(offered).to_have_count(0)


def test_keys(many):
    page = many.page
    # Bounds by keys and by the selected text.
    assert many.after("Shift+ArrowLeft") == [("PATIENT", "Mario")]
    assert many.after("Shift+ArrowRight", "Alt+ArrowLeft") == [("PATIENT", "Paziente Mario Rossi")]
    press(page, "m", "ArrowLeft", "Shift+ArrowLeft", "e")  # from the comma after it back over Rossi to Mario
    assert many.gold == [("PATIENT", "Mario Rossi")]
    assert Decision.objects.filter(review__document=many.note).count() == 1
    saved(page, "u", "u", "u", "u")
    expect(page.locator("#note .is-accepted")).to_have_count(0)
    assert many.gold == []
    assert many.after("Control+Shift+z", "Control+y", "Control+y", "Control+y") == [("PATIENT", "Mario Rossi")]
    # Moving skipping and clearing the selection.
    many.go_on()
    press(page, "j", "ArrowDown")
    expect(chosen(page)).to_contain_text("Torino")
    press(page, "a", "k", "k")
    expect(chosen(page)).to_contain_text("12/03/2021")
    press(page, " ")  # over the accepted one
    expect(chosen(page)).to_contain_text("Bianchi")
    press(page, " ")
    expect(chosen(page)).to_contain_text("Mario Rossi")
    press(page, "Escape")
    expect(page.locator("#suggestions [aria-current]")).to_have_count(0)
    press(page, "a")  # does nothing without a selection
    press(page, "Escape")
    assert page.evaluate("document.activeElement.id") == "side"
    assert states(page).count("open") == 3
    # The list of keys.
    many.go_on()
    press(page, "?")
    sheet = page.get_by_role("dialog", name="Keys")
    for words in ("Accept", "Reject", "Skip to the next open", "Ctrl+Z", "Finish when nothing is open", "PATIENT"):
        expect(sheet).to_contain_text(words)
    press(page, "Escape")
    expect(sheet).to_be_hidden()
    # A note with open suggestions can not be finished.
    many.go_on()
    press(page, "a", "Enter")
    expect(page.locator("#notice")).to_contain_text("3 suggestions are still open")
    expect(chosen(page)).to_contain_text("12/03/2021")
    saved(page)
    assert Review.objects.get(document=many.note).finished_at is None


def test_n_and_p_save_and_go_to_the_neighboring_notes(opened, world):
    press(opened, "a", "n")
    opened.wait_for_url(f"**/review/{world.run.pk}/{world.notes[1].pk}/")
    assert gold(world.note) == [("PATIENT", "Mario Rossi")]
    opened.wait_for_selector("html[data-review=ready]")
    press(opened, "p")
    opened.wait_for_url(f"**/review/{world.run.pk}/{world.notes[0].pk}/")


def test_the_last_note_leads_to_a_final_page_and_a_finished_one_can_be_reopened(opened, world):
    for _ in world.notes:
        opened.wait_for_selector("html[data-review=ready]")
        press(opened, "x", "x", "x", "x")
        expect(opened.locator("#left")).to_have_text("4, none open")
        expect(opened.locator("#finish")).to_have_class(re.compile("primary"))
        press(opened, "Enter")
        opened.wait_for_load_state()
        opened.wait_for_function("() => !document.querySelector('#finish:disabled')")
    expect(opened.get_by_role("heading", name="rules-1 is reviewed")).to_be_visible()
    assert Review.objects.filter(found_empty=True).count() == 2
    opened.go_back()
    opened.goto(opened.url)
    opened.wait_for_selector("html[data-review=ready]")
    press(opened, "j", "a")
    expect(opened.locator("#notice")).to_contain_text("is finished")
    expect(act(opened, "accept")).to_be_disabled()
    opened.get_by_role("button", name="Reopen").click()
    opened.wait_for_selector("#workbench[data-state=draft]")
    opened.wait_for_selector("html[data-review=ready]")
    saved(opened, "j", "a")
    assert Span.objects.filter(annotation_set__author__kind="gold").count() == 1


def test_attributes_are_set_by_key_and_by_click(world, page_of, live):
    Label.objects.filter(name="PATIENT").update(attributes=[{"name": "Family"}, {"name": "Status", "values": ["past"]}])
    page = open_review(page_of(world.rita), live, world)
    press(page, "F4")
    expect(page.locator("#notice")).to_contain_text("Decide first, then press F4")
    press(page, "a", "k", "F4")
    window = page.get_by_role("dialog", name="Attributes")
    press(page, "1")
    window.get_by_role("button", name="past").click()
    press(page, "Escape")
    expect(page.locator("#chosen .wb-attributes")).to_have_text("Family · Status: past")
    saved(page)
    assert Span.objects.get(annotation_set__author__kind="gold").attributes == {"Family": True, "Status": "past"}
    press(page, "u")
    expect(page.locator("#chosen .wb-attributes")).to_have_text("Family")
    act(page, "attributes").click()
    expect(window.get_by_role("button", pressed=True)).to_have_text(["1Family"])


def test_the_page_of_the_document_beside_the_text(world, page_of, live):
    original = StoredFile.objects.create(project=world.project, kind=StoredFileKind.ORIGINAL, name="a.pdf")
    places = [[0, 11, "page 1"], [13, len(TEXT), "page 2"]]
    DocumentSource.objects.create(document=world.note, original=original, name="a.pdf", kind="pdf", places=places)
    page = page_of(world.rita)
    page.route("**/original/pages/*", lambda route: route.fulfill(content_type="image/png", body=PIXEL))
    open_review(page, live, world)
    expect(page.locator("#chosen .wb-places")).to_contain_text("In the document: page 1")
    press(page, "F8")
    beside = page.get_by_role("complementary", name="page 1")
    expect(beside.get_by_role("img", name="Picture of the document: page 1")).to_be_visible()
    columns = [page.locator(part).bounding_box() for part in (".wb-middle", ".wb-page", ".wb-side")]
    assert all(one and other and one["x"] + one["width"] <= other["x"] + 1 for one, other in pairwise(columns))
    press(page, "Escape")
    expect(beside).to_be_hidden()
    press(page, "j")
    page.locator("#chosen .wb-places a").click()
    expect(page.get_by_role("complementary", name="page 2")).to_be_visible()
    page.set_viewport_size({"width": 390, "height": 844})
    expect(page.locator(".wb-page")).to_be_in_viewport(ratio=0.99)
    page.get_by_role("button", name="Close page").click()
    expect(page.locator(".wb-page")).to_be_hidden()
    DocumentSource.objects.update(places=[])
    open_review(page, live, world)
    press(page, "F8")
    expect(page.locator("#notice")).to_contain_text("No page to show. Select a span")
    press(page, "Escape", "F8")  # with nothing selected
    expect(page.locator("#notice")).to_contain_text("No page to show. Select a span")


# ── Saving on the review page: offline, repeated, signed in as another person, with two reviewers ──


def test_decisions_are_saved_once_and_for_one_person(many, world, live_server):
    page = many.page
    # Offline decisions are kept and sent in order.
    page.context.set_offline(True)
    press(page, "a", "x", "c")
    expect(page.locator("#save-state")).to_have_text("Offline, 3 waiting")
    press(page, "k", "k", "a", "u")
    expect(page.locator("#save-state")).to_have_text("Offline, 5 waiting")
    press(page, "Enter")
    expect(page.locator("#notice")).to_contain_text("still open")
    assert decided(many.note) == 0
    page.context.set_offline(False)
    page.evaluate("window.dispatchEvent(new Event('online'))")
    assert many.gold == [("PATIENT", "Mario Rossi"), ("CITY", "Torino")]
    assert decided(many.note) == 5
    assert [label for label, _ in painted(page)] == ["PATIENT", "DATE", "CITY", "DOCTOR"]
    # Finishing offline keeps the page.
    many.go_on()
    saved(page, "a", "a", "a", "a")
    page.context.set_offline(True)
    press(page, "Enter")
    expect(page.locator("#notice")).to_contain_text("The note was not finished")
    page.context.set_offline(False)
    press(page, "Enter")
    expect(page.locator("#note-name")).not_to_have_text(many.note.name)
    page.wait_for_selector("html[data-review=ready]")
    # No decision is saved for another person.
    many.go_on()
    page.context.clear_cookies()
    press(page, "a")
    expect(page.locator("#save-state")).to_have_text("Signed out, 1 waiting")
    page.context.add_cookies([session_cookie(world.rosa, live_server.url)])
    page.evaluate("window.dispatchEvent(new Event('online'))")
    expect(page.locator("#save-state")).to_have_text("Another person is signed in, 1 waiting")
    expect(page.locator("#notice")).to_contain_text("Another person is signed in on this browser.")
    assert decided(many.note) == 0
    page.context.add_cookies([session_cookie(world.rita, live_server.url)])
    page.evaluate("window.dispatchEvent(new Event('online'))")
    saved(page)
    assert Decision.objects.get(review__document=many.note).reviewer == world.rita


def test_two_reviewers_lose_no_decision(opened, world, page_of, live):
    other = open_review(page_of(world.rosa), live, world)
    saved(opened, "a")
    # Rosa still sees it as open and rejects it: the server refuses, says why, and shows the current state.
    press(other, "x")
    expect(other.locator("#notice")).to_contain_text("decided on this meanwhile. Your decision was not saved")
    expect(other.locator("#suggestions .is-accepted")).to_contain_text("Mario Rossi")
    assert gold(world.note) == [("PATIENT", "Mario Rossi")]
    # Each goes on with suggestions that the other has not decided; both pages show the same in the end.
    # It is selected again, so that she decides again about it, not about the next one.
    expect(other.locator("#note .is-selected")).to_have_text("Mario Rossi")
    saved(other, "j", "x")  # the date
    press(opened, "j", "a")  # Torino
    expect(opened.locator("#notice")).to_contain_text("This note was changed by someone else")
    saved(opened)
    other.evaluate("window.dispatchEvent(new Event('focus'))")
    expect(other.locator("#suggestions .is-accepted")).to_have_count(2)
    assert painted(other) == painted(opened)
    assert gold(world.note) == [("PATIENT", "Mario Rossi"), ("HOSPITAL", "Torino")]
    # Having seen it, Rosa may decide differently; Rita's undo does not revert that.
    click_text(other, "Torino")
    saved(other, "x")
    press(opened, "u")
    expect(opened.locator("#notice")).to_contain_text("Later decisions changed this span")
    assert gold(world.note) == [("PATIENT", "Mario Rossi")]

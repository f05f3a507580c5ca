"""Comments, flags, guidelines next to the text, and the find bar: each used once, mostly by keys."""

from playwright.sync_api import Page, expect

from annotations.models import Comment, Flag, Label, PersonalKey, Project
from tests.browser.annotate import steps
from tests.browser.annotate.steps import TEXT, drag, hold, open_note, press, quotes, reload, saved

HOSTILE = "<img src=x onerror=\"document.title='broken'\"> \u202eעברית {{ x }}"
GUIDELINES = "# Names\n\nTitles stay **outside**.\n\n# Dates\n\nYears alone count. [Law](https://example.org/x)\n"


def said(page: Page) -> list[str]:
    return page.locator("#threads .said").all_text_contents()


def write(page: Page, text: str) -> None:
    page.locator("#comment-text").fill(text)
    page.keyboard.press("Control+Enter")
    expect(page.locator("#comment-compose")).to_be_hidden()


def test_comments(world, page_of, live):
    page = open_note(page_of(world.ann), live, world.note)
    # On the note, by a key; then on a span that was made just now.
    press(page, "m")
    expect(page.locator("#comment-compose label")).to_contain_text("On the note")
    write(page, HOSTILE)
    expect(page.locator("#threads .said")).to_have_text([HOSTILE])
    expect(page.locator("#note")).to_be_focused()
    assert page.title() != "broken"
    drag(page, "Mario Rossi")
    saved(page, "1")
    press(page, "m")
    expect(page.locator("#comment-compose label")).to_contain_text("On PATIENT: “Mario Rossi”")
    write(page, "Or his father?")
    expect(page.locator(".thread-subject").nth(1)).to_have_text("On PATIENT: “Mario Rossi”")
    commented = page.locator("#note .span.has-comment")
    expect(commented).to_have_attribute("aria-description", "has a comment")
    # The mark and the comment outlive a relabel, a delete and its undo.
    press(page, "2")
    expect(page.locator(".thread-subject").nth(1)).to_have_text("On DOCTOR: “Mario Rossi”")
    press(page, "Delete")
    expect(page.locator(".thread-subject").nth(1)).to_have_text("On a deleted span, characters 9–20")
    press(page, "Control+z")
    expect(page.locator(".thread-subject").nth(1)).to_have_text("On DOCTOR: “Mario Rossi”")
    expect(commented).to_have_count(1)
    # A click goes to the span, whose threads then stand out.
    press(page, "Escape")
    page.locator(".thread-subject").nth(1).click()
    expect(page.locator("#note .span.is-selected")).to_have_count(1)
    expect(page.locator(".thread.is-here")).to_have_count(1)
    # Answer, edit, resolve, delete.
    thread = page.locator(".thread", has_text="Or his father?")
    thread.get_by_role("button", name="Answer").click()
    write(page, "His father.")
    expect(thread.locator(".answers .said")).to_have_text("His father.")
    thread.get_by_role("button", name="Edit").first.click()
    write(page, "Or his uncle?")
    thread = page.locator(".thread", has_text="Or his uncle?")
    expect(thread).to_contain_text("edited")
    # The thread folds away with the button that had the focus.
    thread.get_by_role("button", name="Resolve").press("Enter")
    expect(page.locator("#threads summary")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator(".thread.is-resolved")).to_contain_text("resolved by ann")
    expect(commented).to_have_count(0)
    hostile = page.locator(".thread", has_text="onerror")
    hostile.get_by_role("button", name="Delete").click()
    hostile.get_by_role("button", name="Delete permanently?").click()
    expect(hostile).to_have_count(0)
    assert list(Comment.objects.order_by("pk").values_list("text", flat=True)) == ["Or his uncle?", "His father."]
    assert quotes(world.ann, world.note) == [("DOCTOR", "Mario Rossi")]
    # What is being written gives way to no other comment.
    press(page, "m")
    page.locator("#comment-text").fill("Half a")
    page.locator("#note").focus()
    press(page, "Tab", "m")
    expect(page.locator("#comment-error")).to_contain_text("first")
    thread.get_by_role("button", name="Answer").first.click()
    expect(page.locator("#comment-text")).to_have_value("Half a")
    expect(page.locator("#comment-text")).to_be_focused()
    # Another note has none of it; it waits until this one is open again.
    page.locator("#next-note").click()
    expect(page.locator("#note-name")).to_have_text("caso-002")
    expect(page.locator("#threads")).to_be_empty()
    expect(page.locator("#comment-compose")).to_be_hidden()
    page.locator("#previous-note").click()
    expect(page.locator("#comment-text")).to_have_value("Half a")
    write(page, "Half a thought.")
    expect(page.locator("#threads .said").first).to_have_text("Half a thought.")
    assert Comment.objects.get(text="Half a thought.").document == world.note


def test_flagging(world, opened):
    page = opened
    press(page, "f")
    dialog = page.locator("#flag-dialog")
    expect(dialog).to_be_visible()
    page.get_by_label("Something else").check()
    page.locator("#flag-raise").click()
    expect(page.locator("#flag-error")).to_contain_text("describe the problem in a few words")
    page.locator("#flag-text").fill(HOSTILE)
    page.locator("#flag-raise").click()
    expect(dialog).to_be_hidden()
    expect(page.locator("#note")).to_be_focused()
    expect(page.locator("#show-flag")).to_have_text("Flagged")
    expect(page.locator("#notes-items li", has_text="flagged")).to_contain_text("caso-001")
    assert Flag.objects.get().text == HOSTILE
    press(page, "f")
    expect(page.locator("#flag-text")).to_have_value(HOSTILE)
    page.locator("#flag-clear").click()
    expect(page.locator("#show-flag")).to_have_text("Flag")
    expect(page.locator("#notes-items .flagged")).to_have_count(0)
    assert page.title() != "broken"


def test_guidelines_beside_the_text(world, page_of, live):
    Project.objects.filter(pk=world.project.pk).update(guidelines=GUIDELINES, guidelines_version=3)
    page = open_note(page_of(world.ann), live, world.note)
    guide, body = page.locator("#guide"), page.locator("#guide-body")
    press(page, "g")
    expect(body).to_contain_text("Titles stay outside.")
    expect(body).to_contain_text("Version 3")
    expect(page.locator("#guide-news")).to_be_hidden()
    expect(page.locator("#guide-scroll")).to_be_focused()
    body.get_by_role("link", name="Dates").click()
    expect(body.locator("h2", has_text="Dates")).to_be_focused()
    assert body.get_by_role("link", name="Law").get_attribute("target") == "_blank"
    # Escape in it closes it, and so does the key; the focus goes back.
    press(page, "Escape")
    expect(guide).to_be_hidden()
    expect(page.locator("#note")).to_be_focused()
    Project.objects.filter(pk=world.project.pk).update(guidelines=GUIDELINES + "New rule.", guidelines_version=4)
    reload(page)
    expect(page.locator("#guidelines")).to_have_attribute("data-news", "changed")
    press(page, "g")
    expect(page.locator("#guide-news")).to_be_visible()
    expect(body).to_contain_text("New rule.")
    press(page, "g")
    expect(guide).to_be_hidden()


def test_finding_and_writing(walk_over):
    text = "\U0001f600 Rossi\r\nROSSI e Mario\r\nRossi.\r\n" + "vuoto\r\n" * 200 + "rossi"
    walk = walk_over(text, *[TEXT] * 3)
    page = walk.page
    count = page.locator("#find-count")
    press(page, "/")
    page.keyboard.type("ross")
    expect(count).to_have_text("1 of 4")
    page.keyboard.type("i")
    press(page, "Enter", "Enter")
    expect(count).to_have_text("3 of 4")
    # Nothing of the note's elements is touched: the browser paints the hits.
    assert page.evaluate("[...CSS.highlights.get('found')].map(String)") == ["Rossi", "ROSSI", "Rossi", "rossi"]
    assert page.locator("#note .line-text > *").count() == 0
    press(page, "F3")
    expect(count).to_have_text("4 of 4")
    expect(page.locator(".line").last).to_be_in_viewport()
    press(page, "Shift+Enter", "Shift+Enter")
    expect(count).to_have_text("2 of 4")
    # Where it ends is selected: a label key labels it.
    press(page, "Escape")
    expect(page.locator("#find")).to_be_hidden()
    assert walk.after("1") == [("PATIENT", "ROSSI")]
    # F3 goes on from there without the bar; a name over a line break is found too.
    press(page, "F3")
    assert page.evaluate("String(document.getSelection())") == "Rossi"
    press(page, "/")
    page.keyboard.type("mario rossi")
    expect(count).to_have_text("1 of 1")
    page.keyboard.type("zzz")
    expect(count).to_have_text("No matches")
    # F3 is the page's own key even then: the browser doesn't open its search.
    page.evaluate("addEventListener('keydown', (event) => { window.taken = event.defaultPrevented; })")
    press(page, "Escape", "F3")
    assert page.evaluate("window.taken")
    # The text stays highlighted while a comment is written.
    walk.go_on()
    about = "[...(CSS.highlights.get('about') ?? [])].map(String)"
    press(page, "ArrowRight", "ArrowRight", "Shift+ArrowRight", "m")
    page.keyboard.type("Who")
    assert page.evaluate(about) == ["Mario Rossi"]
    page.locator("#comment-text").press("Control+Enter")
    expect(page.locator("#threads li")).to_have_count(1)
    assert page.evaluate(about) == []
    # A comment is not lost with the connection.
    walk.go_on()
    press(page, "m")
    page.locator("#comment-text").fill("Kept.")
    page.context.set_offline(True)
    page.keyboard.press("Control+Enter")
    expect(page.locator("#comment-error")).to_contain_text("Your text is still here")
    page.context.set_offline(False)
    page.keyboard.press("Control+Enter")
    expect(page.locator("#threads .said")).to_have_text(["Kept."])
    assert Comment.objects.filter(document=walk.note).count() == 1


def test_writing_goes_on_when_an_answer_redraws_the_note(walk_over):
    walk = walk_over(TEXT, TEXT)
    page = walk.page
    held = hold(page, "**/spans*")
    walk.go_on()
    press(page, "ArrowRight", "ArrowRight", "Shift+ArrowRight", "m")
    page.keyboard.type("W")
    steps.wait_for_held(page, held, 1)
    with page.expect_response("**/spans*"):
        held[0].continue_()
    # The answer is taken over after the promises that wait for it.
    page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
    page.keyboard.type("ho")
    expect(page.locator("#comment-text")).to_have_value("Who")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#threads .said")).to_have_text("Who")
    # What a label's key would label now is shown again.
    assert page.evaluate("String(document.getSelection())") == "Mario Rossi"


def test_ones_own_keys(world, page_of, live):
    before = open_note(page_of(world.ann), live, world.note)
    page = open_note(page_of(beside=before), live, world.note)
    press(page, "?")
    page.get_by_role("link", name="Change the keys of my labels").click()
    page.get_by_label("Key of AGE").fill("1")
    page.get_by_role("button", name="Save keys").click()
    expect(page.locator("#messages")).to_contain_text("These labels have no key now: PATIENT.")
    assert PersonalKey.objects.count() == 1
    page.get_by_role("link", name=f"Back to {world.note.name}").click()
    page.wait_for_selector("html[data-workbench=ready]")
    expect(page.locator("#note-name")).to_have_text(world.note.name)
    drag(page, "54")
    saved(page, "1")
    assert quotes(world.ann, world.note) == [("AGE", "54")]
    # The page that was open all the while takes the keys over when somebody comes back to it.
    before.bring_to_front()
    before.evaluate("window.dispatchEvent(new Event('focus'))")
    expect(steps.label_button(before, "AGE").locator("kbd")).to_have_text("1")
    expect(steps.label_button(before, "PATIENT").locator("kbd")).to_have_count(0)
    press(before, "Control+Home", "1", "?")
    expect(before.locator("#keys-list dl > div:has(dd:text-is('AGE')) kbd")).to_have_text("1")
    saved(before)
    assert quotes(world.ann, world.note) == [("AGE", "Paziente"), ("AGE", "54")]
    # What is more than keys is told.
    Label.objects.filter(name="CITY").update(name="TOWN")
    press(before, "Escape")
    before.evaluate("window.dispatchEvent(new Event('focus'))")
    expect(before.locator("#notice")).to_contain_text("Reload the page")

"""Auto-next: after a label's key the next candidate is selected, so that a span costs one key."""

from playwright.sync_api import Page, expect

from annotations.models import AnnotationSet
from tests import factories as make
from tests.browser.annotate.steps import drag, open_note, press, quotes, reload, saved

TEXT = (
    "Nome: Mario Rossi, di 54 anni.\n"
    "Ricoverato il 12/03/2021 a Torino, visto dal dott. Rossi; inviato da Rossi.\n"
    "Torna il 20/03/2021.\n"
)


def chosen(page: Page, text: str) -> None:
    page.wait_for_function("text => document.getSelection().toString() === text", arg=text)


def test_a_key_a_span(transactional_db, page_of, live):
    project = make.make_project("covid")
    ann = make.make_member(project, user="ann")
    notes = [make.make_note(project, TEXT, f"caso-{number}", annotators=[ann]) for number in (1, 2)]
    page = open_note(page_of(ann), live, notes[0])
    switch = page.get_by_role("button", name="Move on")
    press(page, "Control+,", ",", "1")
    expect(switch).to_have_attribute("aria-pressed", "true")
    chosen(page, "54 anni")
    expect(page.locator("#selected .wb-quote")).to_have_text("54 anni")
    # Both ends of what is offered can be moved before it is labeled; a fast hand is not too fast.
    press(page, "Shift+ArrowLeft", "2", "d", "c")
    chosen(page, "Rossi")
    press(page, "Alt+ArrowLeft", "Alt+ArrowLeft", "Alt+ArrowRight", "Alt+ArrowRight", "2")
    # `*` is for the span that was labeled last; what it covers is not offered again.
    expect(page.locator("#selected .wb-hint")).to_have_text("Press * to label 1 other mention.")
    press(page, "*", "Enter")
    chosen(page, "20/03/2021")
    press(page, "Escape")
    # By mouse nothing goes on; from there keys do.
    drag(page, "Torna")
    press(page, "h")
    expect(page.locator("#note .is-selected")).to_have_text("Torna")
    press(page, ",", "d")
    expect(page.locator("#selected .wb-hint")).to_contain_text("No more candidates")
    saved(page)
    assert quotes(ann, notes[0]) == [
        ("PATIENT", "Mario Rossi"), ("DOCTOR", "54"), ("DATE", "12/03/2021"), ("CITY", "Torino"), ("DOCTOR", "Rossi"),
        ("DOCTOR", "Rossi"), ("HOSPITAL", "Torna"), ("DATE", "20/03/2021"),
    ]  # fmt: skip
    # The next note begins with its first candidate; Ctrl+Enter submits despite a selection; a reload keeps the setting.
    press(page, "Enter")
    expect(page.locator("#note-name")).to_have_text("caso-2")
    chosen(page, "Mario Rossi")
    reload(page)
    chosen(page, "Mario Rossi")
    press(page, "Control+Enter", "Control+Enter")
    expect(page.get_by_role("heading", name="You have finished all your notes")).to_be_visible()
    assert AnnotationSet.objects.filter(state="submitted").count() == 2

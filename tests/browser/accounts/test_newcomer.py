"""The way of a new annotator: from the link to the first span."""

from django.urls import reverse
from playwright.sync_api import Page

from annotations.models import Span
from annotations.projects.services.members import reset_link_path
from tests import factories as make
from tests.browser.annotate.steps import drag, press

PASSWORD = "una frase lunga 9"
# What is data of the project stays out of the count: the text of the note, names of notes, and labels with their keys.
WORDS = """() => [...document.querySelectorAll("#note, #notes-items, .wb-labels li, .wb-labels button")]
    .reduce((text, part) => text.replace(part.innerText, ""), document.body.innerText)
    .split(/\\s+/).filter(Boolean).length"""


def test_two_pages_and_few_words_lead_to_the_first_span(transactional_db, page_of, live_server):
    project = make.make_project("covid")
    manager, ada = make.make_member(project, "manager"), make.make_member(project, user="ada")
    ada.set_unusable_password()
    ada.save()
    make.make_note(project, "Anna Bianchi, di Torino.", annotators=[ada])
    page: Page = page_of()
    pages: list[str] = []
    page.on("domcontentloaded", lambda: pages.append(page.url))
    page.goto(live_server.url + reset_link_path(project=project, user=ada, actor=manager))
    words = page.evaluate(WORDS)
    page.get_by_label("Password", exact=False).first.fill(PASSWORD)
    page.get_by_label("Password", exact=False).last.fill(PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_selector("html[data-workbench=ready]")
    words += page.evaluate(WORDS)
    drag(page, "Anna Bianchi")
    press(page, "1")
    page.wait_for_selector("#save-state[data-save=saved]")
    assert Span.objects.count() == 1
    assert len(pages) == 2 and reverse("next_note", args=["covid"]) not in pages[0]
    assert words <= 120, words

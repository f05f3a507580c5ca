"""Sign-in, the second factor, the frame of every page, and the way of a new annotator, in Chromium."""

import time

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from annotations.models import Role, Span
from annotations.projects.services.members import reset_link_path
from tests import factories as make
from tests.browser.annotate.steps import drag, press
from tests.browser.widths import fits
from tests.factories import PASSWORD, make_member, make_project, make_user
from tests.worlds.signing_in import totp

pytestmark = pytest.mark.django_db(transaction=True)


def sign_in(page: Page) -> None:
    """Sign in by keyboard alone: the first field has the focus once the page is ready."""
    expect(page.get_by_label("Username")).to_be_focused()
    page.keyboard.type("ada")
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")


def fill_focused(page: Page, text: str) -> None:
    """Wait for a focused field, type into it, and send the form."""
    expect(page.locator("input:focus")).to_be_visible()
    page.keyboard.type(text)
    page.keyboard.press("Enter")


def test_from_sign_in_to_the_second_factor_and_out(page_of, live):
    make_user("ada")
    page = page_of()
    page.goto(live("account_change_password"))
    sign_in(page)
    expect(page.get_by_role("heading", name="Change password")).to_be_visible()

    page.get_by_text("Account menu").locator("..").click()
    page.get_by_role("link", name="Two-factor sign-in").click()
    page.get_by_role("link", name="Set up").click()
    fill_focused(page, PASSWORD)
    expect(page.get_by_alt_text("QR code")).to_be_visible()
    # The picture is shown, since the policy allows data: URLs.
    assert page.evaluate("document.querySelector('.qr').naturalWidth") > 0
    secret = page.locator("code.secret").inner_text()
    fill_focused(page, totp(secret, time.time()))
    expect(page.get_by_role("list", name="Unused codes").get_by_role("listitem")).to_have_count(10)
    recovery = page.get_by_role("list", name="Unused codes").get_by_role("listitem").first.inner_text()

    page.get_by_text("Account menu").locator("..").click()
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url(live("account_login"))
    sign_in(page)
    expect(page.get_by_role("heading", name="Second step")).to_be_visible()
    fill_focused(page, recovery)
    page.wait_for_url(live("projects"))


def test_the_frame_of_every_page(page_of, live, axe):
    """The skip link comes first, the theme is kept, the menu closes, and the open tab is in sight."""
    page = page_of(make_member(make_project("covid"), Role.MANAGER), "mfa_index", color_scheme="light")
    page.keyboard.press("Tab")
    link = page.get_by_role("link", name="Skip to content")
    expect(link).to_be_focused()
    expect(link).to_be_in_viewport()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"

    menu = page.get_by_text("Account menu").locator("..")
    menu.click()
    page.get_by_role("button", name="Dark").click()
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Dark")).to_be_hidden()
    expect(menu).to_be_focused()
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    menu.click()
    expect(page.get_by_role("button", name="Dark")).to_have_attribute("aria-pressed", "true")
    assert axe(page) == []
    page.mouse.click(300, 600)
    expect(page.get_by_role("button", name="Dark")).to_be_hidden()

    page.set_viewport_size({"width": 780, "height": 844})
    page.goto(live("export", "covid"))
    for current in page.locator(".project-nav [aria-current]").all():
        expect(current).to_be_in_viewport()
    assert fits(page)


def test_an_htmx_request_that_fails_says_so(page_of, axe, settings):
    page = page_of(make_user("ada"), "mfa_index")
    # htmx also writes its errors to the console, which would fail this test.
    page.evaluate("console.error = () => {}")
    # As on a page: the element exists, htmx sends a request, and the response is an error.
    page.evaluate("htmx.ajax('GET', '/nowhere', {target: '#main'})")
    expect(page.get_by_role("status")).to_contain_text("no longer exists")
    page.evaluate("htmx.ajax('GET', '/?a=%00', {target: '#main'})")
    expect(page.locator("#messages")).to_contain_text("a character that can't be stored")
    settings.REQUESTS_PER_WINDOW = 0
    page.evaluate("htmx.ajax('GET', '/', {target: '#main'})")
    expect(page.locator("#messages")).to_contain_text("Wait a few seconds, then try again.")
    assert axe(page) == []
    page.context.set_offline(True)
    page.evaluate("htmx.ajax('GET', '/healthz', {target: '#main'}).catch(() => {})")
    expect(page.get_by_role("status")).to_contain_text("can't be reached")


# ── The way of a new annotator: from the link to the first span ──


CHOSEN = "una frase lunga 9"
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
    page.get_by_label("Password", exact=False).first.fill(CHOSEN)
    page.get_by_label("Password", exact=False).last.fill(CHOSEN)
    page.keyboard.press("Enter")
    page.wait_for_selector("html[data-workbench=ready]")
    words += page.evaluate(WORDS)
    drag(page, "Anna Bianchi")
    press(page, "1")
    page.wait_for_selector("#save-state[data-save=saved]")
    assert Span.objects.count() == 1
    assert len(pages) == 2 and reverse("next_note", args=["covid"]) not in pages[0]
    assert words <= 120, words

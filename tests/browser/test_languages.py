"""The interface in a pseudo-language: Latin letters outside ⟦brackets⟧ are texts not marked for translation.

All data of these tests are Greek, so that Latin letters belong to the interface.
"""

from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotations.models import Assignment, LabelSet, Role, Span
from tests import factories as make
from tests.browser.annotate.steps import click_text, open_note, press
from tests.languages import SCRIPT, bracket_marked_texts

LABELS = [("ΟΝΟΜΑ", [("ΑΣΘΕΝΗΣ", "1"), ("ΙΑΤΡΟΣ", "2")]), ("ΧΡΟΝΟΣ", [("ΗΜΕΡΟΜΗΝΙΑ", "d")])]
TEXT = "Ο Μάριος Ρόσσι, 54 ετών, ήρθε στις 12/03/2021.\r\nΤον είδε ο Δρ. Κόντης.\r\n"
# Elements that may contain Latin letters outside brackets: selectors, each with its reason.
NOT_WORDS = {
    "kbd": "names of keys, as printed on keyboards",
    "code, .mono, pre": "codes, commands and other machine-readable text",
    ".brand, .site-foot": "the app's name",
    ".swatch, .ad-mark[aria-hidden]": "a letter that shows how a label is underlined",
    ".note.is-plain[aria-hidden]": "the sign-in page's picture of a note, which has a lang attribute",
    "#languages option": "languages under their own names",
    "time:not([data-said])": "times that the browser writes, in its own language",
}
# Latin words allowed inside a sentence, a button or a title: names; codes of causes, languages, queues, backends.
FORMAT_NAMES = (
    "doccano|Label Studio|Prodigy|WebAnno TSV|UIMA CAS (?:XMI|JSON)|GATE XML|IOB1|BIOES|spaCy DocBin|"
    "Hugging Face datasets|BioC (?:XML|JSON)|Web Annotation|PubTator|PubAnnotation|UTF-16"
)
NAMES = FORMAT_NAMES + r"|deidreview|brat|CoNLL|JSONL|BIO|UTF-8|L\d+|\.txt|\b(?:AB|AM|D|S|el|cpu|gpu|llm|rules)\b"

UNMARKED = """([skipped, names]) => {
    const found = [];
    const latin = (text) => /\\p{Script=Latin}/u.test(text);
    const bare = (text, depth = 0) => {
        let rest = "";
        for (const character of text) {
            if (character === "⟦") depth += 1;
            else if (character === "⟧") depth -= 1;
            else if (depth <= 0) rest += character;
        }
        return [rest.replace(new RegExp(names, "g"), ""), depth];
    };
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    let depth = 0;
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const parent = node.parentElement;
        if (parent.closest("script, style, noscript")) continue;
        const [rest, after] = bare(node.data, depth);
        depth = after;
        if (!latin(rest) || parent.closest(skipped)) continue;
        found.push(`${parent.tagName} ${parent.className}: ${node.data.trim()}`);
    }
    if (depth !== 0) found.push(`brackets left open: ${depth}`);
    const attributes = ["aria-label", "title", "placeholder", "alt", "aria-description", "aria-valuetext"];
    for (const element of document.body.querySelectorAll(attributes.map((name) => `[${name}]`).join())) {
        for (const name of attributes) {
            const [rest] = bare(element.getAttribute(name) ?? "");
            if (!latin(rest) || element.closest(skipped)) continue;
            found.push(`${element.tagName}[${name}]: ${element.getAttribute(name)}`);
        }
    }
    const [title] = bare(document.title);
    if (latin(title)) found.push(`title: ${document.title}`);
    return [...new Set(found)];
}"""


def unmarked(page: Page) -> list[str]:
    found: list[str] = page.evaluate(UNMARKED, [", ".join(NOT_WORDS), NAMES])
    return found


def check(page: Page) -> None:
    found = unmarked(page)
    assert not found, "\n".join([page.url, *found])


@pytest.fixture
def world(live_server, settings, tmp_path, monkeypatch):
    bracket_marked_texts(monkeypatch)
    settings.REDIS_URL = f"unix://{tmp_path}/nothing.sock"
    project = make.make_project("dokimi", labels=LABELS, name="Δοκιμή", guidelines="# Ονόματα\n\nΌλα.")
    LabelSet.objects.filter(project=project).update(name="Ετικέτες")
    anna, bruno = (make.make_member(project, user=name) for name in ("Άννα", "Μπρούνο"))
    boss = make.make_member(project, Role.MANAGER, "Μαρία")
    notes = [make.make_note(project, TEXT, f"σημείωμα-{n}", annotators=[anna, bruno], language="el") for n in (1, 2, 3)]
    make.make_set(notes[0], anna, [(2, 14, "ΑΣΘΕΝΗΣ"), (35, 45, "ΗΜΕΡΟΜΗΝΙΑ")], submitted=True)
    make.make_set(notes[0], bruno, [(2, 14, "ΙΑΤΡΟΣ"), (35, 45, "ΗΜΕΡΟΜΗΝΙΑ")], submitted=True)
    Assignment.objects.filter(document=notes[0]).update(state="done")
    author = make.make_author(project, kind="run", name="ανάγνωση")
    annotation_set = make.make_set(notes[1], author, [(2, 14, "ΑΣΘΕΝΗΣ"), (64, 70, "ΙΑΤΡΟΣ")], submitted=True)
    Span.objects.filter(annotation_set=annotation_set).update(confidence=0.8, source="κανόνας")
    return SimpleNamespace(project=project, anna=anna, boss=boss, notes=notes, author=author)


def opened(page_of: Any, person: Any) -> Page:
    page: Page = page_of(person, locale="en-GB")
    page.add_init_script(SCRIPT)
    return page


def test_what_scripts_write(world, page_of, live):
    page = open_note(opened(page_of, world.anna), live, world.notes[1])
    check(page)
    click_text(page, "Μάριος", click_count=2)
    check(page)
    press(page, "F2")
    expect(page.locator("#palette")).to_be_visible()
    check(page)
    press(page, "1")
    expect(page.locator("#save-state")).to_have_text("⟦Saved⟧")
    expect(page.locator("#count")).to_have_text("⟦1 span⟧")
    check(page)
    press(page, "m")
    page.locator("#comment-text").fill("Μια λέξη.")
    press(page, "Control+Enter")
    expect(page.locator("#threads li")).to_have_count(1)
    check(page)
    press(page, "/")
    page.locator("#find-text").fill("Κόντης")
    check(page)
    press(page, "Escape")
    press(page, "g")
    expect(page.locator("#guide-body h1, #guide-body h2, #guide-body h3").first).to_be_visible()
    check(page)
    press(page, "Escape", "?")
    expect(page.locator("#keys")).to_be_visible()
    check(page)
    # The page of a review, of an adjudication, and of an import, by a manager.
    page = opened(page_of, world.boss)
    page.goto(live("review", "dokimi", world.author.pk, world.notes[1].pk))
    page.wait_for_selector("html[data-review=ready]")
    check(page)
    press(page, "a", "x")
    expect(page.locator("#save-state")).to_have_text("⟦Saved⟧")
    press(page, "k", "?")
    expect(page.locator("#keys")).to_be_visible()
    check(page)
    page.goto(live("adjudicate", "dokimi", world.notes[0].pk))
    page.wait_for_selector("html[data-adjudicate=ready]")
    check(page)
    press(page, "1", "k", "?")
    expect(page.locator("#keys")).to_be_visible()
    check(page)
    page.goto(live("import", "dokimi"))
    sent: list[str] = []
    page.on("request", lambda request: request.method == "POST" and sent.append(request.url))
    page.locator("form#upload button[type=submit]").click()
    expect(page.locator("#upload-errors li")).to_have_text("⟦Choose at least one file, a folder, or a zip.⟧")
    assert sent == [], "the page says so itself"
    files = [{"name": f"σημείωμα-{n}.txt", "mimeType": "text/plain", "buffer": b"1"} for n in range(8)]
    page.locator("input[name=files]").set_input_files(files)
    expect(page.locator("#chosen strong")).to_be_visible()
    check(page)
    # The pages before signing in.
    page.context.clear_cookies()
    for name in ("account_login", "account_reset_password", "account_signup"):
        page.goto(live(name))
        assert "⟦" in page.title() + page.inner_text("main")
        check(page)

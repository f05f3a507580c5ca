"""Imports in Chromium: files dropped and chosen, errors before anything is sent, no script, documents on a phone."""

from types import SimpleNamespace
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotations.core.services import silent
from annotations.exchange.services.importing import run_import
from annotations.models import Document, Import, Span
from tests import factories as make
from tests.browser.widths import PHONE, fits
from tests.exchange.brat_files import pdf
from tests.zips import zipped

STRANGE = "\ufeffRiga uno\r\nriga\tdue\r\n e\u0301 \U0001fa7a \u202eabc\u202c  \r\n"


@pytest.fixture
def world(transactional_db):
    project = make.make_project("covid")
    make.make_member(project, user="ann")
    return SimpleNamespace(project=project, mia=make.make_member(project, "manager", "mia"))


@pytest.fixture
def opened(world, page_of):
    return page_of(world.mia, "import", "covid")


@pytest.fixture
def folder(tmp_path):
    """Two notes in folders, one with annotations, and what a file manager leaves behind."""
    for name, content in {
        "set/a/uno.txt": STRANGE, "set/b/uno.txt": "Anna Neri", "set/b/uno.ann": "T1\tPATIENT 0 4\tAnna\n",
        "set/.DS_Store": "x",
    }.items():  # fmt: skip
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode())
    return tmp_path / "set"


DROP = """async (files) => {
    const transfer = new DataTransfer();
    for (const [name, text] of files) transfer.items.add(new File([text], name));
    const zone = document.getElementById("dropzone");
    zone.dispatchEvent(new DragEvent("dragover", { dataTransfer: transfer, bubbles: true, cancelable: true }));
    zone.dispatchEvent(new DragEvent("drop", { dataTransfer: transfer, bubbles: true, cancelable: true }));
}"""


def choose(page: Page, button: str, files: Any) -> None:
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name=button).click()
    chooser.value.set_files(files)


def preview(page: Page) -> Import:
    page.get_by_role("button", name="Preview import").first.click()
    page.wait_for_url("**/import/*/")
    return Import.objects.latest("id")


def run(row: Import) -> None:
    run_import(import_id=row.pk, progress=silent)


def test_files_are_dropped(opened, settings):
    """Nothing wrong is sent, an error keeps the chosen files, and a double click stages one import."""
    settings.UPLOAD_MAX_BYTES = 1024 * 1024
    opened.reload()
    button, alert = opened.get_by_role("button", name="Preview import").first, opened.get_by_role("alert")
    posts: list[str] = []
    opened.on("request", lambda request: posts.append(request.url) if request.method == "POST" else None)
    opened.evaluate(DROP, [["big.txt", "x" * (1024 * 1024 + 1)]])
    expect(alert).to_contain_text("at most 1 MB are allowed")
    button.click()
    expect(alert).to_contain_text("at most 1 MB")
    opened.get_by_role("button", name="Clear").click()
    expect(opened.locator("#chosen")).to_be_empty()
    button.click()
    expect(alert).to_contain_text("Choose at least one file")
    assert posts == []

    opened.evaluate(DROP, [["notes.zip", "this is no zip"]])
    button.click()
    expect(alert).to_contain_text("not a readable zip")
    expect(opened.locator("#chosen")).to_contain_text("notes.zip")
    assert not Import.objects.exists()

    opened.get_by_role("button", name="Clear").click()
    opened.evaluate(DROP, [["uno.txt", "Anna Neri"], ["uno.ann", "T1\tPATIENT 0 4\tAnna\n"], [".hidden", "x"]])
    expect(opened.locator("#chosen")).to_contain_text("2 files")
    opened.route("**/import/", lambda route: route.abort() if route.request.method == "POST" else route.continue_())
    button.click()
    expect(alert).to_contain_text("The connection was lost")
    expect(opened.locator("#chosen")).to_contain_text("2 files")
    opened.unroute("**/import/")
    button.dblclick()
    opened.wait_for_url("**/import/*/")
    expect(opened.get_by_role("heading", level=1)).to_have_text("Import preview")
    assert not Document.objects.exists()
    run(Import.objects.get())
    opened.reload()
    expect(opened.get_by_role("link", name="uno")).to_be_visible()


def test_folders_and_many_files_arrive_unchanged(opened, live, folder, settings):
    choose(opened, "Choose a folder", folder)
    expect(opened.locator("#chosen")).to_contain_text("3 files")
    run(preview(opened))
    assert dict(Document.objects.values_list("name", "text")) == {"a/uno": STRANGE, "b/uno": "Anna Neri"}

    # More files than a form may have are sent as one zip.
    settings.DATA_UPLOAD_MAX_NUMBER_FILES = 3
    opened.goto(live("import", "covid"))
    opened.evaluate(DROP, [[f"è {n}.txt", f"{STRANGE}{n}"] for n in range(5)])
    row = preview(opened)
    assert row.stored_file.name == "files.zip"
    run(row)
    assert Document.objects.get(name="è 4").text == f"{STRANGE}4"
    assert Document.objects.count() == 7


def test_a_zip_with_unknown_labels_by_keyboard(world, page_of, tmp_path, axe):
    path = tmp_path / "notes.zip"
    annotations = "T1\tPATIENTS 0 4\tAnna\nT2\tDRAGON 5 9\tNeri\n"
    path.write_bytes(zipped({"set/uno.txt": b"Anna Neri", "set/uno.ann": annotations.encode()}))
    page = page_of(world.mia, "import", "covid", **PHONE)
    button = page.get_by_role("button", name="Choose files")
    button.focus()
    expect(button).to_be_focused()
    with page.expect_file_chooser() as chooser:
        page.evaluate("1")  # after one round trip to the browser, file choosers go to the test
        page.keyboard.press("Enter")
    chooser.value.set_files([path])
    expect(page.locator("#chosen")).to_contain_text("1 file,")
    page.locator("summary", has_text="Options").press("Enter")
    page.get_by_label("Language of the notes").first.focus()
    page.keyboard.type("it")
    page.keyboard.press("Enter")
    page.wait_for_url("**/import/*/")
    row = Import.objects.get()
    assert row.language == "it"
    expect(page.get_by_label("another format")).to_have_value("brat")
    page.get_by_role("button", name="Start import").press("Enter")
    expect(page.get_by_role("heading", name="Import preview")).to_be_visible()  # nobody said whose the spans are
    page.get_by_label("Gold standard").press("Space")
    page.get_by_label("PATIENTS").select_option("PATIENT")
    page.get_by_label("DRAGON").select_option("Skip its spans")
    assert axe(page) == [] and fits(page)
    page.get_by_role("button", name="Save choices").press("Enter")
    expect(page.get_by_label("DRAGON")).to_have_value("skip")
    page.get_by_role("button", name="Start import").press("Enter")
    page.wait_for_url("**/jobs/**")
    run(row)
    spans = Span.objects.filter(annotation_set__document__name="uno")
    assert list(spans.values_list("start", "label__code")) == [(0, "PATIENT")]


# ── Documents in Chromium on a phone: options, preview beside pages, and the source on the page of a note ──


def test_a_pdf_is_previewed_imported_and_shown(world: SimpleNamespace, page_of: Any, live: Any) -> None:
    page: Page = page_of(world.mia, "import", "covid", **PHONE)
    written = pdf("First page of Anna Neri. " * 20, "Second page.")
    page.locator("input[type=file]").first.set_input_files(
        {"name": f"{'long-name-' * 8}.pdf", "mimeType": "application/pdf", "buffer": written}
    )
    page.locator("summary", has_text="Options").first.click()
    page.get_by_label("Encoding of text").select_option("cp1252")
    page.get_by_label("Remove soft hyphens").check()
    assert fits(page)
    page.get_by_role("button", name="Preview import").first.click()
    page.wait_for_url("**/import/*/")
    expect(page.get_by_role("rowheader", name="page 2")).to_be_visible()
    expect(page.get_by_label("Remove soft hyphens")).to_be_checked()
    assert fits(page)
    page.get_by_label("Remove soft hyphens").uncheck()
    page.get_by_role("button", name="Read the documents again").click()
    expect(page.get_by_label("Remove soft hyphens")).not_to_be_checked()
    run_import(import_id=Import.objects.get().pk, progress=silent)
    page.goto(live("note", "covid", Document.objects.get().pk))
    expect(page.get_by_role("rowheader", name="page 2")).to_be_visible()
    assert fits(page)
    with page.expect_download() as download:
        page.get_by_role("link", name="Download original").click()
    assert download.value.suggested_filename.endswith(".pdf")
    assert download.value.path().read_bytes() == written

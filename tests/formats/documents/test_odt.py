"""ODT: headers, body, notes and footers; what is left out and said."""

import pytest

from tests.formats.documents.helpers import mapped, read, refusal
from tests.zips import zipped

NAMES = {"office": "office", "text": "text", "table": "table", "style": "style", "draw": "drawing"}
SPACES = " ".join(f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{full}:1.0"' for name, full in NAMES.items())
MANIFEST = "<manifest xmlns='urn:x'><file-entry><encryption-data/></file-entry></manifest>"
ENTITY = '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/hostname">]><x>&e;</x>'


def odt(body, styles="", **more):
    text = f"<office:body><office:text>{body}</office:text></office:body>"
    pages = f"<office:master-styles><style:master-page>{styles}</style:master-page></office:master-styles>"
    content = f"<office:document-content {SPACES}>{text}</office:document-content>"
    style = f"<office:document-styles {SPACES}>{pages}</office:document-styles>"
    files = {"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": content, "styles.xml": style}
    return zipped(files | more)


BODIES = [
    ("<text:h>Title</text:h><text:p>D.  José\n  Núñez</text:p>", "Title\nD. José Núñez"),
    ('<text:p>a<text:s text:c="3"/>b<text:tab/>c<text:line-break/>d</text:p>', "a   b\tc\nd"),
    ("<text:p>a<text:span>b<text:span>c</text:span>d</text:span>e</text:p>", "abcde"),
    ("<text:list><text:list-item><text:p>one</text:p></text:list-item></text:list><text:p>two</text:p>", "one\ntwo"),
    (
        "<table:table><table:table-row><table:table-cell><text:p>a</text:p><text:p>b</text:p></table:table-cell>"
        '<table:table-cell table:number-columns-repeated="2"/>'
        "<table:table-cell><text:p>d</text:p></table:table-cell>"
        "</table:table-row></table:table>",
        "a\nb\t\t\td",
    ),
    ("<text:section><text:p>in section</text:p></text:section>", "in section"),
]


@pytest.mark.parametrize(("body", "text"), BODIES)
def test_paragraphs_spaces_and_tables(body, text):
    assert mapped(read("a.odt", odt(body))) == [("body", text)]


def test_parts_in_reading_order():
    def note(kind, text):
        body = f"<text:note-body><text:p>{text}</text:p></text:note-body>"
        return f'<text:note text:note-class="{kind}"><text:note-citation>1</text:note-citation>{body}</text:note>'

    box = "<draw:frame><draw:text-box><text:p>boxed</text:p></draw:text-box></draw:frame>"
    body = f"<text:p>a{note('footnote', 'foot')}b{note('endnote', 'end')}c{box}</text:p>"
    styles = "<style:header><text:p>HEAD</text:p></style:header><style:footer><text:p>FOOT</text:p></style:footer>"
    assert mapped(read("a.odt", odt(body, styles))) == [
        ("header", "HEAD"), ("body", "abc"), ("text box 1", "boxed"), ("footnote 1", "foot"), ("endnote 1", "end"),
        ("footer", "FOOT"),
    ]  # fmt: skip


def test_what_is_left_out_is_said():
    body = (
        "<text:tracked-changes><text:changed-region><text:deletion><text:p>gone</text:p></text:deletion>"
        "</text:changed-region></text:tracked-changes>"
        "<text:p>kept<office:annotation><text:p>comment</text:p></office:annotation></text:p>"
    )
    note = read("a.odt", odt(body, **{"Basic/x.xml": "", "Pictures/1.png": ""}))
    assert note.text == "kept"
    parts = ("comments", "1 tracked deletion", "macros", "pictures")
    assert [part in warning for part, warning in zip(parts, note.warnings, strict=True)] == [True] * 4


BROKEN = [
    (odt(""), "no text"), (odt("<text:p>"), "damaged"), (zipped({"mimetype": "", "content.xml": ENTITY}), "entities"),
    (odt("<text:p>x</text:p>", **{"META-INF/manifest.xml": MANIFEST}), "encrypted"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "code"), BROKEN)
def test_broken_and_hostile_documents_are_refused(data, code):
    assert refusal("a.odt", data).code == code


def test_repeated_cells_do_not_fill_memory():
    cell = '<table:table-cell table:number-columns-repeated="999999999"><text:p>x</text:p></table:table-cell>'
    row = f'<table:table-row table:number-rows-repeated="999999999">{cell}</table:table-row>'
    assert len(read("a.odt", odt(f"<table:table>{row}</table:table>")).text) < 3_000_000

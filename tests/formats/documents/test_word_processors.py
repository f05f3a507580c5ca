"""DOCX, ODT and RTF: what is read in which order, and what is left out and said."""

import pytest

from annotations.formats.documents import word as packages
from fixtures.quality.written_documents import docx as written_docx
from tests.formats.documents.helpers import RELATIONS, docx, mapped, p, read, refusal, said, word
from tests.zips import unzipped, zipped


def notes(tag, *texts):
    separator = f'<w:{tag} w:type="separator" w:id="-1"><w:p><w:r><w:separator/></w:r></w:p></w:{tag}>'
    some = "".join(f'<w:{tag} w:id="{n}">{p(text)}</w:{tag}>' for n, text in enumerate(texts, 1))
    return word(f"{tag}s", separator + some)


def test_headers_body_footers_and_notes_in_reading_order():
    section = '<w:sectPr><w:headerReference r:id="r1"/><w:footerReference r:id="r2"/></w:sectPr>'
    second = '<w:sectPr><w:headerReference r:id="r3"/><w:footerReference r:id="r2"/></w:sectPr>'
    body = f"{p('one')}<w:p><w:pPr>{section}</w:pPr><w:r><w:t>two</w:t></w:r></w:p>{p('three')}{second}"
    parts = {
        "h1.xml": ("header", word("hdr", p("first header"))),
        "f1.xml": ("footer", word("ftr", p("footer"))),
        "h2.xml": ("header", word("hdr", p("second header"))),
        "footnotes.xml": ("footnotes", notes("footnote", "note a", "note b")),
        "endnotes.xml": ("endnotes", notes("endnote", "the end")),
    }
    assert mapped(read("a.docx", docx(body, parts))) == [
        ("header", "first header"), ("body", "one\ntwo"), ("footer", "footer"), ("header", "second header"),
        ("body", "three"), ("footnote 1", "note a"), ("footnote 2", "note b"), ("endnote 1", "the end"),
    ]  # fmt: skip


def run(content):
    return f"<w:p><w:r><w:t>a</w:t></w:r>{content}<w:r><w:t>z</w:t></w:r></w:p>"


RUNS = [
    ("<w:r><w:tab/><w:br/><w:noBreakHyphen/><w:cr/></w:r>", "a\t\n\u2011\nz"),
    ('<w:r><w:t xml:space="preserve">  b  </w:t></w:r>', "a  b  z"),
    ("<w:ins><w:r><w:t>b</w:t></w:r></w:ins>", "abz"),
    ("<w:del><w:r><w:delText>gone</w:delText></w:r></w:del>", "az"),
    ("<w:hyperlink><w:r><w:t>b</w:t></w:r></w:hyperlink>", "abz"),
    ('<w:r><w:instrText>HYPERLINK "mailto:x"</w:instrText></w:r>', "az"),
    ('<w:fldSimple w:instr="DATE"><w:r><w:t>1 May</w:t></w:r></w:fldSimple>', "a1 Mayz"),
    ("<w:sdt><w:sdtPr/><w:sdtContent><w:r><w:t>b</w:t></w:r></w:sdtContent></w:sdt>", "abz"),
    ('<w:r><w:sym w:font="Wingdings" w:char="F0FC"/><w:sym w:char="2265"/></w:r>', "a\ufffd≥z"),
    ("<w:smartTag><w:r><w:t>José</w:t></w:r></w:smartTag>", "aJoséz"),
]


@pytest.mark.parametrize(("content", "text"), RUNS)
def test_runs(content, text):
    assert read("a.docx", docx(run(content))).text == text


def test_a_text_box_is_read_once_and_after_its_paragraph():
    box = "<w:txbxContent><w:p><w:r><w:t>boxed</w:t></w:r></w:p></w:txbxContent>"
    mc = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    choices = f"<mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback>"
    both = f"<w:r><mc:AlternateContent {mc}>{choices}</mc:AlternateContent></w:r>"
    assert mapped(read("a.docx", docx(run(both)))) == [("body", "az"), ("text box 1", "boxed")]


def test_tables_with_nested_tables_and_controls():
    def table(*rows):
        cells = ("".join(f"<w:tc>{cell}</w:tc>" for cell in row) for row in rows)
        return f"<w:tbl><w:tblPr/>{''.join(f'<w:tr>{row}</w:tr>' for row in cells)}</w:tbl>"

    inner = table((p("x"), p("y")))
    body = table((p("a") + p("b"), inner), (p(""), p("d")))
    assert read("a.docx", docx(body)).text == "a\nb\tx\ty\n\td"
    control = f"<w:sdt><w:sdtContent>{p('in control')}</w:sdtContent></w:sdt>"
    assert read("a.docx", docx(control)).text == "in control"


def test_what_is_left_out_is_said():
    body = run("<w:del><w:r><w:delText>x</w:delText></w:r></w:del><w:r><w:rPr><w:vanish/></w:rPr><w:t>h</w:t></w:r>")
    parts = {"comments.xml": ("comments", word("comments", p("c"))), "media/i.png": ("image", "")}
    note = read("a.docm", docx(body, parts | {"o.bin": ("oleObject", "")}, {"word/vbaProject.bin": b"macro"}))
    assert note.text == "ahz"
    parts = ("macros", "1 tracked deletion", "hidden text (1 ", "comments", "embedded", "pictures")
    assert [part in warning for part, warning in zip(parts, said(note), strict=True)] == [True] * 6


def test_strict_documents_are_read():
    """Strict OOXML has other namespaces."""
    files = unzipped(docx(p("strict")))
    usual, strict = b"schemas.openxmlformats.org/wordprocessingml/2006", b"purl.oclc.org/ooxml"
    assert read("a.docx", zipped({name: data.replace(usual, strict) for name, data in files.items()})).text == "strict"


ENTITIES = {
    "external": '<!DOCTYPE w:document [<!ENTITY x SYSTEM "file:///etc/hostname">]>',
    "parameter": '<!DOCTYPE w:document [<!ENTITY % x SYSTEM "http://127.0.0.1/x"> %x;]>',
    "laughs": '<!DOCTYPE w:document [<!ENTITY a "ha"><!ENTITY x "&a;&a;&a;&a;&a;&a;&a;&a;">]>',
    "external type": '<!DOCTYPE w:document SYSTEM "http://127.0.0.1/x.dtd">',
}


@pytest.mark.parametrize("kind", ENTITIES)
def test_entities_and_document_types_are_refused(kind):
    reference = "&x;" if kind in ("external", "laughs") else ""
    xml = ENTITIES[kind] + word("document", f"<w:body>{p('text ' + reference)}</w:body>")
    problem = refusal("a.docx", zipped(unzipped(docx("")) | {"word/document.xml": xml}))
    assert (problem.file, problem.code, "word/document.xml" in problem.message) == ("a.docx", "entities", True)


def test_a_bomb_and_many_levels_are_refused(monkeypatch):
    deep = "<w:smartTag>" * 5000 + "<w:r><w:t>x</w:t></w:r>" + "</w:smartTag>" * 5000
    assert refusal("a.docx", docx(run(deep))).code == "nesting"
    monkeypatch.setattr(packages, "MOST_BYTES", 1 << 20)
    assert refusal("a.docx", docx(p("a" * (2 << 20)))).code == "bomb"


BROKEN_DOCX = [
    (docx(""), "no text"), (docx("<w:p>"), "damaged"), (written_docx(1).data[:-30], "damaged"),
    (written_docx(1).data[:5000], "damaged"), (zipped({"[Content_Types].xml": "", "word/x.xml": ""}), "damaged"),
    (zipped({"[Content_Types].xml": "", "xl/workbook.xml": ""}), "unknown kind"),
]  # fmt: skip


def test_relations_cannot_leave_the_archive():
    relation = '<Relationship Id="r1" Type="x/officeDocument" Target="../../../../etc/passwd"/>'
    rels = f'<Relationships xmlns="{RELATIONS}">{relation}</Relationships>'
    assert refusal("a.docx", zipped({"[Content_Types].xml": "", "word/a": "", "_rels/.rels": rels})).code == "damaged"


# ODT


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


def test_what_is_left_out_of_odt_is_said():
    body = (
        "<text:tracked-changes><text:changed-region><text:deletion><text:p>gone</text:p></text:deletion>"
        "</text:changed-region></text:tracked-changes>"
        "<text:p>kept<office:annotation><text:p>comment</text:p></office:annotation></text:p>"
    )
    note = read("a.odt", odt(body, **{"Basic/x.xml": "", "Pictures/1.png": ""}))
    assert note.text == "kept"
    parts = ("comments", "1 tracked deletion", "macros", "pictures")
    assert [part in warning for part, warning in zip(parts, said(note), strict=True)] == [True] * 4


BROKEN_ODT = [
    (odt(""), "no text"), (odt("<text:p>"), "damaged"), (zipped({"mimetype": "", "content.xml": ENTITY}), "entities"),
    (odt("<text:p>x</text:p>", **{"META-INF/manifest.xml": MANIFEST}), "encrypted"),
]  # fmt: skip


BROKEN_RTF = [(b"{\\rtf1 }", "no text"), (b"{\\rtf1 " + b"{" * 100_000, "nesting"), (b"no rtf", "damaged")]
BROKEN = {"a.docx": BROKEN_DOCX, "a.odt": BROKEN_ODT, "a.rtf": BROKEN_RTF}


@pytest.mark.parametrize(("name", "data", "code"), [(name, *row) for name, rows in BROKEN.items() for row in rows])
def test_broken_and_hostile_documents_are_refused(name, data, code):
    assert refusal(name, data).code == code


def test_repeated_cells_do_not_fill_memory():
    cell = '<table:table-cell table:number-columns-repeated="999999999"><text:p>x</text:p></table:table-cell>'
    row = f'<table:table-row table:number-rows-repeated="999999999">{cell}</table:table-row>'
    assert len(read("a.odt", odt(f"<table:table>{row}</table:table>")).text) < 3_000_000


# RTF


def rtf(content):
    return rb"{\rtf1\ansi\ansicpg1252\deff0 %b}" % (content if isinstance(content, bytes) else content.encode("cp1252"))


TEXTS = [
    (r"D. Jos\'e9 Mu\'f1oz\par Second \b bold\b0  line", "D. José Muñoz\nSecond bold line"),
    (r"\u321?\'f3d\u378? \u-10179?\u-8704? end", "Łódź 😀 end"),
    (r"\uc2\u233ab c\uc0\u233 d", "é céd"),
    (r"{\uc1\u8364\'80}5", "€5"),
    (r"a\tab b\line c\emdash d\~e\_f", "a\tb\nc—d\xa0e\u2011f"),
    (r"\{braces\} and \\ slash", "{braces} and \\ slash"),
    (r"\trowd a\cell b\cell\row\trowd c\cell\cell\row after", "a\tb\nc\t\nafter"),
    (r"{\field{\*\fldinst HYPERLINK x}{\fldrslt shown}}", "shown"),
    (r"{\*\unknown dropped}kept{\*\bkmkstart b}{\pict 0102ff}", "kept"),
    (r"{\deleted gone}kept\deleted gone\deleted0 too", "kepttoo"),
    ("x{\\bin4 }}{{}z", "xz"),  # four bytes that look like groups
    ("line\n breaks in\r\n the file do not count", "line breaks in the file do not count"),
    (
        rb"{\fonttbl{\f0\fcharset0 A;}{\f1\fcharset204 B;}{\f2\fcharset128 C;}}\f1\'cf\'e5\f0\'e9{\f2\'8e\'52}",
        "Пе\u00e9山",
    ),
]


@pytest.mark.parametrize(("content", "text"), TEXTS)
def test_text(content, text):
    assert read("a.rtf", rtf(content)).text == text


def test_parts_of_rtf_in_reading_order():
    content = (
        r"{\header HEAD\par}{\headerf HEAD\par}{\footer FOOT}Body{\footnote\pard foot}{\footnote\ftnalt end} text"
        r"{\shp{\*\shpinst{\sp{\sn a}{\sv 1}}{\shptxt boxed\par}}{\shprslt boxed}}"
    )
    assert mapped(read("a.rtf", rtf(content))) == [
        ("header", "HEAD"), ("body", "Body text"), ("text box 1", "boxed"), ("footnote 1", "foot"),
        ("endnote 1", "end"), ("footer", "FOOT"),
    ]  # fmt: skip


def test_objects_and_pictures_are_ignored_and_said():
    note = read("a.rtf", rtf(r"{\object\objemb{\*\objdata 0105}{\result shown}}{\pict 00}"))
    assert note.text == "shown"
    picture, embedded = said(note)
    assert "pictures" in picture and "embedded" in embedded
    assert len(said(read("a.rtf", rb"{\rtf1 text"))) == 1  # the end is missing


def test_code_pages_and_many_groups():
    assert read("a.rtf", rb"{\rtf1\ansi\ansicpg1250 \'a3\'f3d\'9f}").text == "Łódź"
    assert read("a.rtf", rb"{\rtf1\mac \'8e}").text == read("a.rtf", rb"{\rtf1\ansi\ansicpg99999 \'e9}").text == "é"
    assert read("a.rtf", rtf(r"{\b x}" * 20_000)).text == "x" * 20_000
    assert read("a.rtf", rtf(r"\'e9" * 20_000)).text == "é" * 20_000

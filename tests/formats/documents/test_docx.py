"""DOCX: what is read in which order, and what is left out and said."""

import pytest

from annotations.formats.documents import word as packages
from fixtures.quality.written_documents import docx as written_docx
from tests.formats.documents.helpers import RELATIONS, docx, mapped, p, read, refusal, word
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
    assert [part in warning for part, warning in zip(parts, note.warnings, strict=True)] == [True] * 6


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


BROKEN = [
    (docx(""), "no text"), (docx("<w:p>"), "damaged"), (written_docx(1).data[:-30], "damaged"),
    (written_docx(1).data[:5000], "damaged"), (zipped({"[Content_Types].xml": "", "word/x.xml": ""}), "damaged"),
    (zipped({"[Content_Types].xml": "", "xl/workbook.xml": ""}), "unknown kind"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "code"), BROKEN)
def test_broken_documents_are_refused(data, code):
    assert refusal("a.docx", data).code == code


def test_relations_cannot_leave_the_archive():
    relation = '<Relationship Id="r1" Type="x/officeDocument" Target="../../../../etc/passwd"/>'
    rels = f'<Relationships xmlns="{RELATIONS}">{relation}</Relationships>'
    assert refusal("a.docx", zipped({"[Content_Types].xml": "", "word/a": "", "_rels/.rels": rels})).code == "damaged"

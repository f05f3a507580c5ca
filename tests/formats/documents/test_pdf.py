"""PDF: pages, columns, tables, form fields; refusals by name."""

import zlib

import pytest
from fpdf import FPDF

from annotations.formats.documents.pdf_pages import logical
from tests.formats.documents.helpers import mapped, parts_of, read, refusal, said


def pages(*texts, size=11):
    file = FPDF()
    file.set_font("helvetica", size=size)
    for text in texts:
        file.add_page()
        if text:
            file.multi_cell(0, 6, text)
    return file


def raw(*objects, trailer=""):
    """A PDF of these objects, numbered from 1; the first one is the catalog. The reader finds them by itself."""
    body = b"".join(
        b"%d 0 obj\n%b\nendobj\n" % (number, each if isinstance(each, bytes) else each.encode("latin-1"))
        for number, each in enumerate(objects, 1)
    )
    return b"%PDF-1.7\n" + body + f"trailer << /Root 1 0 R {trailer}>>\n%%EOF".encode()


def stream(data, more=""):
    raw_data = data if isinstance(data, bytes) else data.encode("latin-1")
    return b"<< /Length %d %b >>\nstream\n%b\nendstream" % (len(raw_data), more.encode(), raw_data)


def one_page(content, *more, page="", catalog=""):
    """A PDF with one page; `more` are objects from number 6 on."""
    return raw(
        f"<< /Type /Catalog /Pages 2 0 R {catalog}>>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R "
        f"/Resources << /Font << /F 5 0 R >> >> {page}>>",
        stream(content) if isinstance(content, str) else content,
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        *more,
    )


def shown(x, y, text):
    return f"BT /F 10 Tf {x} {y} Td ({text}) Tj ET\n"


def test_the_source_map_leads_from_a_span_to_its_pages():
    note = read("dir/a.pdf", bytes(pages("First page of José", "", "Third page").output()))
    assert mapped(note) == [("page 1", "First page of José"), ("page 3", "Third page")]
    start = note.text.index("José")
    assert parts_of(note, start, start + 4) == ["page 1"] and parts_of(note, 0, len(note.text)) == ["page 1", "page 3"]
    assert said(note) == ["Page 2 has no text layer. If there is a picture of text, use OCR."]


def test_lines_are_mended_and_counted():
    content = shown(50, 700, "The patient was hospi-") + shown(50, 688, "talized in March.")
    note = read("a.pdf", one_page(content))
    assert (note.text, note.cleaned) == ("The patient was hospitalized in March.", {"hyphenation": 1})
    assert read("a.pdf", one_page(content), rules=()).text == "The patient was hospi-\ntalized in March."
    justified = "palabra " * 60
    assert " ".join(read("a.pdf", bytes(pages(justified).output())).text.split("\n")) == justified.strip()


def test_rows_of_forms_and_tables_stay_together():
    rows = [(700, "Name:", "Ana Diaz"), (686, "Born:", "3 May 1947"), (672, "MRN:", "0012-345")]
    content = "".join(shown(50, y, name) + shown(200, y, value) for y, name, value in rows)
    assert read("a.pdf", one_page(content)).text == "Name:\tAna Diaz\nBorn:\t3 May 1947\nMRN:\t0012-345"


def test_a_cell_of_two_lines_is_one_cell_beside_a_centered_one():
    content = shown(50, 700, "Address:") + shown(150, 705.8, "12 Oak Hill") + shown(150, 694.2, "Riverton")
    content += shown(300, 700, "MRN:") + shown(350, 705.8, "4471") + shown(350, 694.2, "0099")
    assert read("a.pdf", one_page(content)).text == "Address:\t12 Oak Hill Riverton\tMRN:\t4471 0099"


def test_columns_of_prose_are_read_one_after_another():
    line = "a line of prose that fills its column"
    content = shown(50, 750, "A title over both columns")
    for column, left in (("one", 50), ("two", 320)):
        content += "".join(shown(left, 700 - 12 * at, f"{column} {at} {line}") for at in range(6))
    lines = read("a.pdf", one_page(content)).text.split("\n")
    assert [each.split()[:2] for each in lines if each.endswith("column")] == [
        [column, str(at)] for column in ("one", "two") for at in range(6)
    ]


def test_text_in_forms_within_the_page_is_read():
    """Some programs put whole pages into a form XObject."""
    more = "/Type /XObject /Subtype /Form /BBox [0 0 600 800] /Resources << /Font << /F 5 0 R >> >>"
    page = one_page(shown(50, 700, "outside") + "/X Do\n", stream(shown(50, 688, "inside"), more))
    page = page.replace(b"/F 5 0 R >> >> >>", b"/F 5 0 R >> /XObject << /X 6 0 R >> >> >>", 1)
    assert read("a.pdf", page).text == "outside\ninside"


HEBREW = f"/BaseFont /Hebrew /FirstChar 32 /LastChar 126 /Widths [{'600 ' * 95}] /ToUnicode 6 0 R"
TO_UNICODE = stream("begincmap 1 begincodespacerange <00> <ff> endcodespacerange "
                    "1 beginbfrange <41> <5b> <05d0> endbfrange endcmap")  # fmt: skip


def hebrew(text):
    """The text with Hebrew letters in place of capitals, as the font of `in_hebrew` shows them."""
    return "".join(chr(0x5D0 + ord(each) - 65) if "A" <= each <= "[" else each for each in text)


def in_hebrew(content):
    """A page in whose font the capitals are Hebrew letters; its last one is written as “[”."""
    return one_page(content, TO_UNICODE).replace(b"/BaseFont /Helvetica", HEBREW.encode(), 1)


RIGHT_TO_LEFT = [
    (shown(50, 700, ".12/03/2021-B CBA DEF"), "FED ABC B-12/03/2021."),
    (shown(50, 700, "CBA \\(mg 5\\) DEF"), "FED (5 mg) ABC"),
    (shown(50, 700, "see CBA 12 DEF here, and more"), "see FED 12 ABC here, and more"),
    # Drawn letter by letter from the right, and the cells of a row
    ("".join(shown(200 - 6 * at, 700, letter) for at, letter in enumerate("ABCD")), "ABCD"),
    (shown(50, 700, "CBA") + shown(300, 700, "FED"), "DEF\tABC"),
]


@pytest.mark.parametrize(("content", "text"), RIGHT_TO_LEFT)
def test_right_to_left_lines_are_read_from_the_right(content, text):
    assert read("a.pdf", in_hebrew(content)).text == hebrew(text)


LETTERS = [
    # Marks follow their letter, letters in the forms of a word become plain, and a line of two scripts keeps both.
    (["\ufed2", "\u0644\u064e", "\ufe83"], True, "\u0623\u0644\u064e\u0641"),
    (["a", " ", "\u05d1\u05b7", "\u05d0"], False, "a \u05d0\u05d1\u05b7"),
    (["\u05d1", "\u00ad", "\u05d0"], True, "\u05d0\u00ad\u05d1"),
]


@pytest.mark.parametrize(("letters", "from_right", "text"), LETTERS)
def test_letters_in_reading_order(letters, from_right, text):
    assert logical(letters, from_right=from_right) == text


def test_the_stated_text_of_a_few_characters_counts():
    def stating(text, shown):
        return f"/Span << /ActualText <FEFF{text}> >> BDC ({shown}) Tj EMC"

    pieces = f"(Hauser) Tj {stating('00AD', ' ')} (mann, ) Tj {stating('00660069', 'X')} (ebre) Tj"
    assert read("a.pdf", one_page(f"BT /F 10 Tf 50 700 Td {pieces} ET EMC")).text == "Hausermann, fiebre"
    assert read("a.pdf", one_page(f"BT /F 10 Tf 50 700 Td {stating('', 'kept')} ET /Span /A BDC")).text == "kept"


def test_form_fields_and_comments_follow_their_page():
    widget = "<< /Subtype /Widget /T (name) /V (Ana Diaz) >>"
    child = "<< /Subtype /Widget /Parent << /TU (Born) /V (1947) >> >>"
    comment = "<< /Subtype /Text /Contents (Ask Dr. Gil) >>"
    page = f"/Annots [{widget} {child} {comment} << /Subtype /Link >> 5] "
    assert mapped(read("a.pdf", one_page(shown(50, 700, "Form"), page=page))) == [
        ("page 1", "Form"),
        ("form fields of page 1", "name: Ana Diaz\nBorn: 1947"),
        ("comments of page 1", "Ask Dr. Gil"),
    ]


@pytest.mark.parametrize("passwords", [{"owner_password": "o"}, {"owner_password": "o", "user_password": "u"}])
def test_an_encrypted_pdf_and_one_without_a_text_layer_are_refused_by_name(passwords):
    file = pages("secret")
    file.set_encryption(**passwords)
    problem = refusal("dir/a.pdf", bytes(file.output()))
    assert (problem.file, problem.code) == ("dir/a.pdf", "encrypted")
    file = FPDF()
    file.add_page()
    file.rect(10, 10, 50, 50)
    problem = refusal("scan.pdf", bytes(file.output()))
    assert (problem.file, problem.code) == ("scan.pdf", "no text layer")


def test_letters_that_the_font_does_not_name_are_marked_or_refused():
    font = "<< /Type /Font /Subtype /Type3 /FontBBox [0 0 1 1] /FontMatrix [1 0 0 1 0 0] /FirstChar 1 /LastChar 1 "
    unknown = "BT /G 10 Tf 50 650 Td (\\001\\001) Tj ET\n"
    known, only = (
        one_page(content, font + "/Widths [1] >>").replace(b"/F 5 0 R >>", b"/F 5 0 R /G 6 0 R >>", 1)
        for content in (shown(50, 700, "Known letters are many here") + unknown, unknown)
    )
    note = read("a.pdf", known)
    assert "\ufffd\ufffd" in note.text and "2 " in said(note)[0] and refusal("a.pdf", only).code == "no text layer"


BROKEN = [
    b"%PDF-1.4 rubbish", raw("<< /Type /Catalog >>"),
    raw("<< /Type /Catalog /Pages 2 0 R >>", "<< /Type /Pages /Kids [2 0 R 2 0 R] >>"),
    one_page(stream(b"not deflated", "/Filter /FlateDecode")),
    one_page(stream(zlib.compress(b"BT /F 10 Tf (cut off")[:20], "/Filter /FlateDecode")),
    bytes(pages("x").output())[:300], one_page("/X Do " * 10), one_page("q " * 20_000), one_page("[" * 20_000),
]  # fmt: skip


@pytest.mark.parametrize("data", BROKEN)
def test_broken_pdfs_are_refused_without_a_crash(data):
    assert refusal("a.pdf", data).code in ("damaged", "no text layer", "nesting")

"""RTF: text in several encodings, headers and notes, and what is left out."""

import pytest

from tests.formats.documents.helpers import mapped, read, refusal


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


def test_parts_in_reading_order():
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
    picture, embedded = note.warnings
    assert "pictures" in picture and "embedded" in embedded
    assert len(read("a.rtf", rb"{\rtf1 text").warnings) == 1  # the end is missing


def test_code_pages_and_many_groups():
    assert read("a.rtf", rb"{\rtf1\ansi\ansicpg1250 \'a3\'f3d\'9f}").text == "Łódź"
    assert read("a.rtf", rb"{\rtf1\mac \'8e}").text == read("a.rtf", rb"{\rtf1\ansi\ansicpg99999 \'e9}").text == "é"
    assert read("a.rtf", rtf(r"{\b x}" * 20_000)).text == "x" * 20_000
    assert read("a.rtf", rtf(r"\'e9" * 20_000)).text == "é" * 20_000


@pytest.mark.parametrize(
    ("data", "code"), [(b"{\\rtf1 }", "no text"), (b"{\\rtf1 " + b"{" * 100_000, "nesting"), (b"no rtf", "damaged")]
)
def test_broken_documents_are_refused(data, code):
    assert refusal("a.rtf", data).code == code

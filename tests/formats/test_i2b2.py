"""i2b2 2014 and MEDDOCAN XML."""

import xml.etree.ElementTree as ET

import pytest

from annotations.text.spans import Span
from tests.formats.helpers import facts, read_one, refused, said, write_one


def i2b2(text: str, tags: str) -> dict[str, bytes | str]:
    prolog = '<?xml version="1.0" encoding="UTF-8" ?>'
    return {"a.xml": f"{prolog}\n<deIdi2b2>\n<TEXT>{text}</TEXT>\n<TAGS>\n{tags}</TAGS>\n</deIdi2b2>"}


def test_the_label_is_the_type_or_else_the_element() -> None:
    tags = (
        '<NAME id="P0" start="1" end="5" text="Anna" TYPE="NAME" comment="" />\n'
        '<DATE id="P1" start="6" end="10" text="2069" comment="" />'
        '<ID id="P2" start="11" end="12" text="7" TYPE="ID-1" certainty="low" negated="TRUE" unset="" comment=""/>'
    )
    note = read_one("i2b2", i2b2("<![CDATA[\nAnna 2069 7\n]]>", tags))
    assert (note.text, note.warnings) == ("\nAnna 2069 7\n", [])
    held = (("certainty", "low"), ("negated", True))
    assert facts(note.spans) == [(1, 5, "NAME", ()), (6, 10, "DATE", ()), (11, 12, "ID-1", held)]
    note = read_one("i2b2", {"a.xml": "<ROOT><TEXT>Anna &amp; 1</TEXT></ROOT>"})
    assert (note.text, note.spans) == ("Anna & 1", None)
    # Tags of the whole note, and comments, are not kept.
    tags = (
        '<OBESE id="DOC0" time="continuing" indicator="mention"/>\n'
        '<FAMILY_HIST id="F0" start="-1" end="-1" text=""/>\n'
        '<NAME id="P0" start="0" end="4" TYPE="NAME" comment="sure"/>'
    )
    note = read_one("i2b2", i2b2("Anna", tags))
    assert note.spans == [Span(0, 4, "NAME")] and said(note.warnings) == [(line, "not kept") for line in (5, 6, 7)]
    for start, end in ((2, 6), (3, 7)):  # offsets in code points and in UTF-16
        tags = f'<NAME id="P0" start="{start}" end="{end}" text="Anna" TYPE="NAME"/>'
        assert read_one("i2b2", i2b2("😀 Anna", tags)).spans == [Span(2, 6, "NAME")]


def test_spans_of_mae_2() -> None:
    tags = '<NAME id="N0" spans="0~4" text="Anna" TYPE="NAME"/>'
    tags += '<NAME id="N1" spans="0~4,5~9" text="Anna Neri" TYPE="ID-1"/>'
    assert read_one("i2b2", i2b2("Anna\nNeri", tags)).spans == [Span(0, 4, "NAME"), Span(0, 9, "ID-1")]
    note = read_one("i2b2", i2b2("Anna Neri", tags))
    assert note.spans == [Span(0, 4, "ID-1"), Span(0, 4, "NAME"), Span(5, 9, "ID-1")]
    assert said(note.warnings) == [(5, "discontinuous")]
    tags = '<NAME id="N0" spans="-1~-1" text="" /><NAME id="N1" spans="~" text=""/>'
    note = read_one("i2b2", i2b2("Anna", tags))
    assert (note.spans, said(note.warnings)) == ([], [(5, "not kept")])
    assert said(refused("i2b2", i2b2("Anna", '<NAME id="N0" spans="0-4" TYPE="NAME"/>'))) == [(5, "offsets")]


def test_all_problems_have_their_lines() -> None:
    tags = (
        '<NAME id="P0" start="0" end="4" text="Anne" TYPE="NAME"/>\n'
        '<NAME id="P1" start="0" end="4" text="Anna" TYPE="PERSON"/>\n'
        '<NAME id="P2" start="0" end="99" TYPE="NAME"/>\n'
        '<NAME id="P3" start="x" end="4" TYPE="NAME"/>\n'
    )
    problems = refused("i2b2", i2b2("Anna", tags))
    assert said(problems) == [(5, "quote"), (6, "label"), (7, "outside"), (8, "offsets")]
    assert not any("Ann" in problem.message for problem in problems)


BROKEN_FILES = [
    ("", 1, "xml"), ("<a>\n<TEXT>R&D</TEXT></a>", 2, "xml"), ("<a>\n<TEXT>x</TEXT>", 2, "xml"),
    ('<!DOCTYPE a [\n<!ENTITY b "c">]><a><TEXT>&b;</TEXT></a>', 2, "xml"),
    ('<!DOCTYPE a [\n<!ENTITY b SYSTEM "file:///etc/passwd">]><a><TEXT>&b;</TEXT></a>', 2, "xml"),
    ('<?xml version="1.0" encoding="x-none"?><a><TEXT>x</TEXT></a>', 1, "utf8"),
    ('<?xml version="1.0" encoding="big5"?><a><TEXT>x</TEXT></a>', 1, "utf8"),
    ("<a><TEXT>x</TEXT><TEXT>y</TEXT></a>", None, "structure"), ("<a><TAGS/></a>", None, "structure"),
]  # fmt: skip


@pytest.mark.parametrize(("whole", "line", "code"), BROKEN_FILES)
def test_broken_files(whole: str, line: int | None, code: str) -> None:
    assert said(refused("i2b2", {"a.xml": whole})) == [(line, code)]


def test_other_programs_read_the_same() -> None:
    text = "\ufeffAnna ]]> <b>\r\n&amp; \x0c\t😀"
    files, losses = write_one("i2b2", text, [Span(1, 5, "NAME"), Span(6, 9, "DATE")])
    root = ET.fromstring(files["a.xml"])
    assert losses == [] and root.findtext("TEXT") == text.replace("\x0c", "\ufffd")
    found = [(tag.tag, tag.get("TYPE"), tag.get("text")) for tag in root.iter() if tag.get("TYPE")]
    assert found == [("OTHER", "NAME", "Anna"), ("DATE", "DATE", "]]>")]


@pytest.mark.parametrize("pairs", ["9=C", "0=C", "1=41", "1=", "x"])
def test_a_list_of_replaced_characters_must_fit_the_text(pairs: str) -> None:
    files, _ = write_one("i2b2", "A\x0cB", [])
    whole = files["a.xml"].replace(b"1=C", pairs.encode())
    assert said(refused("i2b2", {"a.xml": whole})) == [(None, "characters")]


def test_attributes_that_would_change_are_losses() -> None:
    held = (("9x", "a"), ("TYPE", "a"), ("certain", "true"), ("empty", ""), ("kept", "a"))
    _, losses = write_one("i2b2", "Anna", [Span(0, 4, "NAME", attributes=held)])
    assert [all(name in loss.reason for name in ("9x", "TYPE", "certain", "empty")) for loss in losses] == [True]
    assert "kept" not in losses[0].reason

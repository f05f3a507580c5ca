"""XML with annotations in the text or beside it: i2b2 2014, MEDDOCAN, inline, GATE."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from annotations.formats.base import AcceptedLabels, LoadedFiles
from annotations.formats.gate import GateFormat, set_format
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


# ── Inline XML ──


ROOTS = [
    ("Dr. <NAME>Anna</NAME> &amp; co.\n", "Dr. Anna & co.\n", [Span(4, 8, "NAME")]),
    ("<NAME>Anna</NAME>", "Anna", [Span(0, 4, "NAME")]),
    ("<NAME>Anna</NAME>\n", "Anna\n", [Span(0, 4, "NAME")]),
    ("\ufeffx <NAME>Anna</NAME>", "\ufeffx Anna", [Span(3, 7, "NAME")]),
    ("<note>\n<NAME>Anna</NAME></note>\n", "\nAnna", [Span(1, 5, "NAME")]),
    ("<Report>a <NAME>Anna</NAME></Report>", "a Anna", [Span(2, 6, "NAME")]),
    ("<text>Anna</text>", "Anna", []),
    ('<?xml version="1.0"?><NAME>Anna</NAME>', "Anna", []),
    ("<r xmlns='urn:x'><DATE>1 <NAME>A</NAME></DATE></r>", "1 A", [Span(0, 3, "DATE"), Span(2, 3, "NAME")]),
    (
        '<r><PHI TYPE="NAME">A</PHI><ENAMEX type="DATE">1</ENAMEX></r>',
        *("A1", [Span(0, 1, "NAME"), Span(1, 2, "DATE")]),
    ),
    ('<r><span label="ID-1">A</span></r>', "A", [Span(0, 1, "ID-1")]),
    ("no tags &lt;b&gt;", "no tags <b>", []),
    ("", "", []),
]


@pytest.mark.parametrize(("whole", "text", "spans"), ROOTS)
def test_roots_and_labels(whole: str, text: str, spans: list[Span]) -> None:
    note = read_one("inline", {"a.xml": whole})
    assert (note.text, note.spans, note.warnings) == (text, spans, [])


def test_encodings_as_declared_and_attributes() -> None:
    whole = '<?xml version="1.0" encoding="{}"?>\n<r>Dr. <NAME>Zoë</NAME></r>'
    for encoding in ("latin-1", "windows-1252", "utf-16"):
        note = read_one("inline", {"a.xml": whole.format(encoding).encode(encoding)})
        assert (note.text, note.spans) == ("Dr. Zoë", [Span(4, 7, "NAME")])
    tag = '<NAME id="1" certainty="a &quot;b&quot;" negated="true" none="">'
    note = read_one("inline", {"a.xml": f"<r>\n{tag}A</NAME></r>"})
    assert facts(note.spans) == [(1, 2, "NAME", (("certainty", 'a "b"'), ("negated", True)))]
    assert said(note.warnings) == [(2, "not kept")]


PROBLEMS = [
    ("a\nb & c", 2, "xml"), ("a\n<NAME>b", 2, "xml"), ("<NAME>a</DATE>", 1, "xml"), ("a\n<NAME/>", 2, "empty"),
    ("a\n<NAME> \n</NAME>", 2, "white"), ("a\n<PERSON>b</PERSON>", 2, "label"),
]  # fmt: skip


@pytest.mark.parametrize(("whole", "line", "code"), PROBLEMS)
def test_problems(whole: str, line: int, code: str) -> None:
    assert said(refused("inline", {"a.xml": whole})) == [(line, code)]


def test_crossing_spans_are_lost_and_nested_ones_are_not() -> None:
    spans = [Span(0, 9, "NAME"), Span(0, 4, "DATE"), Span(0, 4, "NAME"), Span(5, 14, "DATE"), Span(10, 14, "ID-1")]
    files, losses = write_one("inline", "Anna Neri Rosa", spans)
    assert [loss.span for loss in losses] == [spans[3]] and "NAME 0-9" in losses[0].reason
    assert read_one("inline", files).spans == sorted({*spans} - {spans[3]})


@pytest.mark.parametrize("code", ["9A", "-A", "xmlA", "span", "PHI", "label"])
def test_labels_that_are_not_names_of_elements(code: str) -> None:
    span = Span(0, 4, code, attributes=(("kept", "x"),))
    files, losses = write_one("inline", "Anna", [span], {code: code})
    assert (losses, facts(read_one("inline", files, {code: code}).spans)) == ([], facts([span]))


def test_deep_nesting_is_no_danger() -> None:
    note = read_one("inline", {"a.xml": "x" + "<NAME>" * 5_000 + "A" + "</NAME>" * 5_000})
    assert (note.spans, len(note.warnings)) == ([Span(1, 2, "NAME")], 4_999)


# ── GATE XML ──


TEXT = '<Node id="0"/>Anna<Node id="4"/> 😀 <Node id="8"/>2069<Node id="12"/>\n'


HEAD = """<?xml version='1.0' encoding='UTF-8'?>
<GateDocument version="3">
<!-- features -->

<GateDocumentFeatures>
<Feature><Name className="java.lang.String">gate.SourceURL</Name><Value className="java.lang.String">x</Value></Feature>
</GateDocumentFeatures>
"""


def gate(sets: str, text: str = TEXT) -> dict[str, bytes | str]:
    return {"a.xml": f"{HEAD}<TextWithNodes>{text}</TextWithNodes>\n{sets}</GateDocument>"}


def named(name: str, annotations: str) -> str:
    return f'<AnnotationSet Name="{name}">\n{annotations}</AnnotationSet>\n'


def annotation(kind: str, start: int, end: int, features: str = "") -> str:
    return f'<Annotation Id="{start}" Type="{kind}" StartNode="{start}" EndNode="{end}">\n{features}</Annotation>\n'


def feature(name: str, value: str, kind: str = "java.lang.String") -> str:
    named = f'<Name className="java.lang.String">{name}</Name>'
    return f'<Feature>\n{named}\n<Value className="{kind}">{value}</Value>\n</Feature>\n'


def test_the_default_set_with_its_features() -> None:
    features = feature("certainty", "low &amp; behold") + feature("negated", "true", "java.lang.Boolean")
    features += feature("asked", "false", "java.lang.Boolean")
    default = f"<AnnotationSet>\n{annotation('NAME', 0, 4, features)}{annotation('DATE', 8, 12)}</AnnotationSet>\n"
    markup, key = named("Original markups", annotation("p", 0, 12)), named("Key", annotation("NAME", 8, 12))
    relations = '<RelationSet>\n<Relation Id="9" Type="coref" Members="0;8"/>\n</RelationSet>\n'
    note = read_one("gate", gate(default + markup + key + relations))
    held = (("certainty", "low & behold"), ("negated", True))
    assert (note.text, facts(note.spans)) == ("Anna 😀 2069\n", [(0, 4, "NAME", held), (7, 11, "DATE", ())])
    assert [warning.code for warning in note.warnings] == ["not kept"] * 3
    # A named set counts if the default set is empty.
    assert read_one("gate", gate(f"<AnnotationSet>\n</AnnotationSet>\n{markup}{key}")).spans == [Span(7, 11, "NAME")]
    assert read_one("gate", gate(markup)).spans == []


def test_the_set_is_chosen() -> None:
    tokens = annotation("Token", 0, 4) + annotation("Split", 4, 4)
    files = gate(f"<AnnotationSet>\n{tokens}</AnnotationSet>\n" + named("Key", annotation("NAME", 8, 12)))
    note = read_one("gate", files)
    assert (note.spans, [each.code for each in note.warnings]) == ([Span(7, 11, "NAME")], ["not kept"])
    assert "“gate:”" in note.warnings[0].message
    for chosen, labels, spans in (
        ("Key", ["NAME"], [Span(7, 11, "NAME")]), ("K", ["NAME"], [Span(7, 11, "NAME")]), ("Other", [], None),
    ):  # fmt: skip
        reader = GateFormat(chosen)
        assert read_one(reader, files).spans == spans
        (group,), _problems = reader.group(files)
        loaded = LoadedFiles(lambda name: str(files[name]).encode())
        assert list(reader.used_labels(group, loaded)) == [dict.fromkeys(labels, 1)]
    accepted = AcceptedLabels({"Token": "DATE", "Split": "Split"}, skipped=["Split"])
    assert read_one(GateFormat(""), files, accepted).spans == [Span(0, 4, "DATE")]
    # Without another set, what GATE's programs make is left out, too.
    note = read_one("gate", gate(f"<AnnotationSet>\n{tokens}</AnnotationSet>\n"))
    assert (note.spans, [each.code for each in note.warnings]) == ([], ["not kept"])
    assert set_format("consensus of all") == "gate:consensus of al"


def test_problems_have_lines() -> None:
    wrong = annotation("NAME", 0, 5) + annotation("PERSON", 0, 4) + annotation("NAME", 4, 4)
    found = said(refused("gate", gate(f"<AnnotationSet>\n{wrong}</AnnotationSet>\n")))
    assert found == [(11, "offsets"), (13, "label"), (15, "empty")]
    assert said(refused("gate", gate("", text='<Node id="0"/>Anna<Node id="0"/>'))) == [(None, "id")]
    assert said(refused("gate", {"a.xml": "<GateDocument/>"})) == [(None, "structure")]


def test_gates_package_reads_the_same(tmp_path: Path) -> None:
    gatenlp = pytest.importorskip("gatenlp")
    text = "\ufeff😀 Anna <b>\r\nNeri & co."
    held = (("certainty", "low"), ("negated", True))
    files, _ = write_one("gate", text, [Span(3, 7, "NAME", attributes=held), Span(13, 17, "DATE")])
    (tmp_path / "a.xml").write_bytes(files["a.xml"])
    document = gatenlp.Document.load(str(tmp_path / "a.xml"), fmt="gatexml")
    assert document.text == text
    found = [(each.type, each.start, each.end, dict(each.features.items())) for each in document.annset()]
    assert found == [("NAME", 3, 7, dict(held)), ("DATE", 13, 17, {})]

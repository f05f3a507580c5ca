import io
import zipfile
from dataclasses import replace

import cassis
import pytest
from hypothesis import given

from annotations.domain.formats import FORMATS, detected
from annotations.domain.formats.base import Loaded
from annotations.domain.formats.xml_writing import UNWRITABLE
from annotations.domain.labels import LabelSetDef
from annotations.domain.notes import NoteError
from annotations.domain.spans import Span
from tests.domain.formats.helpers import NAMES, facts, read_all, read_one, refused, said, write_one
from tests.domain.strategies import texts_with_spans

NE = "de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity"
NO_LABELS = LabelSetDef("x", "X", "", "", (), ())
TYPES = FORMATS["xmi"].extra_files(NO_LABELS)["TypeSystem.xml"]


def xmi(*elements: str, text: str = "Dr. Anna 😊 Neri", members: str | None = None) -> str:
    """A file with these elements; the ids in the view are all from 2 to 9, if no others are given."""
    view = "2 3 4 5 6 7 8 9" if members is None else members
    return (
        '<?xml version="1.0" encoding="UTF-8"?><xmi:XMI xmlns:cas="http:///uima/cas.ecore" '
        'xmlns:xmi="http://www.omg.org/XMI" xmlns:custom="http:///webanno/custom.ecore" '
        'xmlns:tcas="http:///uima/tcas.ecore" '
        'xmlns:type4="http:///de/tudarmstadt/ukp/dkpro/core/api/ner/type.ecore" '
        'xmlns:type5="http:///de/tudarmstadt/ukp/dkpro/core/api/segmentation/type.ecore" '
        'xmlns:pos="http:///de/tudarmstadt/ukp/dkpro/core/api/lexmorph/type/pos.ecore" xmi:version="2.0">\n'
        '<cas:NULL xmi:id="0"/>\n' + "\n".join(elements) + "\n"
        f'<cas:Sofa xmi:id="1" sofaNum="1" sofaID="_InitialView" mimeType="text" sofaString="{text}"/>\n'
        f'<cas:View sofa="1" members="{view}"/>\n</xmi:XMI>\n'
    )


def types(*features: tuple[str, str, str]) -> str:
    """A type system in which the types (in `webanno.custom`) have these features with their ranges."""
    rows = "".join(
        f"<typeDescription><name>webanno.custom.{name}</name><supertypeName>uima.tcas.Annotation</supertypeName>"
        + "<features>"
        + "".join(
            f"<featureDescription><name>{feature}</name><rangeTypeName>{kind}</rangeTypeName></featureDescription>"
            for each, feature, kind in features
            if each == name
        )
        + "</features></typeDescription>"
        for name in dict.fromkeys(name for name, _, _ in features)
    )
    return (
        '<typeSystemDescription xmlns="http://uima.apache.org/resourceSpecifier"><types>'
        f"{rows}</types></typeSystemDescription>"
    )


ANNA = '<type4:NamedEntity xmi:id="2" sofa="1" begin="4" end="8" value="NAME"/>'
NERI = '<type4:NamedEntity xmi:id="3" sofa="1" begin="12" end="16" value="DATE" identifier="Q1"/>'


def by_cassis(files: dict[str, bytes]) -> cassis.Cas:
    """A written note as cassis reads it."""
    system = cassis.load_typesystem(io.BytesIO(files.get("a.typesystem.xml", TYPES)))
    return cassis.load_cas_from_xmi(io.BytesIO(files["a.xmi"]), typesystem=system)


def test_reading() -> None:
    tokens = [f'<type5:Token xmi:id="{at}" sofa="1" begin="{at}" end="{at + 1}"/>' for at in (4, 5)]
    note = read_one("xmi", {"sub/a.xmi": xmi(ANNA, *tokens, NERI)})
    assert (note.name, note.text, note.warnings) == ("sub/a", "Dr. Anna 😊 Neri", [])
    assert facts(note.spans) == [(4, 8, "NAME", ()), (11, 15, "DATE", (("identifier", "Q1"),))]


def test_white_space_of_the_text() -> None:
    note = read_one("xmi", {"a.xmi": xmi(ANNA, text="Dr.&#9;Anna&#13;&#10;&lt;&amp;&quot; \u2028\x85")})
    assert (note.text, said(note.warnings)) == ('Dr.\tAnna\r\n<&" \u2028\x85', [])


def test_layers_of_a_project_with_their_types() -> None:
    system = types(
        ("Phi", "kind", "uima.cas.String"),
        ("Phi", "hidden", "uima.cas.Boolean"),
        ("Phi", "level", "uima.cas.Integer"),
        ("Phi", "links", "uima.cas.FSArray"),
        ("Other", "note", "uima.cas.String"),
        ("Other", "sure", "uima.cas.String"),
    )
    elements = [
        '<custom:Phi xmi:id="2" sofa="1" begin="4" end="8" kind="NAME" hidden="true" level="3" links="7 8"/>',
        '<custom:Phi xmi:id="3" sofa="1" begin="0" end="3" kind="DATE" hidden="false" level="0"/>',
        '<custom:Other xmi:id="4" sofa="1" begin="0" end="2" sure="yes"/>',
    ]
    files: dict[str, bytes | str] = {
        "sub/a.xmi": xmi(*elements),
        "TypeSystem.xml": types(),
        "sub/typesystem.xml": system,
    }
    note = read_one("xmi", files, NAMES | {"Other": "ID-1"})
    assert facts(note.spans) == [
        (0, 2, "ID-1", (("sure", "yes"),)),
        (0, 3, "DATE", (("level", "0"),)),
        (4, 8, "NAME", (("hidden", True), ("level", "3"))),
    ]
    (warning,) = note.warnings
    assert (warning.code, "links" in warning.message, "webanno.custom.Phi" in warning.message) == (
        "not kept",
        True,
        True,
    )


def test_layers_of_a_project_without_their_types() -> None:
    elements = [
        '<custom:Phi xmi:id="2" sofa="1" begin="4" end="8" kind="NAME" sure="no"><tags>x</tags>\n'
        "<tags>y</tags></custom:Phi>",
        '<custom:Bare xmi:id="3" sofa="1" begin="0" end="3"/>',
        '<custom:One xmi:id="4" sofa="1" begin="0" end="2" role="ID"/>',
    ]
    note = read_one("xmi", {"a.xmi": xmi(*elements)}, NAMES | {"Bare": "DATE", "ID": "ID-1"})
    assert facts(note.spans) == [(0, 2, "ID-1", ()), (0, 3, "DATE", ()), (4, 8, "NAME", (("sure", "no"),))]
    assert said(note.warnings) == [(3, "not kept")]


def test_what_is_not_imported_is_reported() -> None:
    elements = [
        ANNA,
        '<pos:POS xmi:id="3" sofa="1" begin="0" end="3" PosValue="NN"/>',
        '<pos:POS xmi:id="4" sofa="1" begin="4" end="8" PosValue="NN"/>',
        '<custom:Rel xmi:id="5" sofa="1" begin="0" end="3" Governor="3" Dependent="2" kind="x"/>',
        '<custom:CorefLink xmi:id="6" sofa="1" begin="0" end="3" referenceType="x"/>',
        '<type4:NamedEntity xmi:id="7" sofa="1" begin="2" end="2" value="NAME"/>',
        '<type4:NamedEntity xmi:id="70" sofa="1" begin="4" end="5" value="NAME"/>',
        '<type4:NamedEntity xmi:id="8" sofa="90" begin="0" end="1" value="NAME"/>',
        '<cas:Sofa xmi:id="90" sofaNum="2" sofaID="other" sofaString="x"/>',
        '<custom:Link xmi:id="9" role="x" target="2"/>',
    ]
    note = read_one("xmi", {"a.xmi": xmi(*elements)})
    assert facts(note.spans) == [(4, 8, "NAME", ())]
    assert said(note.warnings) == [(line, "not kept") for line in (None, 6, 7, 8, 9, 4)]
    assert not any("Anna" in warning.message for warning in note.warnings)


@pytest.mark.parametrize(
    ("element", "code"),
    [
        (ANNA.replace("NAME", "OTHER"), "label"),
        (ANNA.replace('"8"', '"99"'), "outside"),
        (ANNA.replace('"8"', '"x"'), "offsets"),
        (ANNA.replace('"8"', '"1"'), "empty"),
        (ANNA.replace('"8"', '"10"'), "offsets"),  # inside the emoji
        (ANNA.replace('sofa="1"', 'sofa="7"'), "sofa"),
        (ANNA.replace('begin="4" end="8"', 'begin="3" end="4"'), "white"),
    ],
)
def test_invalid_annotations(element: str, code: str) -> None:
    problems = refused("xmi", {"a.xmi": xmi(NERI, element)})
    assert said(problems) == [(4, code)]
    assert problems[0].file == "a.xmi"
    assert "Anna" not in str(problems[0])


@pytest.mark.parametrize(
    ("data", "code"),
    [
        ("", "xml"),
        ("<a/>", "format"),
        (xmi(ANNA)[:400], "xml"),
        (xmi(ANNA).replace("sofaString", "x"), ""),
        ('<xmi:XMI xmlns:xmi="http://www.omg.org/XMI"/>', "no text"),
        (xmi(ANNA).replace('sofaString="', 'sofaURI="'), "no text"),
        ('<!DOCTYPE a [<!ENTITY b "c">]>' + xmi(ANNA).split("?>", 1)[1], "xml"),
        (xmi(ANNA, text="a&#0;"), "xml"),
    ],
)
def test_invalid_files(data: str, code: str) -> None:
    (note,) = read_all("xmi", {"a.xmi": data})
    assert isinstance(note, NoteError)
    assert {problem.file for problem in note.problems} == {"a.xmi"}
    assert code in ("", note.problems[0].code)


def test_a_sofa_without_a_text_is_an_empty_note() -> None:
    note = read_one("xmi", {"a.xmi": xmi(text="").replace(' sofaString=""', "")})
    assert (note.text, note.spans) == ("", [])


def zipped(**files: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name.replace("__", "."), data)
    return out.getvalue()


def test_zip_files_of_inception() -> None:
    element = '<custom:Phi xmi:id="2" sofa="1" begin="4" end="8" kind="NAME" links="3 4"/>'
    system = types(("Phi", "kind", "uima.cas.String"), ("Phi", "links", "uima.cas.FSArray"))
    data = zipped(anna__xmi=xmi(element), TypeSystem__xml=system)
    note = read_one("xmi", {"doc.txt/anna.zip": data})
    assert (note.name, facts(note.spans)) == ("doc.txt/anna", [(4, 8, "NAME", ())])
    assert said(note.warnings) == [(3, "not kept")]
    assert detected(["x.zip"], Loaded({"x.zip": data}.__getitem__)) == "xmi"


@pytest.mark.parametrize(
    "data",
    [b"", b"PK", zipped(a__txt="x"), zipped(a__xmi="x", b__xmi="y"), zipped(a__xmi=xmi(ANNA))[:-30]],
)
def test_invalid_zip_files(data: bytes) -> None:
    (problem,) = refused("xmi", {"a.zip": data})
    assert (problem.file, problem.code) == ("a.zip", "zip")


def test_a_zip_bomb_is_refused() -> None:
    (problem,) = refused("xmi", {"a.zip": zipped(a__xmi=" " * (70 * 1024 * 1024))})
    assert (problem.file, problem.code) == ("a.zip", "size")


def test_a_damaged_type_system_is_named() -> None:
    (problem,) = refused("xmi", {"sub/a.xmi": xmi(ANNA), "sub/TypeSystem.xml": "<a"})
    assert (problem.file, problem.code) == ("sub/TypeSystem.xml", "xml")


def test_detection() -> None:
    assert FORMATS["xmi"].claims("a.XMI", xmi().encode())
    assert not FORMATS["xmi"].claims("a.xml", xmi().encode())
    assert not FORMATS["xmi"].claims("a.zip", zipped(a__txt="x"))


def test_cassis_reads_what_is_written() -> None:
    text = "\ufeffDr. 😊 Anna\r\n\tNeri “<&>” lives.\r\nEnd \n"
    spans = [
        Span(7, 11, "NAME", attributes=(("hidden", True), ("sure", 'a "b" <c>'))),
        Span(7, 18, "NAME"),
        Span(8, 10, "ID-1"),
    ]
    files, losses = write_one("xmi", text, spans)
    assert losses == []
    cas = by_cassis(files)
    assert cas.sofa_string == text
    assert [(each.begin, each.end, each.value, each.hidden, each.sure) for each in cas.select(NE)] == [
        (7, 11, "NAME", True, 'a "b" <c>'),
        (7, 18, "NAME", None, None),
        (8, 10, "ID-1", None, None),
    ]
    sentences = cas.select("de.tudarmstadt.ukp.dkpro.core.api.segmentation.type.Sentence")
    assert [text[each.begin : each.end] for each in sentences][-1] == "End"


def test_what_cassis_writes_is_read() -> None:
    system = cassis.TypeSystem()
    phi = system.create_type("webanno.custom.Phi", "uima.tcas.Annotation")
    system.create_feature(phi, "Kind", "uima.cas.String")
    system.create_feature(phi, "Sure", "uima.cas.String")
    system.create_feature(phi, "Hidden", "uima.cas.Boolean")
    cas = cassis.Cas(system)
    cas.sofa_string = "\ufeff😊 Anna\r\n\tNeri"
    cas.sofa_mime = "text/plain"
    cas.add(phi(begin=3, end=7, Kind="NAME", Sure="no", Hidden=True))
    cas.add(phi(begin=10, end=14, Kind="DATE", Hidden=False))
    files = {"a.xmi": cas.to_xmi(), "TypeSystem.xml": system.to_xml()}
    note = read_one("xmi", files)
    assert (note.text, note.warnings) == (cas.sofa_string, [])
    assert facts(note.spans) == [(3, 7, "NAME", (("Hidden", True), ("Sure", "no"))), (10, 14, "DATE", ())]


@given(texts_with_spans(12))
def test_any_note_comes_back_exactly(made: tuple[str, list[Span]]) -> None:
    text, spans = made
    spans = [
        replace(span, attributes=(("box", True), ("sure", 'é <"&>'))) if span.label == "DATE" else span
        for span in spans
    ]
    files, losses = write_one("xmi", text, spans)
    note = read_one("xmi", files)
    assert note.text == text
    assert facts(note.spans) == sorted(set(facts(spans)))
    assert (note.warnings, len(losses)) == ([], len(spans) - len(set(facts(spans))))
    cas = by_cassis(files)
    assert cas.sofa_string == UNWRITABLE.sub("\ufffd", text)
    assert sorted((each.begin, each.end, each.value) for each in cas.select(NE)) == [
        each[:3] for each in sorted(set(facts(spans)))
    ]

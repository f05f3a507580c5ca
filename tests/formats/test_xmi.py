"""Annotations of UIMA: XMI and CAS JSON."""

import io
import json
from dataclasses import replace
from typing import Any

import cassis
import pytest
from hypothesis import given

from annotations.formats import FORMATS, detected, writer
from annotations.formats.base import LoadedFiles
from annotations.formats.notes import NoteError
from annotations.formats.uima import Layer
from annotations.text.labels import LabelSetDef
from annotations.text.spans import Span
from tests import zips
from tests.formats.helpers import NAMES, facts, read_all, read_one, refused, said, write_one
from tests.text.strategies import texts_with_spans

NE = "de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity"
SENTENCE = "de.tudarmstadt.ukp.dkpro.core.api.segmentation.type.Sentence"
TYPES = FORMATS["xmi"].extra_files(LabelSetDef("x", "X", "", "", (), ()))["TypeSystem.xml"]


PACKAGES = {
    "cas": "http:///uima/cas.ecore", "xmi": "http://www.omg.org/XMI", "custom": "http:///webanno/custom.ecore",
    "tcas": "http:///uima/tcas.ecore", "type4": "http:///de/tudarmstadt/ukp/dkpro/core/api/ner/type.ecore",
    "type5": "http:///de/tudarmstadt/ukp/dkpro/core/api/segmentation/type.ecore",
    "pos": "http:///de/tudarmstadt/ukp/dkpro/core/api/lexmorph/type/pos.ecore",
}  # fmt: skip


def xmi(*elements: str, text: str = "Dr. Anna 😊 Neri") -> str:
    """A file with these elements; the ids in the view are all from 2 to 9."""
    spaces = " ".join(f'xmlns:{name}="{address}"' for name, address in PACKAGES.items())
    return (
        f'<?xml version="1.0" encoding="UTF-8"?><xmi:XMI {spaces} xmi:version="2.0">\n'
        '<cas:NULL xmi:id="0"/>\n' + "\n".join(elements) + "\n"
        f'<cas:Sofa xmi:id="1" sofaNum="1" sofaID="_InitialView" mimeType="text" sofaString="{text}"/>\n'
        '<cas:View sofa="1" members="2 3 4 5 6 7 8 9"/>\n</xmi:XMI>\n'
    )


def types(**layers: str) -> str:
    """A type system with types in `webanno.custom`; "kind:String hidden:Boolean" are the features of one."""
    rows = ""
    for layer, features in layers.items():
        rows += (
            f"<typeDescription><name>webanno.custom.{layer}</name><supertypeName>uima.tcas.Annotation</supertypeName>"
        )
        rows += "<features>"
        for name, _, kind in (feature.partition(":") for feature in features.split()):
            rows += f"<featureDescription><name>{name}</name><rangeTypeName>uima.cas.{kind}</rangeTypeName>"
            rows += "</featureDescription>"
        rows += "</features></typeDescription>"
    head = '<typeSystemDescription xmlns="http://uima.apache.org/resourceSpecifier">'
    return f"{head}<types>{rows}</types></typeSystemDescription>"


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
    note = read_one("xmi", {"a.xmi": xmi(ANNA, text="Dr.&#9;Anna&#13;&#10;&lt;&amp;&quot; \u2028\x85")})
    assert (note.text, said(note.warnings)) == ('Dr.\tAnna\r\n<&" \u2028\x85', [])
    note = read_one("xmi", {"a.xmi": xmi(text="").replace(' sofaString=""', "")})
    assert (note.text, note.spans) == ("", [])


def test_layers_of_a_project_with_their_types() -> None:
    system = types(Phi="kind:String hidden:Boolean level:Integer links:FSArray", Other="note:String sure:String")
    whole = xmi(
        '<custom:Phi xmi:id="2" sofa="1" begin="4" end="8" kind="NAME" hidden="true" level="3" links="7 8"/>',
        '<custom:Phi xmi:id="3" sofa="1" begin="0" end="3" kind="DATE" hidden="false" level="0"/>',
        '<custom:Other xmi:id="4" sofa="1" begin="0" end="2" sure="yes"/>',
    )
    files = {"sub/a.xmi": whole, "TypeSystem.xml": types(), "sub/typesystem.xml": system}
    note = read_one("xmi", files, NAMES | {"Other": "ID-1"})
    assert facts(note.spans) == [
        (0, 2, "ID-1", (("sure", "yes"),)),
        (0, 3, "DATE", (("level", "0"),)),
        (4, 8, "NAME", (("hidden", True), ("level", "3"))),
    ]
    (warning,) = note.warnings
    assert warning.code == "not kept" and "links" in warning.message and "webanno.custom.Phi" in warning.message


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


INVALID_ELEMENTS = [
    (ANNA.replace("NAME", "OTHER"), "label"),
    (ANNA.replace('"8"', '"x"'), "offsets"),
    (ANNA.replace('"8"', '"10"'), "offsets"),  # inside the emoji
    (ANNA.replace('sofa="1"', 'sofa="7"'), "sofa"),
]


INVALID_FILES = [
    ("", "xml"), ("<a/>", "format"), (xmi(ANNA)[:400], "xml"), (xmi(ANNA).replace("sofaString", "x"), ""),
    ('<xmi:XMI xmlns:xmi="http://www.omg.org/XMI"/>', "no text"),
    (xmi(ANNA).replace('sofaString="', 'sofaURI="'), "no text"),
    ('<!DOCTYPE a [<!ENTITY b "c">]>' + xmi(ANNA).split("?>", 1)[1], "xml"), (xmi(ANNA, text="a&#0;"), "xml"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "code"), INVALID_FILES)
def test_invalid_files(data: str, code: str) -> None:
    problems = refused("xmi", {"a.xmi": data})
    assert {problem.file for problem in problems} == {"a.xmi"} and code in ("", problems[0].code)


def zipped(**files: str) -> bytes:
    return zips.zipped({name.replace("__", "."): data for name, data in files.items()})


def test_zip_files_of_inception() -> None:
    element = '<custom:Phi xmi:id="2" sofa="1" begin="4" end="8" kind="NAME" links="3 4"/>'
    data = zipped(anna__xmi=xmi(element), TypeSystem__xml=types(Phi="kind:String links:FSArray"))
    note = read_one("xmi", {"doc.txt/anna.zip": data})
    assert (note.name, facts(note.spans)) == ("doc.txt/anna", [(4, 8, "NAME", ())])
    assert said(note.warnings) == [(3, "not kept")]
    assert detected(["x.zip"], LoadedFiles({"x.zip": data}.__getitem__)) == "xmi"
    assert detected(["x.zip"], LoadedFiles({"x.zip": zipped(a__txt="x")}.__getitem__)) != "xmi"


INVALID_ZIPS = [b"", b"PK", zipped(a__txt="x"), zipped(a__xmi="x", b__xmi="y"), zipped(a__xmi=xmi(ANNA))[:-30]]


@pytest.mark.parametrize("data", INVALID_ZIPS)
def test_invalid_zip_files(data: bytes) -> None:
    (problem,) = refused("xmi", {"a.zip": data})
    assert (problem.file, problem.code) == ("a.zip", "zip")


def test_a_zip_bomb_and_a_damaged_type_system_are_refused() -> None:
    (problem,) = refused("xmi", {"a.zip": zipped(a__xmi=" " * (70 * 1024 * 1024))})
    assert (problem.file, problem.code) == ("a.zip", "size")
    (problem,) = refused("xmi", {"sub/a.xmi": xmi(ANNA), "sub/TypeSystem.xml": "<a"})
    assert (problem.file, problem.code) == ("sub/TypeSystem.xml", "xml")


def test_sentences_are_written() -> None:
    text = "\ufeffDr. 😊 Anna\r\n\tNeri “<&>” lives.\r\nEnd \n"
    sentences = by_cassis(write_one("xmi", text, [])[0]).select(SENTENCE)
    assert [text[each.begin : each.end] for each in sentences][-1] == "End"


@pytest.mark.parametrize("kind", ["xmi", "cas-json"])
def test_what_cassis_writes_is_read(kind: str) -> None:
    system = cassis.TypeSystem()
    phi = system.create_type("webanno.custom.Phi", "uima.tcas.Annotation")
    for name, range_name in (("Kind", "String"), ("Sure", "String"), ("Hidden", "Boolean")):
        system.create_feature(phi, name, f"uima.cas.{range_name}")
    cas = cassis.Cas(system)
    cas.sofa_string, cas.sofa_mime = "\ufeff😊 Anna\r\n\tNeri", "text/plain"
    cas.add(phi(begin=3, end=7, Kind="NAME", Sure="no", Hidden=True))
    cas.add(phi(begin=10, end=14, Kind="DATE", Hidden=False))
    files = {"a.xmi": cas.to_xmi(), "TypeSystem.xml": system.to_xml()} if kind == "xmi" else {"a.json": cas.to_json()}
    note = read_one(kind, files)
    assert (note.text, note.warnings) == (cas.sofa_string, [])
    assert facts(note.spans) == [(3, 7, "NAME", (("Hidden", True), ("Sure", "no"))), (10, 14, "DATE", ())]


@pytest.mark.parametrize("kind", ["xmi", "cas-json", "webanno-tsv"])
def test_a_layer_with_tags_and_no_second_feature_for_labels(kind: str) -> None:
    """A feature that readers take for the label's before that of the layer is a loss."""
    layer = replace(Layer.named("webanno.custom.Phi:Kind"), tags={"NAME": 'a "tag" <|_*'})
    held = (("kind", "x"), ("sure", "yes"), ("type", "y"))
    files, losses = write_one(writer(kind, layer=layer), "Anna", [Span(0, 4, "NAME", attributes=held)])
    note = read_one(kind, files, {layer.tags["NAME"]: "NAME"})
    assert facts(note.spans) == [(0, 4, "NAME", (("sure", "yes"),))]
    assert note.layers == {"webanno.custom.Phi:Kind": layer.tags} and len(losses) == 1


# CAS JSON.


TEXT = "Dr. Anna 😊 Neri"


def cas(*structures: dict[str, Any], text: str = TEXT, types: dict[str, Any] | None = None, **changes: Any) -> str:
    """A file with these feature structures; they are numbered from 2, and belong to the text, unless they say else."""
    sofa = {"%ID": 1, "%TYPE": "uima.cas.Sofa", "sofaNum": 1, "sofaID": "_InitialView", "sofaString": text}
    numbered = [{"%ID": number, "@sofa": 1} | each for number, each in enumerate(structures, 2)]
    members = [each["%ID"] for each in numbered]
    whole = {
        "%TYPES": types or {},
        "%FEATURE_STRUCTURES": [sofa, *numbered],
        "%VIEWS": {"_InitialView": {"%SOFA": 1, "%MEMBERS": members}},
    }
    return json.dumps(whole | changes, indent=1)


def entity(begin: Any, end: Any, value: Any = "NAME", **features: Any) -> dict[str, Any]:
    return {"%TYPE": NE, "begin": begin, "end": end, "value": value} | features


def test_reading_json() -> None:
    token = {"%TYPE": "de.tudarmstadt.ukp.dkpro.core.api.segmentation.type.Token", "begin": 0, "end": 3}
    note = read_one("cas-json", {"a.json": cas(entity(4, 8), token, entity(12, 16, "DATE", identifier="Q1"))})
    assert (note.text, note.warnings) == (TEXT, [])
    assert facts(note.spans) == [(4, 8, "NAME", ()), (11, 15, "DATE", (("identifier", "Q1"),))]


def test_feature_structures_by_id_and_marked_offsets() -> None:
    whole = json.loads(cas())
    sofa = whole["%FEATURE_STRUCTURES"][0]
    del sofa["%ID"]
    whole["%FEATURE_STRUCTURES"] = {"1": sofa, "2": {"%TYPE": NE, "@sofa": 1, "^begin": 4, "^end": 8, "value": "NAME"}}
    whole["%VIEWS"]["_InitialView"]["%MEMBERS"] = [2]
    assert read_one("cas-json", {"a.json": json.dumps(whole)}).spans == [Span(4, 8, "NAME")]
    # Odd views and types do no harm.
    for odd in (None, 1, [], {"a": 1}, {"_InitialView": {"%MEMBERS": 1}}):
        data = cas(entity(4, 8), **{"%TYPES": odd, "%VIEWS": odd})
        assert read_one("cas-json", {"a.json": data}).spans == [Span(4, 8, "NAME")]


def test_values_of_features() -> None:
    phi = "webanno.custom.Phi"
    given = {"%TYPE": phi, "begin": 4, "end": 8, "kind": "NAME", "on": True, "off": False, "level": 3, "#odd": "NaN"}
    note = read_one("cas-json", {"a.json": cas(given | {"none": None, "@links": 9, "list": [1]})})
    assert facts(note.spans) == [(4, 8, "NAME", (("level", "3"), ("odd", "NaN"), ("on", True)))]
    assert [problem.code for problem in note.warnings] == ["not kept"] * 2


def test_what_is_not_imported_of_json_is_reported() -> None:
    part = {"%TYPE": "de.tudarmstadt.ukp.dkpro.core.api.lexmorph.type.pos.POS", "begin": 0, "end": 3}
    relation = {"%TYPE": "webanno.custom.Rel", "begin": 0, "end": 3, "@Governor": 2, "@Dependent": 3}
    link = {"%TYPE": "webanno.custom.Link", "role": "x", "@target": 2}
    note = read_one("cas-json", {"a.json": cas(entity(4, 8), part, relation, entity(4, 4), link)})
    assert facts(note.spans) == [(4, 8, "NAME", ())] and [problem.code for problem in note.warnings] == ["not kept"] * 3


INVALID_STRUCTURES = [
    (entity(4, 8, "OTHER"), "label"), (entity(4, 10), "offsets"), (entity(4, "x"), "offsets"),
    (entity([], {}), "offsets"), (entity(4, 8) | {"@sofa": 7}, "sofa"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "file", "data", "code"),
    [
        *(("xmi", "a.xmi", xmi(NERI, element), (4, code)) for element, code in INVALID_ELEMENTS),
        *(("cas-json", "a.json", cas(entity(0, 3), each), (20, code)) for each, code in INVALID_STRUCTURES),
    ],
)
def test_invalid_annotations(kind: str, file: str, data: str, code: tuple[int, str]) -> None:
    problems = refused(kind, {file: data})
    assert ([problem.file for problem in problems], said(problems)) == ([file], [code])
    assert "Anna" not in str(problems[0])


INVALID_JSON = [
    ("", "format"), ("[]", "format"), (cas(entity(4, 8)) + "{}", "format"), ("{}", "format"), ("[" * 100_000, "json"),
    (cas(entity(4, 8))[:-20], "json"), (cas().replace("%VIEWS", "%TYPES"), "json"), (cas(text="a\0"), "json"),
    (cas().replace("Anna", "\\ud800"), "json"), (cas().replace('"sofaNum": 1', '"sofaNum": NaN'), "json"),
    (cas().replace('"sofaNum": 1', '"sofaNum": ' + "9" * 400), "json"), (cas().replace("sofaString", "other"), ""),
    (cas(**{"%FEATURE_STRUCTURES": []}), "no text"), (cas(**{"%FEATURE_STRUCTURES": [1]}), "record"),
    (cas(**{"%FEATURE_STRUCTURES": [{"%TYPE": 1}]}), "record"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "code"), INVALID_JSON)
def test_invalid_json_files(data: str, code: str) -> None:
    for note in read_all("cas-json", {"a.json": data}):
        if code:
            assert isinstance(note, NoteError)
            assert [(problem.file, problem.code) for problem in note.problems] == [("a.json", code)]


def test_the_line_of_invalid_json() -> None:
    lines = cas(entity(4, 8)).split("\n")
    at = next(number for number, line in enumerate(lines) if '"begin"' in line)
    lines[at] = lines[at].replace(":", "")
    assert said(refused("cas-json", {"a.json": "\n".join(lines)})) == [(at + 1, "json")]


@given(texts_with_spans(12))
def test_any_note_comes_back_exactly_and_cassis_reads_it(made: tuple[str, list[Span]]) -> None:
    text, spans = made
    held = (("box", True), ("sure", 'é <"&>'))
    spans = [replace(span, attributes=held if span.label == "DATE" else ()) for span in spans]
    files, losses = write_one("cas-json", text, spans)
    note = read_one("cas-json", files)
    expected = sorted(set(facts(spans)))
    assert (note.text, facts(note.spans)) == (text, expected)
    assert (note.warnings, len(losses)) == ([], len(spans) - len(expected))
    read = cassis.load_cas_from_json(files["a.json"].decode())
    assert read.sofa_string == text
    assert (
        sorted(
            (each.begin, each.end, each.value, (("box", True), ("sure", each.sure)) if each.value == "DATE" else ())
            for each in read.select(NE)
        )
        == expected
    )

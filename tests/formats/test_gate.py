"""GATE XML."""

from pathlib import Path

import pytest

from annotations.formats.base import AcceptedLabels, LoadedFiles
from annotations.formats.gate import GateFormat, set_format
from annotations.text.spans import Span
from tests.formats.helpers import facts, read_one, refused, said, write_one

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

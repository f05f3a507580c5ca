"""GATE XML."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from annotations.domain.spans import Span
from tests.domain.formats.helpers import NAMES, read_one, refused, said, write_one

TEXT = '<Node id="0"/>Anna<Node id="4"/> 😀 <Node id="8"/>2069<Node id="12"/>\n'


def gate(sets: str, text: str = TEXT) -> dict[str, bytes | str]:
    return {
        "a.xml": "<?xml version='1.0' encoding='UTF-8'?>\n<GateDocument version=\"3\">\n<!-- features -->\n\n"
        '<GateDocumentFeatures>\n<Feature><Name className="java.lang.String">gate.SourceURL</Name>'
        '<Value className="java.lang.String">created from String</Value></Feature>\n</GateDocumentFeatures>\n'
        f"<TextWithNodes>{text}</TextWithNodes>\n{sets}</GateDocument>"
    }


def annotation(kind: str, start: int, end: int, features: str = "") -> str:
    return f'<Annotation Id="{start}" Type="{kind}" StartNode="{start}" EndNode="{end}">\n{features}</Annotation>\n'


def feature(name: str, value: str, kind: str = "java.lang.String") -> str:
    named = f'<Name className="java.lang.String">{name}</Name>'
    return f'<Feature>\n{named}\n<Value className="{kind}">{value}</Value>\n</Feature>\n'


def test_the_default_set_with_its_features() -> None:
    features = feature("certainty", "low &amp; behold") + feature("negated", "true", "java.lang.Boolean")
    features += feature("asked", "false", "java.lang.Boolean")
    default = f"<AnnotationSet>\n{annotation('NAME', 0, 4, features)}{annotation('DATE', 8, 12)}</AnnotationSet>\n"
    markup = f'<AnnotationSet Name="Original markups">\n{annotation("p", 0, 12)}</AnnotationSet>\n'
    other = f'<AnnotationSet Name="Key">\n{annotation("NAME", 8, 12)}</AnnotationSet>\n'
    relations = '<RelationSet>\n<Relation Id="9" Type="coref" Members="0;8"/>\n</RelationSet>\n'
    note = read_one("gate", gate(default + markup + other + relations))
    assert note.text == "Anna 😀 2069\n"
    assert note.spans == [Span(0, 4, "NAME"), Span(7, 11, "DATE")]
    assert note.spans[0].attributes == (("certainty", "low & behold"), ("negated", True))
    assert [warning.code for warning in note.warnings] == ["not kept"] * 3


def test_a_named_set_if_the_default_set_is_empty() -> None:
    markup = f'<AnnotationSet Name="Original markups">\n{annotation("p", 0, 12)}</AnnotationSet>\n'
    key = f'<AnnotationSet Name="Key">\n{annotation("NAME", 8, 12)}</AnnotationSet>\n'
    note = read_one("gate", gate(f"<AnnotationSet>\n</AnnotationSet>\n{markup}{key}"))
    assert note.spans == [Span(7, 11, "NAME")]
    assert read_one("gate", gate(markup)).spans == []


def test_problems_have_lines() -> None:
    wrong = annotation("NAME", 0, 5) + annotation("PERSON", 0, 4) + annotation("NAME", 4, 4)
    assert said(refused("gate", gate(f"<AnnotationSet>\n{wrong}</AnnotationSet>\n"))) == [
        (11, "offsets"),
        (13, "label"),
        (15, "empty"),
    ]
    assert said(refused("gate", gate("", text='<Node id="0"/>Anna<Node id="0"/>'))) == [(None, "id")]
    assert said(refused("gate", {"a.xml": "<GateDocument/>"})) == [(None, "structure")]


def test_nodes_count_utf16() -> None:
    files, losses = write_one("gate", "😀 Anna", [Span(2, 6, "NAME"), Span(0, 1, "DATE")])
    root = ET.fromstring(files["a.xml"])
    assert losses == []
    assert [node.get("id") for node in root.iter("Node")] == ["0", "2", "3", "7"]
    assert [(each.get("StartNode"), each.get("EndNode")) for each in root.iter("Annotation")] == [
        ("0", "2"),
        ("3", "7"),
    ]
    assert read_one("gate", files, NAMES).spans == [Span(0, 1, "DATE"), Span(2, 6, "NAME")]


def test_gates_package_reads_the_same(tmp_path: Path) -> None:
    gatenlp = pytest.importorskip("gatenlp")
    text = "\ufeff😀 Anna <b>\r\nNeri & co."
    held = (("certainty", "low"), ("negated", True))
    files, _ = write_one("gate", text, [Span(3, 7, "NAME", attributes=held), Span(13, 17, "DATE")])
    (tmp_path / "a.xml").write_bytes(files["a.xml"])
    document = gatenlp.Document.load(str(tmp_path / "a.xml"), fmt="gatexml")
    assert document.text == text
    assert [(each.type, each.start, each.end, dict(each.features.items())) for each in document.annset()] == [
        ("NAME", 3, 7, dict(held)),
        ("DATE", 13, 17, {}),
    ]

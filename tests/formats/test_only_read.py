"""Formats that are only read: PubTator and PubAnnotation."""

import json

import pytest

from annotations.formats import READERS, claiming
from annotations.formats.base import LoadedFiles
from annotations.text.spans import Span
from tests.formats.helpers import NAMES, facts, outcomes, read_all, read_one, refused, said

PUBTATOR = READERS["pubtator"]
PUBANNOTATION = READERS["pubannotation"]
ROWS = (
    "12|t|Seen 😀 by Anna Neri.\r\n12|a|She came on 2069.\r\n12\t{}\t{}\tAnna Neri\tNAME\tD1\r\n"
    "12\t{}\t{}\t2069\tDATE\t-1\r\n12\tCID\tD1\tD2\r\n\r\n"
)


@pytest.mark.parametrize("wide", [0, 1])
def test_pubtator(wide: int) -> None:
    """Offsets count code points, or UTF-16 code units with `wide`."""
    rows = ROWS.format(10 + wide, 19 + wide, 33 + wide, 37 + wide) + "a/../b|t|Bo\nx|t|Anna\nx\t0\t4\tAnna\tNAME\n"
    files: dict[str, bytes | str] = {"x.txt": rows}
    assert claiming([("x.txt", rows.encode())], READERS) == "pubtator"
    one, two, three = read_all(PUBTATOR, files)
    assert (one.name, one.text) == ("12", "Seen 😀 by Anna Neri.\nShe came on 2069.")
    assert facts(one.spans) == [(10, 19, "NAME", (("identifier", "D1"),)), (33, 37, "DATE", ())]
    assert said(one.warnings) == [(5, "not kept")]
    assert (two.name, two.text, two.spans, said(two.warnings)) == ("x-00002", "Bo", [], [(7, "name")])
    assert (three.name, three.spans) == ("x", [Span(0, 4, "NAME")])
    (group,), _problems = PUBTATOR.group(files)
    counted = list(PUBTATOR.used_labels(group, LoadedFiles(lambda _name: rows.encode())))
    assert counted == [{"NAME": 1, "DATE": 1}, {}, {"NAME": 1}]


def test_documents_beside_a_broken_one_are_read() -> None:
    rows = "1|t|Anna\n1\t0\t3\tAnna\tNAME\n\n2|t|Bo\nfree text\n\n3\t0\t1\tB\tNAME\n\n4|t|Bo\n"
    assert outcomes(PUBTATOR, {"a.pubtator": rows}) == [[(2, "quote")], [(5, "line")], [(7, "line")], "4"]
    assert said(refused(PUBTATOR, {"a.pubtator": b"1|t|\xff"})) == [(1, "utf8")]
    assert said(refused(PUBTATOR, {"a.pubtator": ""})) == [(1, "no text")]


def denotation(identity: str, label: str, *pieces: tuple[int, int]) -> dict[str, object]:
    spans = [{"begin": begin, "end": end} for begin, end in pieces]
    return {"id": identity, "span": spans if len(spans) > 1 else spans[0], "obj": label}


def test_pubannotation() -> None:
    record = {
        "sourcedb": "PMC", "sourceid": "77", "divid": 3, "text": "Anna 😀 Neri, 2069",
        "denotations": [denotation("T1", "NAME", (0, 4)), denotation("T2", "ID-1", (0, 4), (7, 11))],
        "blocks": [denotation("T3", "DATE", (13, 17))],
        "attributes": [{"subj": "T1", "pred": "sure", "obj": "low"}, {"subj": "T3", "pred": "x", "obj": True}],
        "relations": [{"id": "R1", "subj": "T1", "pred": "of", "obj": "T3"}], "other": 1,
    }  # fmt: skip
    data = json.dumps(record)
    assert claiming([("a.json", data.encode())], READERS) == "pubannotation"
    note = read_one(PUBANNOTATION, {"a.json": data})
    assert (note.name, facts(note.spans)) == (
        "PMC-77-3",
        [(0, 4, "ID-1", ()), (0, 4, "NAME", (("sure", "low"),)), (7, 11, "ID-1", ()), (13, 17, "DATE", (("x", True),))],
    )
    assert said(note.warnings) == [(1, "discontinuous"), (1, "not kept"), (1, "not kept")]
    (group,), _problems = PUBANNOTATION.group(["a.json"])
    counted = list(PUBANNOTATION.used_labels(group, LoadedFiles(lambda _name: data.encode())))
    assert counted == [{"NAME": 1, "ID-1": 1, "DATE": 1}]
    # Offsets of TextAE may count UTF-16, and an array holds many notes.
    notes = [{"text": "😀 Anna", "denotations": [denotation("T1", "NAME", (3, 7))]}, {"text": "x", "denotations": []}]
    first, second = read_all(PUBANNOTATION, {"a.json": json.dumps(notes)}, NAMES)
    assert (first.spans, said(first.warnings), second.name) == ([Span(2, 6, "NAME")], [(1, "unit")], "a-00002")
    for wrong in ({"span": {"begin": 0}, "obj": "NAME"}, {"span": [], "obj": "NAME"}, 7):
        data = json.dumps({"text": "x", "denotations": [wrong]})
        assert said(refused(PUBANNOTATION, {"a.json": data})) == [(1, "span")]

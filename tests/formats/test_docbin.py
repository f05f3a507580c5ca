"""spaCy's binary files, against spaCy itself where it is installed."""

import io
import subprocess
import sys
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.formats.base import NoteFiles
from annotations.formats.docbin import DocBinFormat
from annotations.formats.docbin.writing import SYMBOLS, number
from annotations.formats.notes import OutNote
from annotations.text.spans import Span, overlaps, trim
from tests.formats.helpers import NAMES, OnDisk, outcomes, parsed, read_one, refused, said, write_one
from tests.text.strategies import texts, texts_with_spans

DOCBIN = DocBinFormat()
TEXT = "\ufeffDr. Anna  Neri,\r\n\tVia Roma 1 😀 DATE \n"
SPANS = [Span(5, 9, "NAME"), Span(5, 15, "NAME"), Span(5, 15, "ID-1"), Span(19, 29, "ID-1"), Span(30, 36, "DATE")]


def written(*notes: OutNote) -> bytes:
    out = io.BytesIO()
    with DOCBIN.sink(out, NAMES) as add:
        for note in notes:
            assert add(note) == []
    return out.getvalue()


def unpacked(data: bytes) -> dict[str, Any]:
    content: dict[str, Any] = msgpack.unpackb(zlib.decompress(data))
    return content


def packed(content: dict[str, Any]) -> bytes:
    return zlib.compress(msgpack.packb(content))


def test_attributes_of_spans_with_the_same_bounds_are_losses() -> None:
    spans = [Span(0, 4, "NAME", attributes=(("x", True),)), Span(0, 4, "DATE")]
    files, losses = write_one("docbin", "Anna", spans)
    assert [loss.span for loss in losses] == [spans[0]]
    assert [span.attributes for span in read_one("docbin", files).spans or []] == [(), ()]


def test_spacy_and_others_are_not_loaded() -> None:
    code = 'import sys, annotations.formats\nassert not {"spacy", "srsly", "msgpack", "pyarrow", "datasets"} & '
    subprocess.run([sys.executable, "-c", code + "set(sys.modules)"], check=True, cwd=Path(__file__).parents[2])


# With spaCy


@pytest.fixture(scope="module")
def nlp() -> Any:
    return pytest.importorskip("spacy").blank("xx")


def docs(data: bytes, nlp: Any) -> list[Any]:
    from spacy.tokens import DocBin

    return list(DocBin().from_bytes(data).get_docs(nlp.vocab))


def from_spacy(*given: Any, **settings: Any) -> bytes:
    from spacy.tokens import DocBin

    return DocBin(docs=given, **settings).to_bytes()


def test_symbols_are_those_of_spacy() -> None:
    assert pytest.importorskip("spacy.symbols").IDS == SYMBOLS


@given(st.one_of(texts(), st.sampled_from(sorted(SYMBOLS))))
def test_numbers_of_strings_are_those_of_spacy(string: str) -> None:
    assert pytest.importorskip("spacy.strings").get_string_id(string) == number(string)


@given(made=texts_with_spans())
def test_spacy_reads_the_same(nlp: Any, made: tuple[str, list[Span]]) -> None:
    text, spans = made
    (doc,) = docs(written(OutNote("a", text, sorted(set(spans)))), nlp)
    assert (doc.text, doc.user_data) == (text, {"name": "a"})
    found = [(ent.start_char, ent.end_char, ent.label_) for ent in [*doc.ents, *doc.spans.get("sc", [])]]
    assert sorted(found) == [(span.start, span.end, span.label) for span in sorted(set(spans))]
    alone = [span for span in spans if not any(overlaps(span, each) for each in spans if each != span)]
    assert {(s.start, s.end, s.label) for s in alone} <= {(e.start_char, e.end_char, e.label_) for e in doc.ents}


@given(made=texts_with_spans())
def test_what_spacy_writes_is_read(nlp: Any, made: tuple[str, list[Span]]) -> None:
    from spacy.util import filter_spans

    text, spans = made
    doc = nlp(text)
    expanded = [doc.char_span(span.start, span.end, span.label, alignment_mode="expand") for span in spans]
    doc.spans["sc"] = [span for span in expanded if not span.text.isspace()]
    doc.set_ents([span for span in filter_spans(doc.spans["sc"]) if span.text == span.text.strip()])
    doc.user_data["name"] = "x"
    note = read_one("docbin", {"a.spacy": from_spacy(doc, store_user_data=True)})
    assert (note.name, note.text) == ("x", doc.text)
    expected = {(*trim(text, span.start_char, span.end_char), span.label_) for span in doc.spans["sc"]}
    assert {(span.start, span.end, span.label) for span in note.spans or []} == expected


def test_documents_without_names_or_spaces(nlp: Any) -> None:
    from spacy.tokens import Doc

    plain = nlp("Anna")
    words = Doc(nlp.vocab, words=["Anna", "Neri"], ents=["B-NAME", "I-NAME"])
    plain.cats = {"letter": 1.0}
    plain.spans["other"] = [plain[0:1]]
    plain.user_data["key"] = [1]
    found = parsed("docbin", {"x/a.spacy": from_spacy(plain, words, store_user_data=True)})
    assert [(note.name, note.text, note.spans, said(note.warnings)) for note in found] == [
        ("x/a-00001", "Anna", [], [(None, "not kept")] * 3),
        ("x/a-00002", words.text, [Span(0, 9, "NAME")], [(None, "rebuilt")]),
    ]


def test_extension_attributes_of_spacy(nlp: Any) -> None:
    from spacy.tokens import Span as TheirSpan

    TheirSpan.set_extension("deidreview_role", default=None, force=True)
    doc = nlp("Anna Neri")
    doc.ents = [TheirSpan(doc, 0, 2, label="NAME")]
    doc.ents[0]._.deidreview_role = "patient"
    (span,) = read_one("docbin", {"a.spacy": from_spacy(doc, store_user_data=True)}).spans or []
    assert span.attributes == (("deidreview_role", "patient"),)
    (back,) = docs(written(OutNote("a", "Anna Neri", [span])), nlp)
    assert back.ents[0]._.deidreview_role == "patient"
    TheirSpan.remove_extension("deidreview_role")


def test_span_groups_as_older_versions_wrote_them(nlp: Any) -> None:
    doc = nlp("Anna Neri")
    doc.spans["sc"] = [doc.char_span(0, 4, label="NAME")]
    content = unpacked(from_spacy(doc)) | {"span_groups": [msgpack.packb([doc.spans["sc"].to_bytes()])]}
    assert read_one("docbin", {"a.spacy": packed(content)}).spans == [Span(0, 4, "NAME")]
    for key in ("span_groups", "flags"):
        del content[key]
    note = read_one("docbin", {"a.spacy": packed(content)})
    assert (note.text, note.spans) == ("Anna Neri", [])


# Broken files


GROUP = {"name": "sc", "attrs": {}, "spans": [b"\xff" * 40]}


BROKEN_PARTS = [
    ({"tokens": b"1234"}, "docbin"), ({"spaces": b""}, "docbin"), ({"lengths": b"\xff\xff\xff\xff"}, "docbin"),
    ({"lengths": b"1"}, "docbin"), ({"attrs": []}, "docbin"), ({"attrs": "x"}, "docbin"), ({"strings": 5}, "docbin"),
    ({"strings": [5]}, "docbin"), ({"strings": []}, "docbin"), ({"strings": ["An\0a"]}, "docbin"),
    ({"strings": ["Anna"]}, "label"),  # none for the label
    ({"user_data": [b"\xc1"]}, "docbin"), ({"user_data": [5]}, "docbin"),
    ({"user_data": [msgpack.packb({"name": "../x"})]}, "name"), ({"span_groups": [b"\x93"]}, "docbin"),
    ({"span_groups": [msgpack.packb({b"x": ["sc"]})]}, "docbin"),
    ({"span_groups": [msgpack.packb([msgpack.packb(GROUP)])]}, "docbin"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "code"), BROKEN_PARTS)
def test_broken_parts(change: dict[str, Any], code: str) -> None:
    content = unpacked(written(OutNote("a", "Anna", [Span(0, 4, "NAME")])))
    (problem,) = refused("docbin", {"a.spacy": packed(content | change)})
    assert (problem.file if code != "name" else "a.spacy", problem.code) == ("a.spacy", code)


def test_notes_that_are_refused_beside_others() -> None:
    notes = [OutNote("a", "An\0a", []), OutNote("b", "Bo", []), OutNote("b", "B", [])]
    assert outcomes("docbin", {"a.spacy": written(*notes)}) == [[(None, "nul")], "b", [(None, "same name")]]
    (problem,) = refused("docbin", {"a.spacy": written(OutNote("b", "Bo", [Span(0, 2, "NAME")]))}, {})
    assert problem.code == "label"


def test_a_file_that_grows_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("annotations.formats.docbin._SMALL", 1 << 20)
    assert said(refused("docbin", {"a.spacy": zlib.compress(bytes(1 << 25))})) == [(None, "size")]


@pytest.mark.nightly
def test_many_notes_are_written_and_read_at_flat_memory(tmp_path: Path) -> None:
    path = tmp_path / "train.spacy"
    tracemalloc.start()
    with path.open("wb") as out, DOCBIN.sink(out, NAMES) as add:
        for at in range(200):
            add(OutNote(f"n{at}", "Dr. Anna Neri came to Roma. " * 40, [Span(4, 13, "NAME")]))
    group = NoteFiles("train", {}, ("train.spacy",))
    assert sum(1 for _ in DOCBIN.read_many(group, OnDisk(path), NAMES)) == 200
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 12_000_000

"""spaCy's binary files, against spaCy itself where it is installed."""

import io
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.domain.formats import FORMATS, detected
from annotations.domain.formats.base import Loaded, NoteFiles, OutNote
from annotations.domain.formats.docbin import DocBinFormat
from annotations.domain.formats.docbin.strings import SYMBOLS, number
from annotations.domain.notes import NoteError, ParsedNote
from annotations.domain.spans import Span
from annotations.domain.whitespace import trim
from tests.domain.formats.helpers import NAMES, OnDisk, read_all, read_one, refused, said, write_one
from tests.domain.strategies import texts, texts_with_spans

DOCBIN = DocBinFormat()
TEXT = "\ufeffDr. Anna  Neri,\r\n\tVia Roma 1 😀 DATE \n"
SPANS = [Span(5, 9, "NAME"), Span(5, 15, "NAME"), Span(5, 15, "ID-1"), Span(19, 29, "ID-1"), Span(30, 36, "DATE")]


def written(*notes: OutNote) -> bytes:
    out = io.BytesIO()
    with DOCBIN.sink(out, NAMES) as add:
        for note in notes:
            assert add(note) == []
    return out.getvalue()


def test_attributes_of_spans_with_the_same_bounds_are_losses() -> None:
    spans = [Span(0, 4, "NAME", attributes=(("x", True),)), Span(0, 4, "DATE")]
    files, losses = write_one("docbin", "Anna", spans)
    assert [loss.span for loss in losses] == [spans[0]]
    assert [span.attributes for span in read_one("docbin", files).spans or []] == [(), ()]


def test_spacy_is_not_loaded() -> None:
    code = """
import sys
import annotations.domain.formats
assert not {"spacy", "srsly", "msgpack", "pyarrow", "datasets"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[3])


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
    assert doc.text == text
    assert doc.user_data == {"name": "a"}
    found = [(ent.start_char, ent.end_char, ent.label_) for ent in [*doc.ents, *doc.spans.get("sc", [])]]
    assert sorted(found) == [(span.start, span.end, span.label) for span in sorted(set(spans))]
    longest = [span for span in spans if not any(overlap(span, each) for each in spans if each != span)]
    assert {(s.start, s.end, s.label) for s in longest} <= {(e.start_char, e.end_char, e.label_) for e in doc.ents}


def overlap(a: Span, b: Span) -> bool:
    return a.start < b.end and b.start < a.end


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
    first, second = read_all("docbin", {"x/a.spacy": from_spacy(plain, words, store_user_data=True)})
    assert isinstance(first, ParsedNote)
    assert (first.name, first.text, first.spans) == ("x/a-00001", "Anna", [])
    assert said(first.warnings) == [(None, "not kept")] * 3
    assert isinstance(second, ParsedNote)
    assert (second.name, second.text, second.spans) == ("x/a-00002", words.text, [Span(0, 9, "NAME")])
    assert said(second.warnings) == [(None, "rebuilt")]


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
    content = msgpack.unpackb(zlib.decompress(from_spacy(doc)))
    content["span_groups"] = [msgpack.packb([doc.spans["sc"].to_bytes()])]
    note = read_one("docbin", {"a.spacy": zlib.compress(msgpack.packb(content))})
    assert note.spans == [Span(0, 4, "NAME")]
    for key in ("span_groups", "flags"):
        del content[key]
    note = read_one("docbin", {"a.spacy": zlib.compress(msgpack.packb(content))})
    assert (note.text, note.spans) == ("Anna Neri", [])


@pytest.mark.nightly
def test_spacy_finds_no_fault(nlp: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    debugging = pytest.importorskip("spacy.cli.debug_data")
    import spacy

    people = ["Anna", "Bo", "Carla", "Dino", "Eva"]
    notes = [OutNote(f"n{at}", f"Dr. {name} {at} came.", [Span(4, 4 + len(name), "NAME")]) for at, name in
             enumerate(people * 40)]  # fmt: skip
    for part, chosen in (("train", notes[:150]), ("dev", notes[150:])):
        (tmp_path / f"{part}.spacy").write_bytes(written(*chosen))
    config = spacy.cli.init_config(lang="en", pipeline=["ner"], silent=True)
    config["paths"] |= {"train": str(tmp_path / "train.spacy"), "dev": str(tmp_path / "dev.spacy")}
    config.to_disk(tmp_path / "config.cfg")
    debugging.debug_data(tmp_path / "config.cfg", silent=False, verbose=True, no_format=True)
    out = capsys.readouterr().out
    assert "150 training docs" in out
    assert "Good amount of examples for all labels" in out
    assert "✘" not in out


# Broken files


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"tokens": b"1234"}, "docbin"),
        ({"spaces": b""}, "docbin"),
        ({"lengths": b"\xff\xff\xff\xff"}, "docbin"),
        ({"lengths": b"1"}, "docbin"),
        ({"attrs": []}, "docbin"),
        ({"attrs": "x"}, "docbin"),
        ({"strings": 5}, "docbin"),
        ({"strings": [5]}, "docbin"),
        ({"strings": []}, "docbin"),
        ({"strings": ["An\0a"]}, "docbin"),
        ({"user_data": [b"\xc1"]}, "docbin"),
        ({"user_data": [5]}, "docbin"),
        ({"user_data": [msgpack.packb({"name": "../x"})]}, "name"),
        ({"span_groups": [b"\x93"]}, "docbin"),
        ({"span_groups": [msgpack.packb({b"x": ["sc"]})]}, "docbin"),
        (
            {"span_groups": [msgpack.packb([msgpack.packb({"name": "sc", "attrs": {}, "spans": [b"\xff" * 40]})])]},
            "docbin",
        ),
    ],
)
def test_broken_parts(change: dict[str, Any], code: str) -> None:
    content = msgpack.unpackb(zlib.decompress(written(OutNote("a", "Anna", [Span(0, 4, "NAME")]))))
    (problem,) = refused("docbin", {"a.spacy": zlib.compress(msgpack.packb(content | change))})
    assert (problem.file if code != "name" else "a.spacy", problem.code) == ("a.spacy", code)


def test_a_label_without_its_string() -> None:
    content = msgpack.unpackb(zlib.decompress(written(OutNote("a", "Anna", [Span(0, 4, "NAME")]))))
    content["strings"].remove("NAME")
    assert said(refused("docbin", {"a.spacy": zlib.compress(msgpack.packb(content))})) == [(None, "label")]


def test_a_text_with_nul_and_an_unknown_label() -> None:
    first, second = read_all(
        "docbin", {"a.spacy": written(OutNote("a", "An\0a", []), OutNote("b", "Bo", [Span(0, 2, "NAME")]))}, {}
    )
    assert isinstance(first, NoteError)
    assert isinstance(second, NoteError)
    assert [each.code for each in (*first.problems, *second.problems)] == ["nul", "label"]


def test_two_notes_with_one_name() -> None:
    first, second = read_all("docbin", {"a.spacy": written(OutNote("a", "A", []), OutNote("a", "B", []))})
    assert isinstance(first, ParsedNote)
    assert isinstance(second, NoteError)
    assert second.problems[0].code == "same name"


def test_a_file_that_grows_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("annotations.domain.formats.docbin.reading._SMALL", 1 << 20)
    assert said(refused("docbin", {"a.spacy": zlib.compress(bytes(1 << 25))})) == [(None, "size")]


def test_grouping_detection_and_labels() -> None:
    files = {"x/train.spacy": written(OutNote("a", TEXT, SPANS)), "b.txt": b"text"}
    groups, problems = DOCBIN.group(files)
    assert [(group.name, group.bundle) for group in groups] == [("x/train", ("x/train.spacy",))]
    assert [(problem.file, problem.code) for problem in problems] == [("b.txt", "unknown file")]
    assert detected(files, Loaded(files.__getitem__)) == "docbin"
    assert list(DOCBIN.used_labels(groups[0], Loaded(files.__getitem__))) == [{"NAME": 2, "ID-1": 2, "DATE": 1}]
    assert list(DOCBIN.used_labels(NoteFiles("x", {}, ("x",)), Loaded(lambda _: b"x"))) == []


def test_many_notes_are_written_and_read_at_flat_memory(tmp_path: Path) -> None:
    import tracemalloc

    text = "Dr. Anna Neri came to Roma. " * 40
    path = tmp_path / "train.spacy"
    tracemalloc.start()
    with path.open("wb") as out, DOCBIN.sink(out, NAMES) as add:
        for at in range(200):
            add(OutNote(f"n{at}", text, [Span(4, 13, "NAME")]))

    group = NoteFiles("train", {}, ("train.spacy",))
    assert sum(1 for _ in FORMATS["docbin"].read_many(group, OnDisk(path), NAMES)) == 200
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 12_000_000

"""Spaces around spans that are attached to other text, and the way back: the entity spacer of Catelli 2021, 3.1.1."""

import json

import pytest
from hypothesis import given

from annotations.domain.formats import reader, writer
from annotations.domain.formats.base import Format
from annotations.domain.spans import Span
from annotations.domain.tokens import Token, tokenize
from tests.domain.formats.helpers import read_all, read_one, refused, said, write_one
from tests.domain.strategies import texts_with_apart_spans, texts_with_spans

TEXT = "Flew from GambiaHome on 3May, ok."
SPANS = [Span(10, 16, "NAME"), Span(24, 28, "DATE")]
both = pytest.mark.parametrize("kind", ["brat", "conll"])


def spaced(kind: str) -> Format:
    return writer(kind, spaced=True)


def by_white_space(text: str) -> list[Token]:
    tokens, at = [], 0
    for word in text.split():
        at = text.index(word, at)
        tokens.append(Token(at, at + len(word)))
        at += len(word)
    return tokens


def test_brat() -> None:
    files, losses = write_one(spaced("brat"), TEXT, SPANS)
    assert losses == []
    assert files["a.txt"] == b"Flew from Gambia Home on 3May, ok."
    assert files["a.ann"].decode() == (
        "T1\tNAME 10 16\tGambia\nT2\tDATE 25 29\t3May\n"
        "#1\tAnnotatorNotes T1\tSpaces were inserted into this text. Its offset map is needed to import it again.\n"
    )
    assert json.loads(files["a.map"])["inserted"] == [16]


def test_conll_has_whole_tokens_instead_of_split_ones() -> None:
    files, losses = write_one(spaced("conll"), TEXT, SPANS[:1])
    assert losses == []
    rows = files["a.conll"].decode().split("\n")
    assert rows[:2] == [
        "# columns: token start end tag; note: a",
        "# Spaces were inserted into this text. Its offset map is needed to import it again.",
    ]
    assert rows[4:6] == ["Gambia\t10\t16\tB-NAME", "Home\t17\t21\tO"]


def test_spaces_stand_where_the_tokenizer_needs_them() -> None:
    files, _ = write_one(writer("brat", spaced=True, tokenizer=by_white_space), "(Anna), 47aa", [Span(1, 5, "NAME")])
    assert files["a.txt"] == b"( Anna ), 47aa"
    assert json.loads(files["a.map"])["inserted"] == [1, 6]


@both
def test_a_text_that_needs_no_space_is_written_as_ever(kind: str) -> None:
    assert write_one(spaced(kind), "Dr. Anna, 54", [Span(4, 8, "NAME")]) == write_one(
        kind, "Dr. Anna, 54", [Span(4, 8, "NAME")]
    )


@both
def test_the_original_comes_back(kind: str) -> None:
    files, _ = write_one(spaced(kind), TEXT, SPANS)
    note = read_one(kind, files)
    assert (note.text, note.spans, note.warnings) == (TEXT, SPANS, [])


@given(texts_with_spans(12))
def test_any_brat_export_comes_back_exactly(made: tuple[str, list[Span]]) -> None:
    text, spans = made
    for tokenizer in (tokenize, by_white_space):
        files, losses = write_one(writer("brat", spaced=True, tokenizer=tokenizer), text, spans)
        assert losses == []
        note = read_one("brat", files)
        assert (note.text, note.spans) == (text, sorted(set(spans)))


@given(texts_with_apart_spans())
def test_any_conll_export_comes_back_exactly(made: tuple[str, list[Span]]) -> None:
    text, spans = made
    files, losses = write_one(writer("conll", spaced=True, sentences=True), text, spans)
    assert losses == []
    note = read_one("conll", files)
    assert (note.text, note.spans) == (text, spans)


@given(texts_with_spans())
def test_losses_name_the_original_offsets(made: tuple[str, list[Span]]) -> None:
    text, spans = made
    assert write_one(spaced("conll"), text, spans)[1] == write_one("conll", text, spans)[1]
    assert write_one(spaced("brat"), text, spans)[1] == write_one("brat", text, spans)[1]


@both
def test_without_its_map_the_note_is_refused(kind: str) -> None:
    files, _ = write_one(spaced(kind), TEXT, SPANS)
    del files["a.map"]
    (problem,) = refused(kind, files)
    assert (problem.code, "a.map" in problem.message) == ("map", True)


@both
@pytest.mark.parametrize(
    "change",
    [
        {"a.map": b"{"},
        {"a.map": b"[]"},
        {"a.map": b"{}"},
        {"a.map": b'{"inserted": [16.5]}'},
        {"a.map": b'{"inserted": [true]}'},
        {"a.map": b'{"inserted": [-1]}'},
        {"a.map": b'{"inserted": [16, 16]}'},
        {"a.map": b'{"inserted": [16]}'},  # no hashes
        {"a.map": b'{"inserted": [99]}'},
        {"a.txt": b"Flew from Gambia Home on 4May, ok."},  # changed after the export
    ],
)
def test_a_map_that_does_not_fit_refuses_the_note(kind: str, change: dict[str, bytes]) -> None:
    files, _ = write_one(spaced(kind), TEXT, [])
    problems = refused(kind, write_one(spaced(kind), TEXT, SPANS)[0] | change)
    assert "map" in [code for _, code in said(problems)] or change.keys() == {"a.txt"}
    assert all("Gambia" not in str(problem) for problem in problems)
    assert files


def test_another_place_for_the_space_is_refused() -> None:
    files, _ = write_one(spaced("brat"), TEXT, SPANS)
    content = json.loads(files["a.map"])
    files["a.map"] = json.dumps(content | {"inserted": [21]}).encode()
    assert said(refused("brat", files)) == [(None, "map")]


@pytest.mark.parametrize("kind", ["brat", "conll", "text"])
def test_the_text_alone_comes_back_with_its_map(kind: str) -> None:
    files, _ = write_one(spaced("brat"), TEXT, SPANS)
    note = read_one(kind, {name: data for name, data in files.items() if not name.endswith(".ann")})
    assert (note.text, note.spans) == (TEXT, None)


def test_spans_that_were_changed_in_brat_get_original_offsets() -> None:
    files, _ = write_one(spaced("brat"), TEXT, SPANS)
    files["a.ann"] = b"T1\tNAME 10 21\tGambia Home\n"
    assert read_one("brat", files).spans == [Span(10, 20, "NAME")]


def test_a_span_on_an_inserted_space_is_refused() -> None:
    files, _ = write_one(spaced("conll"), TEXT, SPANS)
    files["a.conll"] = b" \t16\t17\tB-NAME\n"
    (problem,) = refused("conll", files)
    assert (problem.code, "16" in problem.message) == ("white", True)


def test_maps_without_a_text_are_problems() -> None:
    for kind in ("brat", "conll", "text"):
        groups, problems = reader(kind).group(["a.txt", "b.map"])
        assert [group.name for group in groups] == ["a"]
        assert [(problem.file, problem.code) for problem in problems] == [("b.map", "no text")]


def test_notes_with_inserted_spaces_cannot_be_in_a_file_of_many_notes() -> None:
    files, _ = write_one(spaced("conll"), TEXT, SPANS)
    many = b"# many notes\n-DOCSTART-\ta\n" + files["a.conll"]
    problems = [
        note.problems[0]
        for note in read_all("conll", {"all.conll": many, "a.txt": files["a.txt"]})
        if hasattr(note, "problems")
    ]
    assert [problem.code for problem in problems] == ["map"]


def test_a_bundle_beside_a_note_with_a_map() -> None:
    files, _ = write_one(spaced("conll"), TEXT, SPANS)
    other = {"all.conll": b"-DOCSTART-\tb\nab\t0\t2\tB-NAME\n", "b.txt": b"ab"}
    notes = read_all("conll", files | other)
    assert [(note.text, note.spans) for note in notes] == [(TEXT, SPANS), ("ab", [Span(0, 2, "NAME")])]


def test_labels_that_cannot_be_written_need_no_space() -> None:
    files, losses = write_one(spaced("brat"), "GambiaHome", [Span(0, 6, "ETÀ")])
    assert files["a.txt"] == b"GambiaHome" and len(losses) == 1

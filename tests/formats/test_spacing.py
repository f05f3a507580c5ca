"""Spaces around spans that are attached to other text, and the way back: the entity spacer of Catelli 2021, 3.1.1."""

import json

import pytest
from hypothesis import given

from annotations.formats import FORMATS, writer
from annotations.formats.base import Format
from annotations.text.spans import Span, Token, tokenize
from tests.formats.helpers import outcomes, parsed, read_one, refused, said, write_one
from tests.text.strategies import texts_with_apart_spans, texts_with_spans

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
    assert losses == [] and files["a.txt"] == b"Flew from Gambia Home on 3May, ok."
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
    assert files["a.txt"] == b"( Anna ), 47aa" and json.loads(files["a.map"])["inserted"] == [1, 6]
    # No space is needed by a label that can't be written.
    files, losses = write_one(spaced("brat"), "GambiaHome", [Span(0, 6, "ETÀ")])
    assert (files["a.txt"], len(losses)) == (b"GambiaHome", 1)


@both
def test_the_original_comes_back(kind: str) -> None:
    files, _ = write_one(spaced(kind), TEXT, SPANS)
    note = read_one(kind, files)
    assert (note.text, note.spans, note.warnings) == (TEXT, SPANS, [])
    del files["a.map"]
    (problem,) = refused(kind, files)
    assert (problem.code, "a.map" in problem.message) == ("map", True)
    # A text that needs no space is written as ever.
    plain = ("Dr. Anna, 54", [Span(4, 8, "NAME")])
    assert write_one(spaced(kind), *plain) == write_one(kind, *plain)


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


INVALID_MAPS = [
    *["{", "[]", "{}", '{"inserted": [16.5]}', '{"inserted": [true]}', '{"inserted": [-1]}'],
    *['{"inserted": [16, 16]}', '{"inserted": [99]}'],
    '{"inserted": [16]}',  # no hashes
]


@both
@pytest.mark.parametrize("change", INVALID_MAPS)
def test_a_map_that_does_not_fit_refuses_the_note(kind: str, change: str) -> None:
    files, _ = write_one(spaced(kind), TEXT, SPANS)
    problems = refused(kind, files | {"a.map": change})
    assert "map" in [code for _, code in said(problems)] and "Gambia" not in " ".join(map(str, problems))


@both
def test_a_text_or_a_map_that_was_changed_after_the_export_refuses_the_note(kind: str) -> None:
    files, _ = write_one(spaced(kind), TEXT, SPANS)
    assert "Gambia" not in str(refused(kind, files | {"a.txt": b"Flew from Gambia Home on 4May, ok."}))
    other = json.dumps(json.loads(files["a.map"]) | {"inserted": [21]})
    assert (None, "map") in said(refused(kind, files | {"a.map": other}))


@pytest.mark.parametrize("kind", ["brat", "conll", "text"])
def test_the_text_alone_comes_back_with_its_map(kind: str) -> None:
    files, _ = write_one(spaced("brat"), TEXT, SPANS)
    note = read_one(kind, {name: data for name, data in files.items() if not name.endswith(".ann")})
    assert (note.text, note.spans) == (TEXT, None)


def test_spans_that_were_changed_after_the_export() -> None:
    files, _ = write_one(spaced("brat"), TEXT, SPANS)
    changed = files | {"a.ann": b"T1\tNAME 10 21\tGambia Home\n"}
    assert read_one("brat", changed).spans == [Span(10, 20, "NAME")]
    # On an inserted space
    files, _ = write_one(spaced("conll"), TEXT, SPANS)
    (problem,) = refused("conll", files | {"a.conll": b" \t16\t17\tB-NAME\n"})
    assert (problem.code, "16" in problem.message) == ("white", True)


def test_maps_without_a_text_are_problems() -> None:
    for kind in ("brat", "conll", "text"):
        groups, problems = FORMATS[kind].group(["a.txt", "b.map"])
        assert [group.name for group in groups] == ["a"]
        assert [(problem.file, problem.code) for problem in problems] == [("b.map", "no text")]


def test_notes_with_inserted_spaces_cannot_be_in_a_file_of_many_notes_but_beside() -> None:
    files, _ = write_one(spaced("conll"), TEXT, SPANS)
    many = b"# many notes\n-DOCSTART-\ta\n" + files["a.conll"]
    found = outcomes("conll", {"all.conll": many, "a.txt": files["a.txt"]})
    assert [each[0][1] for each in found if isinstance(each, list)] == ["map"]
    notes = parsed("conll", files | {"all.conll": b"-DOCSTART-\tb\nab\t0\t2\tB-NAME\n", "b.txt": b"ab"})
    assert [(note.text, note.spans) for note in notes] == [(TEXT, SPANS), ("ab", [Span(0, 2, "NAME")])]

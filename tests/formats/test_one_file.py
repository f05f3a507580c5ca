"""The contract of formats that keep many notes in one file, and of those in JSON."""

import io
import json
import random
import re
from typing import IO

import pytest
from hypothesis import given

from annotations.formats import FORMATS
from annotations.formats.base import LoadedFiles, OneFileFormat
from annotations.formats.notes import NoteError, OutNote, ParsedNote
from annotations.text.spans import Span
from tests.formats.helpers import BINARY, NAMES, outcomes, parsed, read_all
from tests.text.strategies import texts_with_spans

LOSING = {"bioes", "conll", "conll2003", "iob1", "inline"}
TABLES = {"csv", "xlsx"}  # their rows are put in the order of the notes before these are read
ONE_FILE = {kind: format for kind, format in FORMATS.items() if isinstance(format, OneFileFormat)}
JSON = sorted(kind for kind, format in ONE_FILE.items() if format.endings[0].startswith("json"))
one_file = pytest.mark.parametrize("kind", sorted(ONE_FILE))
readable_file = pytest.mark.parametrize("kind", sorted(set(ONE_FILE) - BINARY - TABLES))

TEXT = "Mario Rossi 😀\r\nvia Gàmbia 12, 20100 Milano"
SPANS = [
    Span(0, 11, "NAME", attributes=(("role", "patient"),)), Span(0, 5, "NAME"), Span(16, 29, "ID-1"),
    Span(31, 36, "DATE"),
]  # fmt: skip


def written_together(kind: str, notes: dict[str, tuple[str, list[Span]]]) -> dict[str, bytes]:
    """The files of several notes."""
    format = ONE_FILE[kind]
    out = io.BytesIO()
    beside: dict[str, bytes] = {}
    with format.sink(out, NAMES) as add:
        for name, (text, spans) in notes.items():
            note = OutNote(name, text, spans)
            add(note)
            beside |= format.beside(note)
    return {format.file: out.getvalue()} | beside


@one_file
@given(texts_with_spans(), texts_with_spans())
def test_many_notes_in_one_file(kind: str, one: tuple[str, list[Span]], other: tuple[str, list[Span]]) -> None:
    notes = {"a": one, "sub/b": other, "c": ("", []), "d": ("Anna", [])}
    read = parsed(kind, written_together(kind, notes))
    assert [(note.name, note.text) for note in read] == [(name, text) for name, (text, _) in notes.items()]
    if kind not in LOSING:
        assert [note.spans for note in read] == [sorted(set(spans)) for _, spans in notes.values()]
    assert not any(isinstance(note, ParsedNote) for note in read_all(kind, written_together(kind, {})))


@readable_file
def test_notes_are_read_one_after_the_other(kind: str) -> None:
    files = written_together(kind, {f"n{number:04}": ("Anna " * 200, [Span(0, 4, "NAME")]) for number in range(700)})
    stream = io.BytesIO(files[ONE_FILE[kind].file])

    class OneStream(LoadedFiles):
        def open(self, name: str, /) -> IO[bytes]:
            return stream

    (group,), _ = ONE_FILE[kind].group(files)
    notes = ONE_FILE[kind].read_many(group, OneStream(files.__getitem__), NAMES)
    assert isinstance(next(notes), ParsedNote)
    assert stream.tell() < len(stream.getvalue()) / 2
    assert sum(1 for _ in notes) == 699


@readable_file
def test_a_broken_note_does_not_take_the_others_with_it(kind: str) -> None:
    files = written_together(kind, {f"n{number}": (f"Anna {number}", [Span(0, 4, "NAME")]) for number in range(5)})
    file = ONE_FILE[kind].file
    found = outcomes(kind, files | {file: files[file].replace(b"NAME", b"UNKNOWN", 1)})
    assert [each for each in found if isinstance(each, str)] == ["n1", "n2", "n3", "n4"]
    assert [[code for _, code in each] for each in found if not isinstance(each, str)] == [["label"]]


@pytest.mark.parametrize("kind", JSON)
def test_values_of_a_wrong_type_give_a_note_or_an_error(kind: str) -> None:
    files = written_together(kind, {"a": (TEXT, SPANS)})
    file = ONE_FILE[kind].file
    value = json.loads(files[file])
    for path in paths(value):
        for other in (None, -1, "x", [[]], {}, [{}]):
            check_broken(kind, files | {file: json.dumps(replaced(value, path, other)).encode()})


@pytest.mark.parametrize("kind", JSON)
def test_exchanged_keys_and_values_give_a_note_or_an_error(kind: str) -> None:
    files = written_together(kind, {"a": (TEXT, SPANS), "b": (TEXT, SPANS)})
    file = ONE_FILE[kind].file
    for seed in range(40):
        chance = random.Random(seed)
        data = files[file]
        for pattern in (rb'"[A-Za-z_]+":', rb'(?<=:)(?:"[^"]*"|\[[^\[\]]*\]|[0-9]+)', rb'[{}\[\],]|"[a-z]*"'):
            one, other = chance.sample(list(re.finditer(pattern, data)), 2)
            data = data[: one.start()] + other[0] + data[one.end() :]
            check_broken(kind, files | {file: data})


def check_broken(kind: str, files: dict[str, bytes]) -> None:
    """Every note is read, or refused with a reason that names a file and never quotes the text."""
    (group,), _ = FORMATS[kind].group(files)
    list(FORMATS[kind].used_labels(group, LoadedFiles(files.__getitem__)))
    for note in FORMATS[kind].read_many(group, LoadedFiles(files.__getitem__), NAMES):
        problems = note.problems if isinstance(note, NoteError) else note.warnings
        assert problems or isinstance(note, ParsedNote)
        for problem in problems:
            assert problem.file in files
            # A broken file can have its text where a label should be.
            assert problem.code == "label" or not re.search("Mario|Rossi|Milano|bia", str(problem))


def paths(value: object) -> list[tuple[object, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else []
    return [(), *((key, *path) for key, below in items for path in paths(below))]


def replaced(value: object, path: tuple[object, ...], other: object) -> object:
    if not path:
        return other
    key, *rest = path
    if isinstance(value, dict):
        return value | {key: replaced(value[key], tuple(rest), other)}
    assert isinstance(value, list)
    return [replaced(item, tuple(rest), other) if at == key else item for at, item in enumerate(value)]

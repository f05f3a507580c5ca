"""What every format must do: round trips, detection, losses, refusals; several notes in one file."""

import io
import json
import random
import re
from dataclasses import replace
from typing import IO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.formats import FORMATS, detected, writer
from annotations.formats.base import LoadedFiles, OneFileFormat
from annotations.formats.notes import NoteError, OutNote, ParsedNote
from annotations.text.spans import Span, SpanError, Token, overlaps
from tests.formats import helpers
from tests.text.strategies import texts_with_spans

every_format = pytest.mark.parametrize("kind", sorted(FORMATS))
with_text_files = pytest.mark.parametrize("kind", sorted(set(FORMATS) - set(helpers.WHOLE)))
with_whole_files = pytest.mark.parametrize("kind", sorted(set(helpers.WHOLE) - helpers.BINARY))
with_spans = pytest.mark.parametrize("kind", helpers.SPAN_FORMATS)
SYSTEM_FILES = ["annotation.conf", "sub/visual.conf", ".DS_Store", "sub/._a.txt", "__MACOSX/a.txt", "LICENSE",
                "README.md", "readme.txt", ".stats_cache", "sub/"]  # fmt: skip


@every_format
def test_system_files_are_ignored_and_files_that_belong_to_no_note_are_problems(kind: str) -> None:
    ending = helpers.WHOLE.get(kind, "txt")
    groups, problems = FORMATS[kind].group([*SYSTEM_FILES, f"sub/a.{ending}"])
    assert ([group.name for group in groups], problems) == (["sub/a"], [])
    upper, *names = [f"a.{ending.upper()}", f"../c.{ending}", f"/d.{ending}", f"e\\f.{ending}"]
    groups, problems = FORMATS[kind].group([f"a.{ending}", upper, "b.docx", *names])
    assert [group.name for group in groups] == ["a"]
    assert [(problem.file, problem.code) for problem in problems] == [
        (upper, "same name"), ("b.docx", "unknown file"), *((name.replace("\\", "\\\\"), "name") for name in names),
    ]  # fmt: skip


@with_text_files
def test_a_text_file_alone_gives_a_note_without_annotations(kind: str) -> None:
    note = helpers.read_one(kind, {"sub/a.txt": "\ufeffAnna\r\n"})
    assert (note.name, note.text, note.spans, note.warnings) == ("sub/a", "\ufeffAnna\r\n", None, [])


@with_text_files
@pytest.mark.parametrize(("data", "code"), [("Müller".encode("latin-1"), "utf8"), (b"Anna\0", "nul")])
def test_an_invalid_text_is_refused(kind: str, data: bytes, code: str) -> None:
    (problem,) = helpers.refused(kind, {"a.txt": data})
    assert (problem.file, problem.code) == ("a.txt", code)


@with_whole_files
@pytest.mark.parametrize("byte", [b"\xfc", b"\0"])
def test_an_invalid_text_is_refused_in_a_whole_file(kind: str, byte: bytes) -> None:
    files, _ = FORMATS[kind].write(OutNote("a", "Muller", []), helpers.NAMES)
    broken = {name: data.replace(b"Muller", b"M" + byte + b"ller") for name, data in files.items()}
    (problem,) = helpers.refused(kind, broken)
    assert (problem.file, problem.line is not None) == (f"a.{helpers.WHOLE[kind]}", True)


@with_text_files
@given(texts_with_spans())
def test_the_text_is_written_byte_for_byte(kind: str, made: tuple[str, list[Span]]) -> None:
    text, spans = made
    files, _ = FORMATS[kind].write(OutNote("sub/a", text, spans), helpers.NAMES)
    assert files["sub/a.txt"] == text.encode()


@every_format
def test_what_is_written_is_detected_and_its_labels_are_counted(kind: str) -> None:
    files, _ = helpers.write_one(kind, "Anna 1", [Span(0, 4, "NAME"), Span(5, 6, "DATE")])
    loaded = LoadedFiles(files.__getitem__)
    assert detected(files, loaded) == FORMATS[kind].name == kind
    (group,), _ = FORMATS[kind].group(files)
    assert kind == "text" or list(FORMATS[kind].used_labels(group, loaded)) == [{"NAME": 1, "DATE": 1}]


CLAIMS = [
    ("doccano", "a.jsonl", '{"id":1,"text":"x","label":[],"Comments":[]}', True),
    ("doccano", "a.json", '[{"text": "x", "labels": [[0, 1, "A"]]}]', True),
    ("doccano", "a.jsonl", '{"text":"x","spans":[]}', False), ("doccano", "a.jsonl", '{"text":"x"}', False),
    ("doccano", "a.txt", '{"id":1,"text":"x","label":[]}', False),
    ("prodigy", "a.jsonl", '{"text":"x","spans":[]}', True),
    ("prodigy", "a.jsonl", '{"text":"x","_input_hash":1}', True),
    ("prodigy", "a.json", '[{"text": "x", "answer": "accept"}]', True),
    ("prodigy", "a.jsonl", '{"text":"x","label":[]}', False),
    ("label-studio", "a.json", '[{"data": {"text": "x"}}]', True),
    ("label-studio", "a.json", '[{"id":1,"annotations":[{"result":[]}],"data":{"text":"x"}}]', True),
    ("label-studio", "a.json", '[{"text":"x","label":[{"start":0,"labels":["A"]}],"annotation_id":3}]', True),
    ("label-studio", "a.json", '{"source":"x","documents":[{"passages":[{"annotations":[]}]}]}', False),
    ("label-studio", "a.txt", '[{"data": {"text": "x"}}]', False),
    ("web-annotation", "a.jsonld", '{"@context": "http://www.w3.org/ns/anno.jsonld"}', True),
    ("web-annotation", "a.jsonld", '{"@context": "http://schema.org"}', False),
    ("web-annotation", "a.txt", "http://www.w3.org/ns/anno.jsonld", False),
    ("cas-json", "a.json", '{"text": "x"}', False), ("xmi", "a.zip", "PK", False),
    ("webanno-tsv", "a.tsv", "token\tstart", False), ("webanno-tsv", "a.txt", "#FORMAT=WebAnno TSV 3.3\n", False),
    ("hf", "a.jsonl", '{"tokens": ["A"], "ner_tags": [0]}', True),
    ("hf", "a.json", '[{"words": ["A"], "labels": ["O"]}]', True),
    ("hf", "a.jsonl", '{"text": "A", "tokens": [{"text": "A"}], "spans": []}', False),
    ("hf", "a.jsonl", '{"text": "A", "labels": [[0, 1, "X"]]}', False), ("hf", "a.parquet", "PAR1", True),
    ("hf", "a.arrow", "\xff\xff\xff\xff", True), ("hf", "a.txt", "PAR1", False),
    ("conll2003", "train.txt", ("Anna B-NAME\n" * 9000)[: 64 * 1024], True),  # the start of a long file
]  # fmt: skip


@pytest.mark.parametrize(("kind", "file", "head", "claimed"), CLAIMS)
def test_claims(kind: str, file: str, head: str, claimed: bool) -> None:
    assert FORMATS[kind].claims(file, head.encode("latin-1")) is claimed


@every_format
def test_a_name_outside_the_folder_and_a_span_outside_the_text_are_not_written(kind: str) -> None:
    with pytest.raises(NoteError):
        helpers.write_one(kind, "text", [], name="../a")
    if kind in helpers.SPAN_FORMATS:
        with pytest.raises(SpanError):
            helpers.write_one(kind, "text", [Span(0, 5, "NAME")])


@with_spans
def test_a_label_with_an_invalid_code_is_a_loss_and_may_be_written_under_another(kind: str) -> None:
    spans = [Span(0, 2, "ETÀ"), Span(3, 5, "NAME")]
    files, losses = helpers.write_one(kind, "ab cd", spans)
    assert [(loss.note, loss.span) for loss in losses] == [("a", spans[0])]
    assert helpers.read_one(kind, files).spans == [spans[1]]
    files, losses = helpers.write_one(kind, "Anna", [Span(0, 4, "NAME")], {"NAME": "PERSON"})
    assert (losses, helpers.read_one(kind, files, {"PERSON": "NAME"}).spans) == ([], [Span(0, 4, "NAME")])


def test_plain_text_loses_every_span() -> None:
    span = Span(0, 4, "NAME")
    files, losses = helpers.write_one("text", "Anna", [span])
    assert (files, [loss.span for loss in losses]) == ({"a.txt": b"Anna"}, [span])


ATTRIBUTES = [(), (("negated", True),), (("certainty", 'low "&<'), ("negated", True))]


TAGS = ["bioes", "conll", "conll2003", "iob1"]


@st.composite
def notes_to_write(draw: st.DrawFn) -> OutNote:
    text, spans = draw(texts_with_spans())
    spans = sorted(set(spans))
    held = draw(st.lists(st.sampled_from(ATTRIBUTES), min_size=len(spans), max_size=len(spans)))
    return OutNote("sub/a", text, [replace(span, attributes=each) for span, each in zip(spans, held, strict=True)])


@with_spans
@given(notes_to_write())
def test_what_is_written_is_read_again_or_reported_as_lost(kind: str, note: OutNote) -> None:
    files, losses = FORMATS[kind].write(note, helpers.NAMES)
    (back,) = helpers.read_all(kind, files)
    assert not isinstance(back, NoteError) and (back.name, back.text) == (note.name, note.text)
    lost = {loss.span for loss in losses}
    if kind not in {*TAGS, "inline"}:
        assert (back.spans, back.warnings) == (sorted(note.spans), [])
    given = {(span.start, span.end, span.label, span.attributes) for span in note.spans}
    found = {(span.start, span.end, span.label, span.attributes) for span in back.spans or []}
    assert {Span(*each[:3]) for each in given - found} <= lost
    # A piece may remain of a span that is lost.
    assert all(any(one[2] == span.label and overlaps(Span(*one[:3]), span) for span in lost) for one in found - given)


def long_tokens(text: str) -> list[Token]:
    """Tokens that begin or end with white space, or hold some."""
    return [Token(0, 9), Token(9, 12), Token(12, len(text))]


@pytest.mark.parametrize("kind", ["bioes", "conll2003", "iob1", "docbin", "hf"])
def test_another_tokenizer(kind: str) -> None:
    text = "Dr. Neri\n # -DOCSTART-"
    files, losses = helpers.write_one(writer(kind, tokenizer=long_tokens), text, [Span(4, 8, "NAME")])
    assert losses == []
    note = helpers.read_one(kind, files)
    assert (note.text, note.spans, note.warnings) == (text, [Span(4, 8, "NAME")], [])


COMPRESSED = {"docbin": ".spacy", "hf": ".parquet", "xlsx": ".xlsx"}


@every_format
def test_broken_files_are_refused_by_name_and_line(kind: str) -> None:
    text = "Anna 😀\r\nNeri <b> & ü Via"
    spans = [Span(0, 4, "NAME", attributes=ATTRIBUTES[2]), Span(1, 3, "DATE"), Span(8, 12, "ID-1")]
    files, _ = FORMATS[kind].write(OutNote("a", text, spans), helpers.NAMES)
    chance = random.Random(f"broken {kind}")
    refusals = 0
    for _ in range(80):
        broken = {name: mutated(data, chance) for name, data in files.items()}
        groups, _ = FORMATS[kind].group(broken)
        loaded = LoadedFiles(broken.__getitem__)
        for group in groups:
            list(FORMATS[kind].used_labels(group, loaded))
            for read in FORMATS[kind].read_many(group, loaded, helpers.NAMES):
                if isinstance(read, NoteError):
                    refusals += 1
                    assert read.problems
                    for problem in read.problems:
                        assert problem.file in broken and problem.message.endswith(".")
                        # Compressed files have no lines.
                        if kind in COMPRESSED and problem.file.endswith(COMPRESSED[kind]):
                            continue
                        assert problem.line is not None, problem
                        assert 1 <= problem.line <= broken[problem.file].count(b"\n") + 1
                else:
                    assert all(0 <= span.start < span.end <= len(read.text) for span in read.spans or [])
    assert refusals >= 20


def mutated(data: bytes, chance: random.Random) -> bytes:
    """The data with one to three faults in its bytes, lines or numbers."""
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(data) + 1)
        past = min(len(data), at + chance.randrange(40))
        lines = data.split(b"\n")
        numbers = list(re.finditer(rb"[0-9]+", data))
        match chance.randrange(6):
            case 0:
                data = data[:at]
            case 1:
                data = data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]
            case 2:
                data = data[:at] + data[past:]
            case 3:
                data = data[:past] + data[at:]
            case 4:
                lines[chance.randrange(len(lines))] = chance.choice(lines)
                data = b"\n".join(lines)
            case _ if numbers:
                number = chance.choice(numbers)
                other = chance.choice([b"9" * 30, b"-1", b"0", b"1e5", b"NaN", number.group() + b"1"])
                data = data[: number.start()] + other + data[number.end() :]
    return data


# ── Several notes in one file ─────────────────────────────────────────────────────────────────────────────────────────
LOSING = {"bioes", "conll", "conll2003", "iob1", "inline"}
TABLES = {"csv", "xlsx"}  # their rows are put in the order of the notes before these are read
ONE_FILE = {kind: format for kind, format in FORMATS.items() if isinstance(format, OneFileFormat)}
JSON = sorted(kind for kind, format in ONE_FILE.items() if format.endings[0].startswith("json"))
one_file = pytest.mark.parametrize("kind", sorted(ONE_FILE))
readable_file = pytest.mark.parametrize("kind", sorted(set(ONE_FILE) - helpers.BINARY - TABLES))

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
    with format.sink(out, helpers.NAMES) as add:
        for name, (text, spans) in notes.items():
            note = OutNote(name, text, spans)
            add(note)
            beside |= format.beside(note)
    return {format.file: out.getvalue()} | beside


@one_file
@given(texts_with_spans(), texts_with_spans())
def test_many_notes_in_one_file(kind: str, one: tuple[str, list[Span]], other: tuple[str, list[Span]]) -> None:
    notes = {"a": one, "sub/b": other, "c": ("", []), "d": ("Anna", [])}
    read = helpers.parsed(kind, written_together(kind, notes))
    assert [(note.name, note.text) for note in read] == [(name, text) for name, (text, _) in notes.items()]
    if kind not in LOSING:
        assert [note.spans for note in read] == [sorted(set(spans)) for _, spans in notes.values()]
    assert not any(isinstance(note, ParsedNote) for note in helpers.read_all(kind, written_together(kind, {})))


@readable_file
def test_notes_are_read_one_after_the_other(kind: str) -> None:
    files = written_together(kind, {f"n{number:04}": ("Anna " * 200, [Span(0, 4, "NAME")]) for number in range(700)})
    stream = io.BytesIO(files[ONE_FILE[kind].file])

    class OneStream(LoadedFiles):
        def open(self, name: str, /) -> IO[bytes]:
            return stream

    (group,), _ = ONE_FILE[kind].group(files)
    notes = ONE_FILE[kind].read_many(group, OneStream(files.__getitem__), helpers.NAMES)
    assert isinstance(next(notes), ParsedNote) and stream.tell() < len(stream.getvalue()) / 2
    assert sum(1 for _ in notes) == 699


@readable_file
def test_a_broken_note_does_not_take_the_others_with_it(kind: str) -> None:
    files = written_together(kind, {f"n{number}": (f"Anna {number}", [Span(0, 4, "NAME")]) for number in range(5)})
    file = ONE_FILE[kind].file
    found = helpers.outcomes(kind, files | {file: files[file].replace(b"NAME", b"UNKNOWN", 1)})
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
    for note in FORMATS[kind].read_many(group, LoadedFiles(files.__getitem__), helpers.NAMES):
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

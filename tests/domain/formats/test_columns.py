"""CoNLL without offsets: conll2003, iob1 and bioes."""

import io
from typing import IO

import pytest
from hypothesis import given

from annotations.domain.bio import encode
from annotations.domain.formats import FORMATS, detected, writer
from annotations.domain.formats.base import Loaded, NoteFiles
from annotations.domain.notes import NoteError, ParsedNote
from annotations.domain.spans import Span
from tests.domain.formats.helpers import NAMES, read_all, read_one, refused, said, write_one
from tests.domain.strategies import texts_with_apart_spans

TEXT = "Dr. Neri\n\nVia 1"
KINDS = ["conll2003", "iob1", "bioes"]
every_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.mark.parametrize(
    ("kind", "rows"),
    [
        ("conll2003", "Dr -X- O O\n. -X- O O\nNeri -X- O B-NAME\n\nVia -X- O B-ID-1\n1 -X- O I-ID-1\n\n"),
        ("iob1", "Dr O\n. O\nNeri I-NAME\n\nVia I-ID-1\n1 I-ID-1\n\n"),
        ("bioes", "Dr O\n. O\nNeri S-NAME\n\nVia B-ID-1\n1 E-ID-1\n\n"),
    ],
)
def test_writing(kind: str, rows: str) -> None:
    files, losses = write_one(kind, TEXT, [Span(4, 8, "NAME"), Span(10, 15, "ID-1")], name="sub/a")
    assert losses == []
    assert files["sub/a.conll"].decode() == f"-DOCSTART- -X- O O\n\n{rows}"
    assert files["sub/a.txt"] == TEXT.encode()
    assert detected(files, Loaded(files.__getitem__)) == kind


@every_kind
@given(made=texts_with_apart_spans())
def test_spans_without_overlaps_come_back_exactly(kind: str, made: tuple[str, list[Span]]) -> None:
    text, spans = made
    for sentences in (False, True):
        files, losses = write_one(writer(kind, sentences=sentences), text, spans)
        assert losses == []
        note = read_one(kind, files)
        assert (note.text, note.spans, note.warnings) == (text, spans, [])


@every_kind
@given(made=texts_with_apart_spans())
def test_seqeval_finds_the_same_spans(kind: str, made: tuple[str, list[Span]]) -> None:
    from seqeval.metrics.sequence_labeling import get_entities

    text, spans = made
    files, _ = write_one(kind, text, spans)
    found = []
    for block in files["a.conll"].decode().split("\n\n")[1:]:
        rows = [row.split(" ") for row in block.split("\n") if row]
        found += [
            (label, [row[0] for row in rows[first : last + 1]])
            for label, first, last in get_entities([row[-1] for row in rows])
        ]
    encoded = encode(text, spans)
    expected = [
        (span.label, [text[t.start : t.end] for t in encoded.tokens if span.start <= t.start < span.end])
        for span in spans
    ]
    assert found == expected


@pytest.mark.nightly
def test_spacy_finds_the_same_spans() -> None:
    converters = pytest.importorskip("spacy.training.converters")
    text = "Dr. Anna Neri, Via Roma 1\nMilano (Italy) 😀"
    spans = [Span(4, 13, "NAME"), Span(15, 25, "ID-1"), Span(26, 32, "ID-1")]
    for kind in ("conll2003", "iob1"):
        files, _ = write_one(kind, text, spans)
        (doc,) = converters.conll_ner_to_docs(files["a.conll"].decode(), no_print=True)
        assert [(ent.label_, ent.text) for ent in doc.ents] == [
            ("NAME", "Anna Neri"),
            ("ID-1", "Via Roma 1"),
            ("ID-1", "Milano"),
        ]


# As in the file of the shared task, https://www.clips.uantwerpen.be/conll2003/ner/.
REUTERS = """-DOCSTART- -X- -X- O

U.N. NNP I-NP I-ORG
official NN I-NP O
Ekeus NNP I-NP I-PER
heads VBZ I-VP O
for IN I-PP O
Baghdad NNP I-NP I-LOC
. . O O

-DOCSTART- -X- O O

Ekeus NNP I-NP B-PER
"""
PEOPLE = {"PER": "NAME", "ORG": "ORG", "LOC": "LOC"}


@every_kind
def test_the_file_of_the_shared_task(kind: str) -> None:
    first, second = read_all(kind, {"x/eng.train": REUTERS}, PEOPLE)
    assert isinstance(first, ParsedNote)
    assert first.name == "x/eng-00001"
    assert first.text == "U.N. official Ekeus heads for Baghdad ."
    assert first.spans == [Span(0, 4, "ORG"), Span(14, 19, "NAME"), Span(30, 37, "LOC")]
    assert said(first.warnings) == [(1, "rebuilt")]
    assert isinstance(second, ParsedNote)
    assert (second.name, second.text, second.spans) == ("x/eng-00002", "Ekeus", [Span(0, 5, "NAME")])
    assert said(second.warnings) == [(11, "rebuilt")]


def test_files_with_one_name_and_several_endings() -> None:
    notes = read_all("conll2003", {"eng.train": REUTERS, "eng.testa": "Anna B-PER\n"}, PEOPLE)
    assert [note.name for note in notes if isinstance(note, ParsedNote)] == [
        "eng.testa",
        "eng.train-00001",
        "eng.train-00002",
    ]


@pytest.mark.parametrize(
    ("rows", "spans"),
    [
        ("Anna B-NAME\nNeri I-NAME", [Span(0, 9, "NAME")]),
        ("Anna I-NAME\nNeri I-NAME", [Span(0, 9, "NAME")]),
        ("Anna B-NAME\nNeri L-NAME", [Span(0, 9, "NAME")]),
        ("Anna\tU-NAME\r\nNeri\tU-NAME\r\n", [Span(0, 4, "NAME"), Span(5, 9, "NAME")]),
        ("Anna S-name\n\n\nNeri S-NAME", [Span(0, 4, "NAME"), Span(5, 9, "NAME")]),
        ("Anna B-NAME\n\nNeri I-NAME", [Span(0, 4, "NAME"), Span(5, 9, "NAME")]),
        ("Anna\tNN B-NP\tB-NAME\nNeri\tNN I-NP\tI-NAME", [Span(0, 9, "NAME")]),
        ("\ufeffAnna  B-NAME \nNeri  I-NAME", [Span(0, 9, "NAME")]),
        ("# a comment\nAnna B-NAME\n# another one\nNeri I-NAME", [Span(0, 9, "NAME")]),
        ("Anna Neri\tB-NAME\t\n", [Span(0, 9, "NAME")]),
    ],
)
def test_rows_as_tools_write_them(rows: str, spans: list[Span]) -> None:
    note = read_one("conll2003", {"a.tsv": rows})
    assert note.text in ("Anna Neri", "Anna\nNeri")
    assert note.spans == spans


def test_a_hash_is_a_token() -> None:
    assert read_one("iob1", {"a.iob": "# O\n1 I-DATE\n# this is a comment\n"}).text == "# 1"


def test_rows_without_a_token_are_left_out() -> None:
    for rows in ("Anna B-NAME\n O\nNeri O", "Anna\tB-NAME\n\tO\nNeri\tO", "Anna\tB-NAME\n\ufeff\tO\nNeri\tO"):
        note = read_one("conll2003", {"a.conll": rows})
        assert (note.text, said(note.warnings)) == ("Anna Neri", [(1, "rebuilt"), (2, "not kept")])


def test_tokens_are_found_in_the_text_beside() -> None:
    rows = "Dr. O\n\nAnna B-NAME\n-LRB- O\nRoma B-ID-1\n-RRB- O\n"
    note = read_one("conll2003", {"a.conll": rows, "a.txt": "Dr.Anna  (Roma)\n"})
    assert note.spans == [Span(3, 7, "NAME"), Span(10, 14, "ID-1")]
    assert said(note.warnings) == [(4, "normalized")]


def test_a_token_that_does_not_follow() -> None:
    (problem,) = refused("conll2003", {"a.conll": "Anna O\nNero O\n\nX O", "a.txt": "Anna Neri X"})
    assert (problem.file, problem.line, problem.code) == ("a.conll", 2, "quote")
    assert "after character 4" in problem.message
    assert "Ner" not in str(problem)


def test_rows_that_end_before_the_text() -> None:
    note = read_one("conll2003", {"a.conll": "Anna B-NAME\n", "a.txt": "Anna Neri"})
    assert (note.spans, said(note.warnings)) == ([Span(0, 4, "NAME")], [(1, "short")])


ALL = "-DOCSTART- -X- sub/a O\n\nAnna O\n\n-DOCSTART-\tmy note\n\nBo\tB-NAME\n\n-DOCSTART- (c)\n\nDr O\n"


def test_notes_are_named_after_the_mark() -> None:
    files = {"x/all.conll": ALL, "x/sub/a.txt": "\nAnna", "x/my note.txt": "Bo!", "x/d.txt": "text"}
    notes = [note for note in read_all("conll2003", files) if isinstance(note, ParsedNote)]
    assert [(note.name, note.text, note.spans) for note in notes] == [
        ("x/sub/a", "\nAnna", []),
        ("x/my note", "Bo!", [Span(0, 2, "NAME")]),
        ("x/c", "Dr", []),
        ("x/d", "text", None),
    ]
    assert [said(note.warnings) for note in notes] == [[], [(7, "short")], [(9, "rebuilt")], []]


def test_notes_of_one_file_are_refused_separately() -> None:
    rows = "-DOCSTART- ../a\nBo O\n-DOCSTART- b\nBo X\n-DOCSTART- c\nBo B-PERSON\n-DOCSTART- d\nBo O\n-DOCSTART- d\n"
    *broken, good, twice = read_all("conll2003", {"all.conll": rows})
    assert isinstance(good, ParsedNote)
    assert [said(note.problems) for note in [*broken, twice] if isinstance(note, NoteError)] == [
        [(1, "name")],
        [(4, "tag")],
        [(6, "label")],
        [(9, "same name")],
    ]


def test_notes_of_conll_u() -> None:
    rows = "# newdoc id = a\nAnna O\n\n# newpar\nBo O\n\n# newdoc\nX O\n"
    notes = read_all("conll2003", {"all.conll": rows})
    assert [(note.name, note.text) for note in notes if isinstance(note, ParsedNote)] == [
        ("a", "Anna\nBo"),
        ("all-00002", "X"),
    ]


def test_a_text_file_with_rows_is_read_as_rows() -> None:
    files = {"train.txt": "Anna B-NAME\nNeri I-NAME\n. O\n", "note.txt": "vitamin B-12\n"}
    assert detected(files, Loaded(lambda name: files[name].encode())) == "conll2003"
    note, train = read_all("conll2003", files)
    assert isinstance(note, ParsedNote)
    assert (note.text, note.spans) == ("vitamin B-12\n", None)
    assert isinstance(train, ParsedNote)
    assert (train.text, train.spans) == ("Anna Neri .", [Span(0, 9, "NAME")])


def test_two_notes_for_one_text() -> None:
    rows = "-DOCSTART- O\n\nA O\n\n-DOCSTART- O\n\nB O\n"
    assert said(refused("iob1", {"a.conll": rows, "a.txt": "A B"})) == [(5, "many notes")]


def test_two_files_of_rows_for_one_text() -> None:
    groups, problems = FORMATS["bioes"].group(["a.txt", "a.conll", "a.iob"])
    assert [group.name for group in groups] == ["a"]
    assert [(problem.file, problem.code) for problem in problems] == [("a.iob", "same name")]


@pytest.mark.parametrize(
    ("row", "code"),
    [
        (b"Neri", "line"),
        (b"Neri NAME", "tag"),
        (b"Neri B-", "tag"),
        (b"O Neri", "tag"),
        (b"Neri B-PERSON", "label"),
        (b"N\xffri O", "utf8"),
        (b"N\0ri O", "nul"),
        (b"x" * (1 << 21) + b" O", "line"),
    ],
)
def test_invalid_rows(row: bytes, code: str) -> None:
    problems = refused("conll2003", {"a.conll": b"Dr O\n" + row + b"\nX O\n"})
    assert said(problems) == [(2, code)]
    assert "Ner" not in str(problems[0])


def test_problems_of_a_note_are_limited() -> None:
    assert len(refused("conll2003", {"a.conll": "x y\n" * 1500})) == 1000


@pytest.mark.parametrize(
    ("head", "kind"),
    [
        ("Anna B-NAME\nNeri I-NAME\n", "conll2003"),
        ("Anna I-NAME\nNeri I-NAME\n", "iob1"),
        ("Anna S-NAME\n", "bioes"),
        ("Anna U-NAME\n", "bioes"),
        ("-DOCSTART- -X- O O\n\n", "conll2003"),
        ("# columns: token start end tag\nAnna\t0\t4\tB-NAME\n", "conll"),
        ("Anna\t0\t4\tB-NAME\n", None),
        ("#FORMAT=WebAnno TSV 3.3\n\n\n#Text=Anna\n1-1\t0-4\tAnna\t_\t\n", None),
        ("Anna was here.\n", None),
        ("", None),
    ],
)
def test_detection(head: str, kind: str | None) -> None:
    kinds = [name for name in ("conll", *KINDS) if FORMATS[name].claims("a.conll", head.encode())]
    assert kinds == ([kind] if kind else [])


def test_a_long_file_is_detected_by_its_start() -> None:
    assert FORMATS["conll2003"].claims("train.txt", ("Anna B-NAME\n" * 9000).encode()[: 64 * 1024])


@every_kind
def test_labels_are_counted_as_written(kind: str) -> None:
    files = {
        "a.conll": b"Anna B-PER\nBo B-PER\nX junk\nY I-LOC\n\nZ I-LOC\n",
        "b.txt": b"text",
        "c.txt": b"Anna U-PER\n. O\n. O\n",
    }
    (group,), _ = FORMATS[kind].group(files)
    counts = list(FORMATS[kind].used_labels(group, Loaded(files.__getitem__)))
    assert counts == [{"PER": 2, "LOC": 2}, {"PER": 1}]


def test_a_file_of_many_notes_is_read_note_by_note() -> None:
    data = (b"-DOCSTART- -X- O O\n\n" + b"Anna B-NAME\nNeri I-NAME\nVia O\n\n" * 10) * 2000
    opened: list[IO[bytes]] = []

    class Streams(Loaded):
        def open(self, name: str, /) -> IO[bytes]:
            opened.append(io.BytesIO(data))
            return opened[-1]

    notes = FORMATS["conll2003"].read_many(NoteFiles("all", {}, ("all.conll",)), Streams(lambda _: b""), NAMES)
    assert isinstance(next(notes), ParsedNote)
    assert opened[-1].tell() < len(data) / 2
    assert sum(1 for _ in notes) == 1999

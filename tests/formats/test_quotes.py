"""Finding the text that an annotation quotes, and spaces around spans: Catelli 2021, section 3.1.1."""

import json
import re
from collections.abc import Callable

import pytest
from hypothesis import given

from annotations.formats import FORMATS, writer
from annotations.formats.base import AcceptedLabels, Format
from annotations.formats.quotes import NEAR, Miss, find_near
from annotations.text.spans import Span, Token, tokenize
from tests.formats.helpers import outcomes, parsed, read_one, refused, said, write_one
from tests.text.strategies import texts_with_apart_spans, texts_with_spans

NAMES = {"NAME": "NAME", "DATE": "DATE"}
REPAIR = AcceptedLabels(NAMES, repair=True)


PLACES = [
    ("Dr. Anna Neri", "Anna Neri", 2, (4, 13)),  # two too early
    ("Dr. Anna Neri", "Anna Neri", 40, (4, 13)),  # beyond the end
    ("Dr. Anna\n  Neri", "Anna Neri", 4, (4, 15)),  # other white space
    ("Dr. AnnaNeri", "Anna Neri", 4, (4, 12)),  # no white space inside (section 3.1.1)
    ("flew GambiaHome", "Gambia", 3, (5, 11)),  # attached to the next word
    ("Annamaria e Anna", "Anna", 0, (12, 16)),  # a whole word comes before a part of one
    ("Anna  Neri, Anna Neri", "Anna Neri", 3, (12, 21)),  # the exact quote comes before other white space
    ("Anna e Anna", "Anna", 7, (7, 11)),  # of two places, the one exactly as expected
    ("Anna e Anna", "Anna", 5, Miss.AMBIGUOUS),
    ("code 1234", "12", 5, Miss.ABSENT),  # a number is never cut
    ("x" * (NEAR + 1) + " Anna", "Anna", 0, Miss.ABSENT),  # not nearby
    ("Dr. Anna Neri", "Bianchi", 4, Miss.ABSENT),
    ("Dr. Anna Neri", " ", 3, Miss.ABSENT),
    ("a" * 5000, "a" * 2000, 0, Miss.ABSENT),  # no name is that long
]


@pytest.mark.parametrize(("text", "quote", "expected", "place"), PLACES)
def test_places(text: str, quote: str, expected: int, place: object) -> None:
    assert find_near(text, quote, expected) == place


def ann(rows: str, text: str = "Dr. Anna Neri, 3 May, flew GambiaHome.") -> dict[str, bytes | str]:
    return {"a.txt": text, "a.ann": rows}


def test_spans_are_moved_and_listed() -> None:
    note = read_one("brat", ann("T1\tNAME 5 14\tAnna Neri\nT2\tDATE 15 20\t3 May\nT3\tNAME 90 96\tGambia\n"), REPAIR)
    assert note.spans == [Span(4, 13, "NAME"), Span(15, 20, "DATE"), Span(27, 33, "NAME")]
    assert said(note.warnings) == [(1, "moved"), (3, "moved")]
    assert "5-14" in note.warnings[0].message and "4-13" in note.warnings[0].message
    assert "Anna" not in str(note.warnings) and "Gambia" not in str(note.warnings)
    # A span that is moved onto an equal one is imported once.
    note = read_one("brat", ann("T1\tNAME 4 13\tAnna Neri\nT2\tNAME 5 14\tAnna Neri\n"), REPAIR)
    assert (note.spans, said(note.warnings)) == ([Span(4, 13, "NAME")], [(2, "moved"), (2, "twice")])


def test_a_quote_that_is_not_found_still_refuses_the_note() -> None:
    rows = "T1\tNAME 5 14\tAnna Bianchi\nT2\tNAME 3 7\tAnna\nT3\tDATE 0 2\te\n"
    problems = refused("brat", ann(rows, "Anna e Anna e poi"), REPAIR)
    assert said(problems) == [(3, "quote"), (2, "quote"), (1, "quote")] and "3-7" in problems[1].message
    assert "Anna" not in str(problems[1])


def test_other_faults_are_still_refused() -> None:
    rows = "T1\tPERSON 5 14\tAnna Neri\nT2\tNAME 9 4\tx\nT3\tNAME 4 8;15 20\tAnna 3 May\n"
    assert said(refused("brat", ann(rows), REPAIR)) == [(1, "label"), (2, "empty")]
    assert said(refused("brat", ann("T1\tNAME 5 14\tAnna Neri\n"), NAMES)) == [(1, "quote")]  # without the option
    # After a span in its place, offsets count as right: 14 - 1 would be the first Anna, but 3 May was in its place.
    rows = "T1\tNAME 1 5\tRita\nT2\tDATE 6 11\t3 May\nT3\tNAME 14 18\tAnna\n"
    assert said(refused("brat", ann(rows, "Rita, 3 May. Anna e Anna."), REPAIR)) == [(3, "quote")]


def test_right_files_read_the_same_with_the_option() -> None:
    files = ann("T1\tNAME 4 13\tAnna Neri\nT2\tNAME 22 26\tflew\nR1\tX Arg1:T1 Arg2:T2\n")
    assert read_one("brat", files, NAMES) == read_one("brat", files, REPAIR)


LINES = "".join(f"line {n}\r\n" for n in range(150))
WIDE = "😀" * 150
WHOLE = [
    # Offsets that count each line end, or each emoji, otherwise, with the same quote many times within reach
    (f"{LINES}Anna e Anna", lambda text: text.replace("\r\n", "\n")),
    (f"{LINES}Anna e Anna".replace("\r\n", "\n"), lambda text: text.replace("\n", "\r\n")),
    (f"{WIDE} Anna e Anna", lambda text: text.replace("😀", "xx")),
]


@pytest.mark.parametrize("kind", ["brat", "i2b2", "bioc", "csv"])
@pytest.mark.parametrize(("text", "counted"), WHOLE)
def test_a_drift_is_mended_as_a_whole(kind: str, text: str, counted: Callable[[str], str]) -> None:
    wanted = [Span(len(text) - 11, len(text) - 7, "NAME"), Span(len(text) - 4, len(text), "NAME")]
    shift = len(counted(text)) - len(text)
    files, _losses = write_one(kind, text, wanted)
    for span in wanted:
        for file, data in files.items():
            if not file.endswith(".txt"):
                for at in (span.start, span.end):
                    data = re.sub(rb"(?<![0-9])%d(?![0-9])" % at, b"%d" % (at + shift), data)
                files[file] = data
    assert read_one(kind, files, REPAIR).spans == wanted


def test_spans_are_moved_in_other_formats_that_quote_them() -> None:
    tags = '<NAME start="5" end="14" text="Anna Neri" TYPE="NAME"/><DATE start="90" end="95" text="3 May"/>'
    files: dict[str, bytes | str] = {"a.xml": f"<a><TEXT>Dr. Anna Neri, 3 May</TEXT><TAGS>{tags}</TAGS></a>"}
    note = read_one("i2b2", files, REPAIR)
    assert note.spans == [Span(4, 13, "NAME"), Span(15, 20, "DATE")]
    assert said(note.warnings) == [(1, "moved"), (1, "moved")]
    assert said(refused("i2b2", files, NAMES)) == [(1, "quote"), (1, "outside")]
    files = {"a.xml": str(files["a.xml"]).replace("3 May</TEXT>", "</TEXT>")}
    assert said(refused("i2b2", files, REPAIR)) == [(1, "quote")]


SKIPPED = [
    ("brat", {"a.txt": "Anna", "a.ann": "T1\tNAME 0 4\tAnna\nT2\tDATE 2 9\tx\nA1\tsure T2\n"}),
    ("i2b2", {"a.xml": '<a><TEXT>Anna</TEXT><TAGS><NAME start="0" end="4"/><DATE start="4" end="4"/></TAGS></a>'}),
    ("i2b2", {"a.xml": '<a><TEXT>Anna</TEXT><TAGS><NAME start="0" end="4"/><DATE spans="x"/></TAGS></a>'}),
    ("doccano", {"a.jsonl": '{"text": "Anna", "label": [[0, 4, "NAME"], [4, 4, "DATE"]]}'}),
    (
        "gate",
        {
            "a.xml": '<GateDocument><TextWithNodes><Node id="0"/>Anna<Node id="4"/></TextWithNodes><AnnotationSet>'
            '<Annotation Type="NAME" StartNode="0" EndNode="4"/><Annotation Type="DATE" StartNode="4" EndNode="4"/>'
            "</AnnotationSet></GateDocument>"
        },
    ),
]


@pytest.mark.parametrize(("kind", "files"), SKIPPED)
def test_a_span_of_a_skipped_label_refuses_no_note(kind: str, files: dict[str, bytes | str]) -> None:
    note = read_one(kind, files, AcceptedLabels(NAMES, skipped={"DATE"}))
    assert (note.spans, note.skipped) == ([Span(0, 4, "NAME")], {"DATE": 1}) and len(refused(kind, files, NAMES)) == 1


# ── Spaces around spans that are attached to other text, and the way back: the entity spacer of Catelli 2021, 3.1.1 ──


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
    assert read_one("brat", files | {"a.ann": b"T1\tNAME 10 21\tGambia Home\n"}).spans == [Span(10, 20, "NAME")]
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

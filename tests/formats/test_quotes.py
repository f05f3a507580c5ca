"""Finding the text that an annotation quotes: the error corrector of Catelli 2021, section 3.1.1."""

import re
from collections.abc import Callable

import pytest

from annotations.formats.base import AcceptedLabels
from annotations.formats.quotes import NEAR, Miss, find_near
from annotations.text.spans import Span
from tests.formats.helpers import read_one, refused, said, write_one

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

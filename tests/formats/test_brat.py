import re
from dataclasses import replace

import pytest
from brat.server.src.annotation import TextAnnotations
from hypothesis import given
from hypothesis import strategies as st

from annotations.formats import FORMATS
from annotations.formats.base import AcceptedLabels
from annotations.formats.brat import fragments
from annotations.formats.notes import NoteError
from annotations.text.labels import CategoryDef, LabelDef, LabelSetDef
from annotations.text.spans import Span
from tests.formats.helpers import NAMES, facts, read_all, read_one, refused, said, write_one
from tests.text.strategies import texts_with_spans

TEXT = "Dr. Anna Neri\nVia Roma 1,\r\n  20100 Milano"


def ann(rows: str, text: str = TEXT) -> dict[str, bytes | str]:
    return {"a.txt": text, "a.ann": rows}


ODD = "a\tb\u2028c\x85d\x0be x"
LOWER = {"NAME": "NAME", "name": "LOWER", "Full Name": "NAME"}
ANNA, NERI = Span(4, 8, "NAME"), Span(9, 13, "NAME")


READ = [
    ("", NAMES, [], []),
    ("\ufeffT1\tNAME 4 8\tAnna\r\n\r\nT2\tNAME 9 13\tNeri\r\n", NAMES, [ANNA, NERI], []),
    # Fragments over a line break are one span, and a quote may have a space for a line break.
    ("T1\tID-1 14 25;29 34\tVia Roma 1, 20100\n", NAMES, [Span(14, 34, "ID-1")], []),
    ("T1\tNAME 9 17\tNeri Via\n", NAMES, [Span(9, 17, "NAME")], []),
    ("T1\tname 4 8\tAnna\n", LOWER, [Span(4, 8, "LOWER")], []),
    ("T1\tNaMe 4 8\tAnna\n", LOWER, [ANNA], []),
    (
        "T1\tNAME 4 8\tAnna\nT2\tNAME 4 8\tAnna\nT3\tDATE 4 8\tAnna\n",
        *(NAMES, [Span(4, 8, "DATE"), ANNA], [(2, "twice")]),
    ),
    ("T1\tNAME 3 9\t Anna \n", NAMES, [ANNA], [(1, "trimmed")]),
]


@pytest.mark.parametrize(("rows", "labels", "spans", "warnings"), READ)
def test_reading(rows: str, labels: dict[str, str], spans: list[Span], warnings: list[tuple[int, str]]) -> None:
    note = read_one("brat", ann(rows), labels)
    assert (note.text, note.spans, said(note.warnings)) == (TEXT, spans, warnings)
    # Quotes with tabs and odd separators
    assert read_one("brat", ann(f"T1\tNAME 0 9\t{ODD[:9]}\n", ODD)).spans == [Span(0, 9, "NAME")]


ROWS = (
    "T1\tNAME 4 8\tAnna", "T2\tNAME 9 13\tNeri", "T2\tID-1 29 34\t20100", "T3\tNAME 4 8\tAnna", "T4\tNAME 3 8\t Anna",
    "T5\tNAME 9 14\tNeri\r", "T6\tNAME 4 8\tAnnA", "T7\tNAME 4 9\tAnna", "T8\tNAME 400 404\tAnna",
    "T9\tNOBODY 4 8\tAnna", "T10\tNAME 14 25;29 34\tVia Roma 1, 20100", "A1\tSure T1", "#1\tAnnotatorNotes T1\tsure",
    "T11\tNAME 36 37\t\u200b", "T12\tNAME 4 8\t", "nothing",
)  # fmt: skip


@given(st.lists(st.sampled_from(ROWS), min_size=1, max_size=4))
def test_a_file_is_read_alike_with_an_empty_line_at_its_end(rows: list[str]) -> None:
    """Files of plain spans are read in another way, and an empty line makes a file no longer plain."""
    text = f"{TEXT} \u200b"

    def found(annotations: str) -> list[object]:
        notes = read_all("brat", ann(annotations, text))
        return [note.problems if isinstance(note, NoteError) else (note.spans, note.warnings) for note in notes]

    plain = "\n".join(rows)
    assert found(plain) == found(f"{plain}\n") == found(f"{plain}\n\n")


def test_other_annotations_are_reported() -> None:
    others = ["R1\tX Arg1:T1 Arg2:T1", "E1\tX:T1", "A1\tNegated E1", "N1\tR T1 X:1\tAnna", "*\tEquiv T1 T1"]
    note = read_one("brat", ann("\n".join(["T1\tNAME 4 8\tAnna", *others, "#1\tNote T1\tAnna", ""])))
    assert note.spans == [Span(4, 8, "NAME")]
    assert said(note.warnings) == [(line, "not kept") for line in (2, 3, 5, 6, 7, 4)]
    assert "Anna" not in "".join(map(str, note.warnings))


INVALID_ROWS = [
    ("T1\tNAME 4 8\tAnne", "quote"), ("T1\tNAME 4 8\tAnna ", "quote"), ("T1\tNAME 4 8\t", "quote"),
    ("T1\tNAME 8 4\tAnna", "empty"), ("T1\tNAME four 8\tAnna", "offsets"), ("T1\tNAME -4 8\tAnna", "offsets"),
    ("T1\tNAME 4 8;\tAnna", "offsets"),
    ("T1\tNAME \u0664 \u0668\tAnna", "offsets"),  # digits, but not ASCII ones
    ("T1\tNAME 4 9999999999999999\tAnna", "offsets"), ("T1\tNAME 4 8", "line"), ("X1\tNAME 4 8\tAnna", "line"),
    ("T1\tPERSON 4 8\tAnna", "label"), ("A1\tNegated", "line"), ("A1\tNegated  T9", "line"), ("A1\tNegated T8", "id"),
    ("T1\tNAME 4 6;7 8\tAna", "quote"), ("T1\tNAME 14 17;9 13\tVia Neri", "order"),
    ("T1\tNAME 9 13;12 17\tNeri i Via", "order"), ("T1\tNAME 9 13;14 17\tNeri-Via", "quote"),
]  # fmt: skip


@pytest.mark.parametrize(("row", "code"), INVALID_ROWS)
def test_invalid_rows(row: str, code: str) -> None:
    problems = refused("brat", ann(f"T9\tDATE 0 3\tDr.\n{row}\n"))
    assert ([problem.file for problem in problems], said(problems)) == (["a.ann"], [(2, code)])
    assert not re.search("Ann|Neri|Via", str(problems[0]))


def test_all_problems_are_reported_at_once() -> None:
    rows = "T1\tPERSON 4 99\tx\nT1\tNAME 4 8\tAnna\n\nT3\tNAME 4 8\tAnn\njunk\n"
    assert said(refused("brat", ann(rows))) == [(1, "label"), (1, "outside"), (2, "id"), (4, "quote"), (5, "line")]
    (problem,) = refused("brat", {"a.txt": "x", "a.ann": b"T1\tNAME 0 1\t\xff"})
    assert (problem.file, problem.code) == ("a.ann", "utf8")


DISCONTINUOUS = [
    ("4 6;7 8", "An a", [(4, 6), (7, 8)]),
    ("0 3;4 8", "Dr. Anna", [(0, 3), (4, 8)]),  # white space without a line break
    ("4 8;14 17", "Anna Via", [(4, 8), (14, 17)]),  # a line break, and more than white space
    ("4 8;9 13;14 17", "Anna Neri Via", [(4, 8), (9, 17)]),
    ("4 6;6 8", "An na", [(4, 8)]),
]


@pytest.mark.parametrize(("pieces", "quote", "spans"), DISCONTINUOUS)
def test_the_parts_of_discontinuous_spans(pieces: str, quote: str, spans: list[tuple[int, int]]) -> None:
    note = read_one("brat", ann(f"T1\tNAME {pieces}\t{quote}\nA1\tsure T1 no\n"))
    assert note.spans is not None
    assert [(span.start, span.end, span.attributes) for span in note.spans] == [
        (*bounds, (("sure", "no"),)) for bounds in spans
    ]
    assert said(note.warnings) == [(1, "discontinuous")] * (len(spans) > 1)


def test_attributes() -> None:
    rows = (
        "A1\tsure T2 quite  sure\nT1\tNAME 4 8\tAnna\nT2\tNAME 9 13\tNeri\n"
        "A2\tHidden T2\r\nM1\tOld T2\nA3\tsure T2 no\nA4\tHidden T2\t\n"
    )
    note = read_one("brat", ann(rows))
    held = (("Hidden", True), ("Old", True), ("sure", "quite  sure"))
    assert facts(note.spans) == [(4, 8, "NAME", ()), (9, 13, "NAME", held)] and said(note.warnings) == [(6, "twice")]
    # Spans that are trimmed, joined or moved keep theirs.
    rows = "T1\tNAME 3 9\t Anna \nT2\tNAME 4 8\tAnna\nT3\tDATE 100 107\tBianchi\nA1\tone T1\nA2\ttwo T2\nA3\tthree T3\n"
    note = read_one("brat", ann(rows, TEXT + " " * 60 + "Bianchi"), AcceptedLabels(NAMES, repair=True))
    assert facts(note.spans) == [(4, 8, "NAME", (("one", True), ("two", True))), (101, 108, "DATE", (("three", True),))]


def test_writing_attributes() -> None:
    spans = [
        Span(4, 8, "NAME", attributes=(("Hidden", True), ("sure", "not very"))),
        Span(9, 13, "NAME", attributes=(("is it", True), ("odd", "a\tb"), ("sure", "no"), ("yes", "true"))),
    ]
    files, losses = write_one("brat", TEXT, spans)
    assert files["a.ann"].decode() == (
        "T1\tNAME 4 8\tAnna\nT2\tNAME 9 13\tNeri\nA1\tHidden T1\nA2\tsure T1 not very\nA3\tsure T2 no\n"
    )
    assert [loss.span for loss in losses] == [spans[1]]
    assert all(name in losses[0].reason for name in ("is it", "odd", "yes"))
    assert facts(read_one("brat", files).spans)[0] == (4, 8, "NAME", spans[0].attributes)


def test_the_message_for_an_unknown_label_lists_some_known_labels() -> None:
    labels = {f"L{at:02}": f"L{at:02}" for at in range(30)}
    (problem,) = refused("brat", ann("T1\tPERSON 4 8\tAnna\n"), labels)
    assert all(part in problem.message for part in ("PERSON", "L00, L01", "L11", "18")) and "L12" not in problem.message


def test_an_annotation_file_without_text() -> None:
    groups, problems = FORMATS["brat"].group(["a.ann", "b.txt", "b.ann"])
    assert [(group.name, dict(group.parts)) for group in groups] == [("b", {"txt": "b.txt", "ann": "b.ann"})]
    assert [(problem.file, problem.code) for problem in problems] == [("a.ann", "no text")]


def test_writing_over_line_breaks_and_with_white_ends() -> None:
    files, losses = write_one("brat", TEXT, [Span(9, 34, "NAME")])
    assert (files["a.ann"].decode(), losses) == ("T1\tNAME 9 13;14 25;29 34\tNeri Via Roma 1, 20100\n", [])
    spans = [Span(0, 3, "NAME"), Span(2, 4, "NAME")]
    files, losses = write_one("brat", "ab  cd", spans)
    assert (files["a.ann"], [loss.span for loss in losses]) == (b"T1\tNAME 0 2\tab\n", spans)


FRAGMENTS = [
    ("ab\ncd", ["ab", "cd"]),
    ("ab\r\ncd", ["ab", "cd"]),
    ("ab\rcd", ["ab", "cd"]),
    ("ab\n\r\n \t\ncd", ["ab", "cd"]),  # pieces with white space only are left out
    ("ab \n\u2003cd", ["ab", "cd"]),
    ("ab\u2028cd\x85ef", ["ab\u2028cd\x85ef"]),  # not line breaks
]


@pytest.mark.parametrize(("text", "pieces"), FRAGMENTS)
def test_fragments(text: str, pieces: list[str]) -> None:
    assert [text[start:end] for start, end in fragments(text, 0, len(text))] == pieces


@given(texts_with_spans(12))
def test_brat_reads_what_is_written(made: tuple[str, list[Span]]) -> None:
    text, spans = made
    held = (("box", True), ("sure", "quite sure"))
    spans = [
        replace(span, attributes=held if span.label == "DATE" else ())
        for span in spans
        # brat takes these characters for ends of lines or for white space, also in the quote of a span.
        if not re.search("[\x0b\x0c\x1c-\x1f\x85\u2028\u2029]", text[span.start : span.end])
    ]
    files, _ = write_one("brat", text, spans)
    read = TextAnnotations(text=text, source=files["a.ann"].decode(), read_only=True)
    assert (read.failed_lines, read.get_messages().ok) == ([], True)
    found = [(each.id, each.type, each.first_start(), each.last_end()) for each in read.get_textbounds()]
    assert [each[1:] for each in found] == [(span.label, span.start, span.end) for span in sorted(spans)]
    assert [(each.target, each.type, each.value) for each in read.get_attributes()] == [
        (each[0], *attribute) for each in found if each[1] == "DATE" for attribute in held
    ]


def label_set(*categories: CategoryDef) -> LabelSetDef:
    return LabelSetDef("x", "X", "", "", (), categories)


CONFIGURED = label_set(
    CategoryDef("NAME", "Names", (LabelDef("DOCTOR", "Doctor | nurse"), LabelDef("PATIENT", "!PAZIENTE\u00c0"))),
    CategoryDef("AGE", "Age", (LabelDef("AGE", "Age"),)),
)


def test_annotation_conf() -> None:
    end = "\n[relations]\n\n[events]\n\n[attributes]\n"
    text = FORMATS["brat"].extra_files(CONFIGURED)["annotation.conf"].decode()
    assert text == f"[entities]\n!NAME\n\tDOCTOR\n\tPATIENT\nAGE\n{end}"
    # Terms are unique even if a category and a label share a code.
    one = CategoryDef("A", "One", (LabelDef("B", "b"), LabelDef("C", "c")))
    twice = label_set(one, CategoryDef("B", "Two", (LabelDef("D", "d"), LabelDef("E", "e"))))
    text = FORMATS["brat"].extra_files(twice)["annotation.conf"].decode()
    assert text.removesuffix(end).replace("!", "") == "[entities]\nA\n\tB\n\tC\nD\nE\n"


def test_visual_conf() -> None:
    text = FORMATS["brat"].extra_files(CONFIGURED)["visual.conf"].decode()
    labels, drawing = text.removeprefix("[labels]\n").split("\n\n[drawing]\n")
    assert labels.split("\n") == ["NAME | Names", "DOCTOR | Doctor / nurse", "PATIENT | PAZIENTEÀ", "AGE | Age"]
    rows = drawing.strip().split("\n")
    assert rows[0].startswith("SPAN_DEFAULT\tfgColor:black, bgColor:#")
    assert all(re.fullmatch(r"[A-Za-z0-9_-]+\tbgColor:#[0-9a-f]{6}", row) for row in rows[1:])
    colors = dict(row.split("\tbgColor:") for row in rows[1:])
    assert colors["DOCTOR"] == colors["PATIENT"] != colors["AGE"]

"""CoNLL: without offsets as conll2003, iob1 and bioes, and with offsets."""

import pytest

from annotations.formats import FORMATS, detected, writer
from annotations.formats.base import Format, LoadedFiles
from annotations.formats.token_tags import PLACED, REBUILT
from annotations.text.spans import Span
from tests.formats.helpers import outcomes, parsed, read_one, refused, said, write_one

TEXT = "Dr. Neri\n\nVia 1"
KINDS = ["conll2003", "iob1", "bioes"]
every_kind = pytest.mark.parametrize("kind", KINDS)


WRITTEN = [
    ("conll", "Dr\t0\t2\tO\n.\t2\t3\tO\nNeri\t4\t8\tB-NAME\n\nVia\t10\t13\tB-ID-1\n1\t14\t15\tI-ID-1\n\n"),
    ("conll2003", "Dr -X- O O\n. -X- O O\nNeri -X- O B-NAME\n\nVia -X- O B-ID-1\n1 -X- O I-ID-1\n\n"),
    ("iob1", "Dr O\n. O\nNeri I-NAME\n\nVia I-ID-1\n1 I-ID-1\n\n"),
    ("bioes", "Dr O\n. O\nNeri S-NAME\n\nVia B-ID-1\n1 E-ID-1\n\n"),
]


@pytest.mark.parametrize(("kind", "rows"), WRITTEN)
def test_writing(kind: str, rows: str) -> None:
    files, losses = write_one(kind, TEXT, [Span(4, 8, "NAME"), Span(10, 15, "ID-1")], name="sub/a")
    head = "# columns: token start end tag; note: sub/a\n" if kind == "conll" else "-DOCSTART- -X- O O\n\n"
    assert losses == [] and files["sub/a.conll"].decode() == head + rows
    assert files["sub/a.txt"] == TEXT.encode() and detected(files, LoadedFiles(files.__getitem__)) == kind


# As in the file of the shared task, https://www.clips.uantwerpen.be/conll2003/ner/.
REUTERS = """-DOCSTART- -X- -X- O

U.N. NNP I-NP I-ORG
Ekeus NNP I-NP I-PER
Baghdad NNP I-NP I-LOC
. . O O

-DOCSTART- -X- O O

Ekeus NNP I-NP B-PER
"""
PEOPLE = {"PER": "NAME", "ORG": "ORG", "LOC": "LOC"}


@every_kind
def test_the_file_of_the_shared_task(kind: str) -> None:
    found = parsed(kind, {"x/eng.train": REUTERS}, PEOPLE)
    spans = [Span(0, 4, "ORG"), Span(5, 10, "NAME"), Span(11, 18, "LOC")]
    assert [(note.name, note.text, note.spans, said(note.warnings)) for note in found] == [
        ("x/eng-00001", "U.N. Ekeus Baghdad .", spans, [(1, "rebuilt")]),
        ("x/eng-00002", "Ekeus", [Span(0, 5, "NAME")], [(8, "rebuilt")]),
    ]
    notes = parsed(kind, {"eng.train": REUTERS, "eng.testa": "Anna B-PER\n"}, PEOPLE)
    assert [note.name for note in notes] == ["eng.testa", "eng.train-00001", "eng.train-00002"]


ROWS_OF_TOOLS = [
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
]


@pytest.mark.parametrize(("rows", "spans"), ROWS_OF_TOOLS)
def test_rows_as_tools_write_them(rows: str, spans: list[Span]) -> None:
    note = read_one("conll2003", {"a.tsv": rows})
    assert (note.text in ("Anna Neri", "Anna\nNeri"), note.spans) == (True, spans)


PLACES = [
    # A document's name before the offsets; a hyphenated word; a line break; offsets that go on from another note.
    ("Dr. d 0 3 O\nAnna d 4 8 B-NAME\nNeri d 9 13 I-NAME\n", "a", "Dr. Anna Neri", [(4, 13)], [PLACED]),
    ("# doc_id = 12\nNeri\t0\t4\tS-NAME\n-\t4\t5\tO\nled\t5\t8\tO\n\n# doc_id = 12\nBo\t10\t12\tS-NAME\n",
     "12", "Neri-led\n Bo", [(0, 4), (10, 12)], [PLACED]),
    ("-DOCSTART- -X- O\n\n#doc name: b\nAnna 500 504 B-NAME\n. 504 505 O\n", "b", "Anna.", [(0, 4)], [PLACED]),
    # Numbers that are no offsets, offsets that overlap, and a row without offsets
    ("Anna 7 9 B-NAME\n. 1 4 O\n", "a", "Anna .", [(0, 4)], [REBUILT]),
    ("Anna 5 9 B-NAME\n. 8 9 O\n", "a", "Anna .", [(0, 4)], [REBUILT]),
    ("Anna 0 4 B-NAME\n, 4 5 O\n. O\n", "a", "Anna , .", [(0, 4)], [REBUILT]),
    # Numbers of rows, and a name in all rows, before the token
    ("1\tAnna\tN\tB-NAME\n2\tcame\tV\tO\n\n1\tBo\tN\tB-NAME\n", "a", "Anna came\nBo", [(0, 4), (10, 12)], [REBUILT]),
    ("d 0 Anna B-NAME\nd 1 e O\nd 2 Van Bo I-NAME\nd 3 a O\nd 4 . O\n", "a", "Anna e Van Bo a .", [(0, 4), (7, 13)],
     [REBUILT, "wide"]),
    ("1 -X- O B-NAME\n2 -X- O O\n3 -X- O O\n", "a", "1 2 3", [(0, 1)], [REBUILT]),
    ("d 0 0 4 B-NAME\nd 1 5 6 O\n", "a", "d d", [(0, 1)], [REBUILT]),
    # A token with a space, in rows of which most have one column less
    ("Anna NN O B-NAME\nVan Lund NN O I-NAME\ncame VB O O\n", "a", "Anna Van Lund came", [(0, 13)], [REBUILT, "wide"]),
]  # fmt: skip


@pytest.mark.parametrize(("rows", "name", "text", "bounds", "warned"), PLACES)
def test_no_column_is_lost(rows: str, name: str, text: str, bounds: list[tuple[int, int]], warned: list[str]) -> None:
    kind = detected(["a.conll"], LoadedFiles(lambda _name: rows.encode()))
    note = read_one(kind, {"a.conll": rows})
    assert (note.name, note.text, note.spans) == (name, text, [Span(*each, "NAME") for each in bounds])
    assert [each.message if each.code == "rebuilt" else each.code for each in note.warnings] == warned


def test_comments_and_rows_without_a_token_are_left_out() -> None:
    assert read_one("iob1", {"a.iob": "# O\n1 I-DATE\n# this is a comment\n"}).text == "# 1"
    for rows in ("Anna B-NAME\n O\nNeri O", "Anna\tB-NAME\n\tO\nNeri\tO", "Anna\tB-NAME\n\ufeff\tO\nNeri\tO"):
        note = read_one("conll2003", {"a.conll": rows})
        assert (note.text, said(note.warnings)) == ("Anna Neri", [(1, "rebuilt"), (2, "not kept")])


def test_tokens_are_found_in_the_text_beside() -> None:
    rows = "Dr. O\n\nAnna B-NAME\n-LRB- O\nRoma B-ID-1\n-RRB- O\n"
    note = read_one("conll2003", {"a.conll": rows, "a.txt": "Dr.Anna  (Roma)\n"})
    assert (note.spans, said(note.warnings)) == ([Span(3, 7, "NAME"), Span(10, 14, "ID-1")], [(4, "normalized")])
    note = read_one("conll2003", {"a.conll": "Anna B-NAME\n", "a.txt": "Anna Neri"})
    assert (note.spans, said(note.warnings)) == ([Span(0, 4, "NAME")], [(1, "short")])


def test_a_token_that_does_not_follow() -> None:
    (problem,) = refused("conll2003", {"a.conll": "Anna O\nNero O\n\nX O", "a.txt": "Anna Neri X"})
    assert (problem.file, problem.line, problem.code) == ("a.conll", 2, "quote")
    assert "after character 4" in problem.message and "Ner" not in str(problem)


ALL = "-DOCSTART- -X- sub/a O\n\nAnna O\n\n-DOCSTART-\tmy note\n\nBo\tB-NAME\n\n-DOCSTART- (c)\n\nDr O\n"


def test_notes_are_named_after_the_mark() -> None:
    files = {"x/all.conll": ALL, "x/sub/a.txt": "\nAnna", "x/my note.txt": "Bo!", "x/d.txt": "text"}
    notes = parsed("conll2003", files)
    assert [(note.name, note.text, note.spans, said(note.warnings)) for note in notes] == [
        ("x/sub/a", "\nAnna", [], []), ("x/my note", "Bo!", [Span(0, 2, "NAME")], [(7, "short")]),
        ("x/c", "Dr", [], [(9, "rebuilt")]), ("x/d", "text", None, []),
    ]  # fmt: skip
    # CoNLL-U
    notes = parsed("conll2003", {"all.conll": "# newdoc id = a\nAnna O\n\n# newpar\nBo O\n\n# newdoc\nX O\n"})
    assert [(note.name, note.text) for note in notes] == [("a", "Anna\nBo"), ("all-00002", "X")]


def test_notes_of_one_file_are_refused_separately() -> None:
    rows = "-DOCSTART- ../a\nBo O\n-DOCSTART- b\nBo X\n-DOCSTART- c\nBo B-PERSON\n-DOCSTART- d\nBo O\n-DOCSTART- d\n"
    found = outcomes("conll2003", {"all.conll": rows})
    assert found == [[(1, "name")], [(4, "tag")], [(6, "label")], "d", [(9, "same name")]]


def test_a_text_file_with_rows_is_read_as_rows() -> None:
    files = {"train.txt": "Anna B-NAME\nNeri I-NAME\n. O\n", "note.txt": "vitamin B-12\n"}
    assert detected(files, LoadedFiles(lambda name: files[name].encode())) == "conll2003"
    found = [(note.text, note.spans) for note in parsed("conll2003", files)]
    assert found == [("vitamin B-12\n", None), ("Anna Neri .", [Span(0, 9, "NAME")])]


def test_two_notes_or_two_files_of_rows_for_one_text() -> None:
    rows = "-DOCSTART- O\n\nA O\n\n-DOCSTART- O\n\nB O\n"
    assert said(refused("iob1", {"a.conll": rows, "a.txt": "A B"})) == [(5, "many notes")]
    groups, problems = FORMATS["bioes"].group(["a.txt", "a.conll", "a.iob"])
    assert [group.name for group in groups] == ["a"]
    assert [(problem.file, problem.code) for problem in problems] == [("a.iob", "same name")]


INVALID_ROWS = [
    (b"Neri", "line"), (b"Neri NAME", "tag"), (b"Neri B-", "tag"), (b"O Neri", "tag"), (b"Neri B-PERSON", "label"),
    (b"N\xffri O", "utf8"), (b"N\0ri O", "nul"), (b"x" * (1 << 21) + b" O", "line"),
]  # fmt: skip


@pytest.mark.parametrize(("row", "code"), INVALID_ROWS)
def test_invalid_rows(row: bytes, code: str) -> None:
    problems = refused("conll2003", {"a.conll": b"Dr O\n" + row + b"\nX O\n"})
    assert (said(problems), "Ner" in str(problems[0])) == ([(2, code)], False)


def test_problems_of_a_note_are_limited() -> None:
    assert len(refused("conll2003", {"a.conll": "x y\n" * 1500})) == 1000


HEADS = [
    ("Anna B-NAME\nNeri I-NAME\n", "conll2003"), ("Anna I-NAME\nNeri I-NAME\n", "iob1"), ("Anna S-NAME\n", "bioes"),
    ("Anna U-NAME\n", "bioes"), ("-DOCSTART- -X- O O\n\n", "conll2003"),
    ("# columns: token start end tag\nAnna\t0\t4\tB-NAME\n", "conll"), ("Anna\t0\t4\tB-NAME\n", "conll2003"),
    ("#FORMAT=WebAnno TSV 3.3\n\n\n#Text=Anna\n1-1\t0-4\tAnna\t_\t\n", None), ("Anna was here.\n", None), ("", None),
]  # fmt: skip


@pytest.mark.parametrize(("head", "kind"), HEADS)
def test_detection(head: str, kind: str | None) -> None:
    kinds = [name for name in ("conll", *KINDS) if FORMATS[name].claims("a.conll", head.encode())]
    assert kinds == ([kind] if kind else [])


@every_kind
def test_labels_are_counted_as_written(kind: str) -> None:
    files = {"a.conll": b"Anna B-PER\nBo B-PER\nX junk\nY I-LOC\n\nZ I-LOC\n", "b.txt": b"text"}
    files["c.txt"] = b"Anna U-PER\n. O\n. O\n"
    (group,), _ = FORMATS[kind].group(files)
    counts = list(FORMATS[kind].used_labels(group, LoadedFiles(files.__getitem__)))
    assert counts == [{"PER": 2, "LOC": 2}, {"PER": 1}]


# With offsets.


CONLL = FORMATS["conll"]


def with_offsets(*given_rows: str) -> dict[str, bytes | str]:
    return {"a.txt": TEXT, "a.conll": "# columns: token start end tag\n" + "\n".join(given_rows) + "\n"}


def test_lenient_reading() -> None:
    given_rows = ["Dr\t0\t2\tO\r", "", "# a comment", "Neri\t4\t8\tI-name\r", "", "", "Via\t10\t13\tI-NAME"]
    # Empty rows don't end a span, which may contain line breaks.
    assert read_one("conll", with_offsets(*given_rows)).spans == [Span(4, 13, "NAME")]
    files, _ = write_one("conll", "# 1", [Span(0, 3, "NAME")])
    assert read_one("conll", files).spans == [Span(0, 3, "NAME")]


INVALID_OFFSETS = [
    ("Neri\t4\t8\tNAME", "tag"), ("Neri\t4\t8\tS-NAME", "tag"), ("Neri\t4\t8\tB-", "tag"),
    ("Neri\t4\t8\tB-PERSON", "label"), ("Nero\t4\t8\tO", "quote"), ("Neri\t8\t4\tO", "empty"),
    ("Neri\t4\t99\tO", "outside"), ("Dr\t0\t2\tO", "order"), ("Neri 4 8 O", "line"), ("Neri\t4\t8", "line"),
    ("Neri\t4\t8\tO\tO", "line"), ("Neri\tfour\t8\tO", "line"), ("Neri\t-4\t8\tO", "line"),
    ("Neri\t4\t\u0668\tO", "line"),
]  # fmt: skip


@pytest.mark.parametrize(("row", "code"), INVALID_OFFSETS)
def test_invalid_rows_with_offsets(row: str, code: str) -> None:
    problems = refused("conll", with_offsets("Dr\t0\t2\tO", row))
    assert ([problem.file for problem in problems], said(problems)) == (["a.conll"], [(3, code)])
    assert "Ner" not in str(problems[0])


def test_all_problems_are_reported_at_once() -> None:
    problems = refused("conll", with_offsets("Dr\t0\t3\tX", "junk", "Neri\t4\t8\tB-Q"))
    assert said(problems) == [(2, "quote"), (2, "tag"), (3, "line"), (4, "label")]


def test_grouping() -> None:
    groups, problems = CONLL.group(["x/a.txt", "x/a.conll", "x/b.txt"])
    assert problems == [] and [(group.name, group.bundle) for group in groups] == [("x/a", ()), ("x/b", ())]
    groups, _ = CONLL.group(["x/a.txt", "x/a.conll", "x/b.txt", "x/all.conll", "y.conll"])
    found = [(group.name, group.bundle, dict(group.texts)) for group in groups]
    assert found == [("x/a", (), {}), ("x/all", ("x/all.conll", "y.conll"), {"x/b": "x/b.txt"})]


WITH_OFFSETS = "-DOCSTART-\ta\n\nAnna\t0\t4\tB-NAME\n\n-DOCSTART-\tsub/b\n\nBo\t0\t2\tO\n"


def test_notes_in_one_file_are_read_separately() -> None:
    files = {"all.conll": WITH_OFFSETS, "a.txt": "Anna", "sub/b.txt": "Bo", "c.txt": "loose"}
    seen = [(note.name, note.text, note.spans) for note in parsed("conll", files)]
    assert seen == [("a", "Anna", [Span(0, 4, "NAME")]), ("sub/b", "Bo", []), ("c", "loose", None)]
    assert outcomes("conll", files | {"all.conll": WITH_OFFSETS.replace("Bo\t", "Be\t")}) == ["a", [(7, "quote")], "c"]
    for other, line, code in (("sub/b", 5, "no text"), ("../b", None, "name"), ("a", 5, "same name")):
        found = outcomes("conll", {"all.conll": WITH_OFFSETS.replace("sub/b", other), "a.txt": "Anna"})
        assert found == ["a", [(line, code)]]
    assert said(refused("conll", {"a.conll": "Anna\t0\t4\tO\n"})) == [(1, "no text")]  # no marks
    assert said(refused("conll", {"a.txt": "Anna", "a.conll": WITH_OFFSETS})) == [(5, "many notes")]


SENTENCES = writer("conll", sentences=True)


def blocks(format: Format, text: str, spans: list[Span]) -> list[str]:
    """The tokens between empty with_offsets, joined by spaces."""
    files, _ = write_one(format, text, spans)
    body = files["a.conll"].decode().partition("\n")[2]
    return [" ".join(row.split("\t")[0] for row in block.split("\n")) for block in body.strip("\n").split("\n\n")]


def test_an_empty_row_ends_a_sentence_on_request() -> None:
    text = "Anna came. She left!\nDr. Neri called.\n"
    assert blocks(CONLL, text, []) == ["Anna came . She left !", "Dr . Neri called ."]
    assert blocks(SENTENCES, text, []) == ["Anna came .", "She left !", "Dr . Neri called ."]
    text = "Via Roma 1. Milano\nItaly. She left."  # none inside a span
    assert blocks(SENTENCES, text, [Span(0, 24, "ID-1")]) == ["Via Roma 1 . Milano Italy .", "She left ."]
    assert blocks(SENTENCES, "Anna.\n\x1c", []) == ["Anna .", "\x1c"]  # signs that belong to no sentence

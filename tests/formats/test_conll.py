import pytest

from annotations.formats import FORMATS, writer
from annotations.formats.base import Format
from annotations.text.spans import Span
from tests.formats.helpers import outcomes, parsed, read_one, refused, said, write_one

TEXT = "Dr. Neri\n\nVia 1"
CONLL = FORMATS["conll"]


def test_writing() -> None:
    files, losses = write_one("conll", TEXT, [Span(4, 8, "NAME"), Span(10, 15, "ID-1")], name="sub/a")
    assert losses == []
    assert files["sub/a.conll"].decode() == (
        "# columns: token start end tag; note: sub/a\nDr\t0\t2\tO\n.\t2\t3\tO\nNeri\t4\t8\tB-NAME\n\n"
        "Via\t10\t13\tB-ID-1\n1\t14\t15\tI-ID-1\n\n"
    )


def rows(*given_rows: str) -> dict[str, bytes | str]:
    return {"a.txt": TEXT, "a.conll": "# columns: token start end tag\n" + "\n".join(given_rows) + "\n"}


def test_lenient_reading() -> None:
    given_rows = ["Dr\t0\t2\tO\r", "", "# a comment", "Neri\t4\t8\tI-name\r", "", "", "Via\t10\t13\tI-NAME"]
    # Empty rows don't end a span, which may contain line breaks.
    assert read_one("conll", rows(*given_rows)).spans == [Span(4, 13, "NAME")]
    files, _ = write_one("conll", "# 1", [Span(0, 3, "NAME")])
    assert read_one("conll", files).spans == [Span(0, 3, "NAME")]


INVALID_ROWS = [
    ("Neri\t4\t8\tNAME", "tag"), ("Neri\t4\t8\tS-NAME", "tag"), ("Neri\t4\t8\tB-", "tag"),
    ("Neri\t4\t8\tB-PERSON", "label"), ("Nero\t4\t8\tO", "quote"), ("Neri\t8\t4\tO", "empty"),
    ("Neri\t4\t99\tO", "outside"), ("Dr\t0\t2\tO", "order"), ("Neri 4 8 O", "line"), ("Neri\t4\t8", "line"),
    ("Neri\t4\t8\tO\tO", "line"), ("Neri\tfour\t8\tO", "line"), ("Neri\t-4\t8\tO", "line"),
    ("Neri\t4\t\u0668\tO", "line"),
]  # fmt: skip


@pytest.mark.parametrize(("row", "code"), INVALID_ROWS)
def test_invalid_rows(row: str, code: str) -> None:
    problems = refused("conll", rows("Dr\t0\t2\tO", row))
    assert ([problem.file for problem in problems], said(problems)) == (["a.conll"], [(3, code)])
    assert "Ner" not in str(problems[0])


def test_all_problems_are_reported_at_once() -> None:
    problems = refused("conll", rows("Dr\t0\t3\tX", "junk", "Neri\t4\t8\tB-Q"))
    assert said(problems) == [(2, "quote"), (2, "tag"), (3, "line"), (4, "label")]


def test_grouping() -> None:
    groups, problems = CONLL.group(["x/a.txt", "x/a.conll", "x/b.txt"])
    assert problems == [] and [(group.name, group.bundle) for group in groups] == [("x/a", ()), ("x/b", ())]
    groups, _ = CONLL.group(["x/a.txt", "x/a.conll", "x/b.txt", "x/all.conll", "y.conll"])
    found = [(group.name, group.bundle, dict(group.texts)) for group in groups]
    assert found == [("x/a", (), {}), ("x/all", ("x/all.conll", "y.conll"), {"x/b": "x/b.txt"})]


ALL = "-DOCSTART-\ta\n\nAnna\t0\t4\tB-NAME\n\n-DOCSTART-\tsub/b\n\nBo\t0\t2\tO\n"


def test_notes_in_one_file_are_read_separately() -> None:
    files = {"all.conll": ALL, "a.txt": "Anna", "sub/b.txt": "Bo", "c.txt": "loose"}
    seen = [(note.name, note.text, note.spans) for note in parsed("conll", files)]
    assert seen == [("a", "Anna", [Span(0, 4, "NAME")]), ("sub/b", "Bo", []), ("c", "loose", None)]
    assert outcomes("conll", files | {"all.conll": ALL.replace("Bo\t", "Be\t")}) == ["a", [(7, "quote")], "c"]
    for other, line, code in (("sub/b", 5, "no text"), ("../b", None, "name"), ("a", 5, "same name")):
        found = outcomes("conll", {"all.conll": ALL.replace("sub/b", other), "a.txt": "Anna"})
        assert found == ["a", [(line, code)]]
    assert said(refused("conll", {"a.conll": "Anna\t0\t4\tO\n"})) == [(1, "no text")]  # no marks
    assert said(refused("conll", {"a.txt": "Anna", "a.conll": ALL})) == [(5, "many notes")]


SENTENCES = writer("conll", sentences=True)


def blocks(format: Format, text: str, spans: list[Span]) -> list[str]:
    """The tokens between empty rows, joined by spaces."""
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

import re

import pytest
from hypothesis import given

from annotations.formats import FORMATS
from annotations.formats.base import LoadedFiles
from annotations.formats.webanno_tsv.reading import escape_text, escape_value, unescape_text, unescape_value
from annotations.text.spans import Span
from tests.formats.helpers import facts, read_one, refused, said, write_one
from tests.text.strategies import texts_with_spans

NE = "de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity"
HEAD = f"#FORMAT=WebAnno TSV 3.3\n#T_SP={NE}|value\n\n\n"


def tsv(*blocks, layers=f"#T_SP={NE}|value\n"):
    """A file with these sentences; in rows, a space stands for a tab."""
    body = "\n".join(
        "".join(
            (row if row.startswith("#") else row.replace(" ", "\t") + "\t") + "\n"
            for row in block.strip("\n").split("\n")
        )
        for block in blocks
    )
    return {"a.tsv": f"#FORMAT=WebAnno TSV 3.3\n{layers}\n\n{body}"}


def test_texts():
    blocks = ["#Text=one\\r\n#Text=\n#Text= two\n1-1 0-3 one NAME", "#Text=three\n2-1 10-15 three _"]
    note = read_one("webanno-tsv", tsv(*blocks))
    assert (note.text, note.spans, note.warnings) == ("one\r\n\n twothree", [Span(0, 3, "NAME")], [])
    # The text beside is exact.
    files = tsv("#Text=one\n1-1 1-4 one _", "#Text=two\n2-1 6-9 two NAME") | {"a.txt": "\tone \ttwo\r\n"}
    note = read_one("webanno-tsv", files)
    assert (note.text, note.spans, note.warnings) == ("\tone \ttwo\r\n", [Span(6, 9, "NAME")], [])
    # Older files escape as Java does, lines may end with CR LF, and rows without a tab.
    rows = f"{HEAD}#Text=\\uD83D\\uDE0A \\u00e9\\tMax\n1-1\t0-2\t😊\t_\n1-2\t5-8\tMax\tNAME\n".replace("3.3", "3.1")
    note = read_one("webanno-tsv", {"a.tsv": rows.replace("\n", "\r\n")})
    assert (note.text, note.spans) == ("😊 é\tMax", [Span(4, 7, "NAME")])


ESCAPES = [
    ("\\_", "_"), ("\\*", "*"), ("a\\[1\\]", "a[1]"), ("a\\|b", "a|b"), ("\\->", "->"), ("-", "-"), ("a\\;b", "a;b"),
    ("\\t\\n", "\t\n"), ("\\\\", "\\"), ("\\\\t", "\\t"),
]  # fmt: skip


@pytest.mark.parametrize(("escaped", "value"), ESCAPES)
def test_escapes_of_values(escaped, value):
    assert (escape_value(value), unescape_value(escaped)) == (escaped, value)
    layers = f"#T_SP={NE}|kind|value\n"
    note = read_one("webanno-tsv", tsv(f"#Text=Max\n1-1 0-3 Max {escaped}[1]|*[2] NAME[1]|DATE[2]", layers=layers))
    assert [(each[2], each[3]) for each in facts(note.spans)] == [("DATE", ()), ("NAME", (("kind", value),))]


@pytest.mark.parametrize("text", ["\\", "a\\nb", "\t\r\f\b", "\x00\x01\x1f", "\x0b\x7f\x85", "#Text=", "|_*[1]->;"])
def test_escapes_of_text(text):
    assert unescape_text(escape_text(text)) == text and not re.search("[\t\r\n]", escape_text(text))


def test_layers_of_a_project():
    layers = "#T_SP=webanno.custom.Person|\n#T_SP=webanno.custom.Phi|Certainty|Label|hidden\n"
    layers += "#T_SP=webanno.custom.One|role\n"
    labels = {"Person": "NAME", "DATE": "DATE", "ID": "ID-1", "Phi": "NAME"}
    rows = "#Text=a b c\n1-1 0-1 a * _ _ _ _\n1-2 2-3 b _ low DATE true _\n1-3 4-5 c _ * * false ID"
    assert facts(read_one("webanno-tsv", tsv(rows, layers=layers), labels).spans) == [
        (0, 1, "NAME", ()), (2, 3, "DATE", (("Certainty", "low"), ("hidden", True))), (4, 5, "ID-1", ()),
        (4, 5, "NAME", ()),
    ]  # fmt: skip


INVALID_FILES = [
    (["#Text=Max\n1-1 0-3 Max OTHER"], [(6, "label")]), (["#Text=Max\n1-1 0-3 Mox _"], [(6, "quote")]),
    (["#Text=Max\n1-1 0-9 Max _"], [(6, "outside")]), (["#Text=😊\n1-1 0-1 😊 _"], [(6, "outside")]),
    (["#Text=Max\n1-1 3-0 Max _"], [(6, "empty")]), (["#Text=Max\n1-1 x-3 Max _"], [(6, "line")]),
    (["#Text=Max\n1-1 0-9999999999 Max _"], [(6, "line")]), (["#Text=Max\n1-1 0-3"], [(6, "line")]),
    (["1-1 0-3 Max _"], [(5, "line")]), (["#Text=Max"], [(5, "line")]),
    (["#Text=Max\n1-1 0-3 Max _", "#Text=Max\n2-1 0-3 Max _"], [(9, "order")]),
    (["#Text=Max\n1-1 0-3 Max _", "#Text=Max\n2-1 900000000-900000003 Max _"], [(9, "order")]),
    (["#Text=a b\n1-1 0-1 a X\n1-2 2-3 b Y"], [(6, "label"), (7, "label")]),
]  # fmt: skip


@pytest.mark.parametrize(("blocks", "problems"), INVALID_FILES)
def test_invalid_files(blocks, problems):
    found = refused("webanno-tsv", tsv(*blocks))
    assert (set(problems) - set(said(found)), {problem.file for problem in found}) == (set(), {"a.tsv"})
    assert not re.search("M[ao]x", " ".join(map(str, found)))


@pytest.mark.parametrize("first", ["", "#FORMAT=WebAnno TSV 2.0", "a\tb", "#FORMAT=WebAnno TSV 3.9"])
def test_other_tables_are_refused(first):
    assert said(refused("webanno-tsv", {"a.tsv": f"{first}\n\n"})) == [(1, "format")]


def test_a_missing_column():
    problems = refused("webanno-tsv", tsv("#Text=Max\n1-1 0-3 Max", layers=f"#T_SP={NE}|identifier|value\n"))
    assert said(problems) == [(6, "line")]


def test_labels_used():
    stored = str(tsv("#Text=a b c\n1-1 0-1 a X[1]|Y[2]\n1-2 2-3 b X[1]\n1-3 4-5 c X")["a.tsv"]).encode()
    (group,), _ = FORMATS["webanno-tsv"].group(["a.tsv"])
    assert list(FORMATS["webanno-tsv"].used_labels(group, LoadedFiles(lambda _: stored))) == [{"X": 2, "Y": 1}]


def test_writing():
    text = "Ms. Haag lives.\r\n\n  He\t😊 GambiaHome"
    files, losses = write_one("webanno-tsv", text, [Span(0, 8, "NAME"), Span(4, 8, "NAME"), Span(26, 32, "ID-1")])
    expected = tsv(
        "#Text.before=\n#Text=Ms. Haag lives.\\r\n#Text=\n1-1 0-2 Ms NAME[1]\n1-2 2-3 . NAME[1]\n"
        "1-3 4-8 Haag NAME[1]|NAME[2]\n1-4 9-14 lives _\n1-5 14-15 . _",
        "#Text=He\\t😊 GambiaHome\n2-1 20-22 He _\n2-2 23-25 😊 _\n2-3 26-36 GambiaHome _\n2-3.1 27-33 ambiaH ID-1",
    )
    assert (losses, files["a.tsv"].decode()) == ([], expected["a.tsv"])


def test_attributes_are_features():
    held = (("certainty", "low"), ("hidden", True))
    other = Span(2, 3, "DATE", attributes=(("certainty", "a|b;->\t"),))
    files, losses = write_one("webanno-tsv", "a b", [Span(0, 1, "NAME", attributes=held), other])
    assert [loss.span for loss in losses] == [other]
    assert f"#T_SP={NE}|value|certainty|hidden\n".encode() in files["a.tsv"]
    assert facts(read_one("webanno-tsv", files).spans) == [(0, 1, "NAME", held), (2, 3, "DATE", ())]
    # Spans with white ends
    files, losses = write_one("webanno-tsv", "ab  cd", [Span(0, 3, "NAME"), Span(2, 4, "NAME")])
    assert (read_one("webanno-tsv", files).spans, len(losses)) == ([Span(0, 2, "NAME")], 2)


LOST = [("is it", "x"), ("value", "x"), ("ROLE_x", "x"), ("x", "true"), ("ä", "x"), ("x", False)]


@pytest.mark.parametrize(("attribute", "value"), LOST)
def test_attributes_that_can_not_be_features_are_lost(attribute, value):
    span = Span(0, 1, "NAME", attributes=((attribute, value),))
    files, losses = write_one("webanno-tsv", "a", [span])
    assert [(loss.note, loss.span) for loss in losses] == [("a", span)]
    assert read_one("webanno-tsv", files).spans == [span]


def inception_text(content):
    """The text as INCEpTION rebuilds it: sentences and their offsets alone, with a line break after each sentence."""
    text = ""
    for block in content.split("\n\n\n", 1)[1].split("\n\n"):
        rows = block.split("\n")
        sentence = "".join(unescape_text(row[6:]) + "\n" for row in rows if row.startswith("#Text="))
        tokens = [row for row in rows if row and not row.startswith("#")]
        if not tokens:
            continue
        begin = int(tokens[0].split("\t")[1].split("-")[0])
        units = len(text.encode("utf-16-le")) // 2
        if units > begin:
            assert units == begin + 1
            text = text[:-1]
        text += " " * (begin - units) + sentence
    return text


@given(texts_with_spans())
def test_inception_rebuilds_the_text(made):
    text, spans = made
    files, _ = write_one("webanno-tsv", text, spans)
    bare = text.lstrip("\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2003\u2028\u2029\u202f\u205f\u3000\u200b\ufeff")
    read = inception_text(files["a.tsv"].decode())
    if read:
        lead = text[: text.index(bare)] if bare else ""
        units = len(lead.encode("utf-16-le")) // 2
        assert read[units:] == bare + "\n" and read[:units].strip(" ") == ""


# Each feature of WebAnno TSV 3 for itself: the text, the spans, and what is reported as not kept.
#
# The features are from INCEpTION's own tests of its reader and writer; the files are our own.


LABELS = {label: label for label in ("A", "B", "C", "Mark", "Host", "NamedEntity")}
VALUE = "#T_SP=own.Mark|value\n"
BARE = "#T_SP=own.Mark|\n"
SLOTS = f"{BARE}#T_SP=own.Host|ROLE_own.Host:links_own.Link|own.Mark\n"
RELATION = f"{VALUE}#T_RL=own.Relation|value|BT_own.Mark\n"
CHAIN = "#T_CH=own.Chain|referenceRelation|referenceType\n"
TWO = "#Text=ab cd\n"
POS = "#T_SP=de.tudarmstadt.ukp.dkpro.core.api.lexmorph.type.pos.POS|PosValue\n"
ENTITY = f"#T_SP={NE}|identifier|value\n"
THREE = ["#Text=a b c\n1-1 0-1 a A[1]\n1-2 2-3 b A[1]|B[2]\n1-3 4-5 c B[2]"]
GAP = "not kept"
HOST = [(0, 2, "Host"), (3, 5, "Mark")]

CASES = [
    # A value
    (VALUE, [f"{TWO}1-1 0-2 ab A\n1-2 3-5 cd _"], "ab cd", [(0, 2, "A")], []),
    # No value
    (VALUE, [f"{TWO}1-1 0-2 ab *\n1-2 3-5 cd _"], "ab cd", [(0, 2, "Mark")], []),
    # A layer without features
    (BARE, [f"{TWO}1-1 0-2 ab *\n1-2 3-5 cd _"], "ab cd", [(0, 2, "Mark")], []),
    # No layer
    ("", ["#Text=ab\n1-1 0-2 ab"], "ab", [], []),
    # No annotation
    (VALUE, [f"{TWO}1-1 0-2 ab _\n1-2 3-5 cd _"], "ab cd", [], []),
    # Two features
    (ENTITY, [f"{TWO}1-1 0-2 ab * A\n1-2 3-5 cd _ _"], "ab cd", [(0, 2, "A")], []),
    # Neither of two features
    (ENTITY, [f"{TWO}1-1 0-2 ab * *\n1-2 3-5 cd _ _"], "ab cd", [(0, 2, "NamedEntity")], []),
    # Two layers
    (
        f"{VALUE}#T_SP=own.Host|\n", [f"{TWO}1-1 0-2 ab A *\n1-2 3-5 cd _ *"], "ab cd",
        [(0, 2, "A"), (0, 2, "Host"), (3, 5, "Host")], [],
    ),
    # Two tokens
    (VALUE, [f"{TWO}1-1 0-2 ab A[1]\n1-2 3-5 cd A[1]"], "ab cd", [(0, 5, "A")], []),
    # Stacked
    (VALUE, [f"{TWO}1-1 0-2 ab A[1]|B[2]\n1-2 3-5 cd _"], "ab cd", [(0, 2, "A"), (0, 2, "B")], []),
    # Stacked without values
    (VALUE, [f"{TWO}1-1 0-2 ab *[1]|*[2]\n1-2 3-5 cd *[1]"], "ab cd", [(0, 2, "Mark"), (0, 5, "Mark")], []),
    # Crossing
    (VALUE, THREE, "a b c", [(0, 3, "A"), (2, 5, "B")], []),
    # Touching
    (VALUE, [f"{TWO}1-1 0-2 ab A\n1-2 3-5 cd A"], "ab cd", [(0, 2, "A"), (3, 5, "A")], []),
    # Over two sentences
    (VALUE, ["#Text=ab\n1-1 0-2 ab A[1]", "#Text=cd\n2-1 3-5 cd A[1]"], "ab\ncd", [(0, 5, "A")], [GAP]),
    # Inside a token
    (VALUE, ["#Text=abcd\n1-1 0-4 abcd _\n1-1.1 1-3 bc A"], "abcd", [(1, 3, "A")], []),
    # A token and its part
    (VALUE, ["#Text=abcd\n1-1 0-4 abcd B\n1-1.1 1-3 bc A"], "abcd", [(0, 4, "B"), (1, 3, "A")], []),
    # A part and a token
    (VALUE, [f"{TWO}1-1 0-2 ab _\n1-1.1 1-2 b A[1]\n1-2 3-5 cd A[1]"], "ab cd", [(1, 5, "A")], []),
    # Between tokens
    (BARE, ["#Text=ab.\n1-1 0-2 ab _\n1-1.1 2-2  *\n1-2 2-3 . _"], "ab.", [], [GAP]),
    # Before the first token
    (VALUE, ["#Text=ab\n1-1 2-4 ab _\n1-1.1 2-2  A"], "  ab", [], [GAP, GAP]),
    # Stacked without characters
    (VALUE, ["#Text=ab\n1-1 0-2 ab C\n1-1.1 0-0  A[1]|B[2]"], "ab", [(0, 2, "C")], [GAP]),
    # Slots
    (SLOTS, [f"{TWO}1-1 0-2 ab _ p;q 1-2;1-2\n1-2 3-5 cd * _ _"], "ab cd", HOST, [GAP]),
    # Slots of a stacked host
    (
        SLOTS, [f"{TWO}1-1 0-2 ab _ p[1]|q[2] 1-2[3]|1-2[3]\n1-2 3-5 cd *[3]|*[4] _ _"], "ab cd", HOST,
        ["twice", "twice", GAP],
    ),
    # A slot that is not set
    (SLOTS, [f"{TWO}1-1 0-2 ab _ _ *\n1-2 3-5 cd * _ _"], "ab cd", HOST, []),
    # A relation
    (RELATION, [f"{TWO}1-1 0-2 ab A _ _\n1-2 3-5 cd B C 1-1"], "ab cd", [(0, 2, "A"), (3, 5, "B")], [GAP]),
    # A relation between stacked spans
    (
        RELATION, [f"{TWO}1-1 0-2 ab A[1]|B[2] _ _\n1-2 3-5 cd A * 1-1[2_0]"], "ab cd",
        [(0, 2, "A"), (0, 2, "B"), (3, 5, "A")], [GAP],
    ),
    # A chain
    (CHAIN, [f"{TWO}1-1 0-2 ab *->1-1 *[1]\n1-2 3-5 cd *->1-2 *[1]"], "ab cd", [], [GAP]),
    # A layer of parts of speech
    (POS, ["#Text=ab\n1-1 0-2 ab NN"], "ab", [], [GAP]),
    # An emoji
    (VALUE, ["#Text=a 😊 b\n1-1 0-1 a _\n1-2 2-4 😊 A\n1-3 5-6 b B"], "a 😊 b", [(2, 3, "A"), (4, 5, "B")], []),
    # A line break
    (VALUE, ["#Text=ab\n#Text=cd\n1-1 0-2 ab _\n1-2 3-5 cd A"], "ab\ncd", [(3, 5, "A")], []),
    # A zero-width space
    (VALUE, ["#Text=a\u200bb\n1-1 0-1 a _\n1-2 2-3 b A"], "a\u200bb", [(2, 3, "A")], []),
    # Sentences without a gap
    (VALUE, ["#Text=ab.\n1-1 0-3 ab. A", "#Text=cd\n2-1 3-5 cd B"], "ab.cd", [(0, 3, "A"), (3, 5, "B")], []),
    # Names of sentences
    (VALUE, ["#Sentence.id=s1\n#Text=ab\n1-1 0-2 ab A"], "ab", [(0, 2, "A")], []),
    # White space before the text
    (VALUE, ["#Text=ab\n1-1 2-4 ab A"], "  ab", [(2, 4, "A")], [GAP]),
]  # fmt: skip


@pytest.mark.parametrize(("layers", "blocks", "text", "spans", "warnings"), CASES)
def test_a_feature_is_read_or_reported(layers, blocks, text, spans, warnings):
    note = read_one("webanno-tsv", tsv(*blocks, layers=layers), LABELS)
    assert (note.text, [(span.start, span.end, span.label) for span in note.spans or []]) == (text, spans)
    assert [problem.code for problem in note.warnings] == warnings

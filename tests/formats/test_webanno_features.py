"""Each feature of WebAnno TSV 3 for itself: the text, the spans, and what is reported as not kept.

The features are from INCEpTION's own tests of its reader and writer; the files are our own.
"""

import pytest

from tests.formats.helpers import read_one
from tests.formats.test_webanno_tsv import NE, tsv

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
        RELATION,
        [f"{TWO}1-1 0-2 ab A[1]|B[2] _ _\n1-2 3-5 cd A * 1-1[2_0]"],
        "ab cd",
        [(0, 2, "A"), (0, 2, "B"), (3, 5, "A")],
        [GAP],
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
def test_a_feature_is_read_or_reported(
    layers: str, blocks: list[str], text: str, spans: list[tuple[int, int, str]], warnings: list[str]
) -> None:
    note = read_one("webanno-tsv", tsv(*blocks, layers=layers), LABELS)
    assert (note.text, [(span.start, span.end, span.label) for span in note.spans or []]) == (text, spans)
    assert [problem.code for problem in note.warnings] == warnings

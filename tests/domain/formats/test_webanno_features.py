"""Each feature of WebAnno TSV 3 for itself: the text, the spans, and what is reported as not kept.

The features are from INCEpTION's own tests of its reader and writer; the files are our own.
"""

import pytest

from tests.domain.formats.helpers import read_one
from tests.domain.formats.test_webanno_tsv import NE, tsv

LABELS = {label: label for label in ("A", "B", "C", "Mark", "Host", "NamedEntity")}
VALUE = "#T_SP=own.Mark|value\n"
BARE = "#T_SP=own.Mark|\n"
SLOTS = f"{BARE}#T_SP=own.Host|ROLE_own.Host:links_own.Link|own.Mark\n"
RELATION = f"{VALUE}#T_RL=own.Relation|value|BT_own.Mark\n"
CHAIN = "#T_CH=own.Chain|referenceRelation|referenceType\n"
TWO = "#Text=ab cd\n"
GAP = "not kept"

CASES = {
    # One token
    "a value": (VALUE, [f"{TWO}1-1 0-2 ab A\n1-2 3-5 cd _"], "ab cd", [(0, 2, "A")], []),
    "no value": (VALUE, [f"{TWO}1-1 0-2 ab *\n1-2 3-5 cd _"], "ab cd", [(0, 2, "Mark")], []),
    "a layer without features": (BARE, [f"{TWO}1-1 0-2 ab *\n1-2 3-5 cd _"], "ab cd", [(0, 2, "Mark")], []),
    "no layer": ("", ["#Text=ab\n1-1 0-2 ab"], "ab", [], []),
    "no annotation": (VALUE, [f"{TWO}1-1 0-2 ab _\n1-2 3-5 cd _"], "ab cd", [], []),
    "two features": (
        f"#T_SP={NE}|identifier|value\n", [f"{TWO}1-1 0-2 ab * A\n1-2 3-5 cd _ _"], "ab cd", [(0, 2, "A")], []
    ),
    "neither of two features": (
        f"#T_SP={NE}|identifier|value\n", [f"{TWO}1-1 0-2 ab * *\n1-2 3-5 cd _ _"], "ab cd", [(0, 2, "NamedEntity")], []
    ),
    "two layers": (
        f"{VALUE}#T_SP=own.Host|\n", [f"{TWO}1-1 0-2 ab A *\n1-2 3-5 cd _ *"], "ab cd",
        [(0, 2, "A"), (0, 2, "Host"), (3, 5, "Host")], [],
    ),
    # Several tokens
    "two tokens": (VALUE, [f"{TWO}1-1 0-2 ab A[1]\n1-2 3-5 cd A[1]"], "ab cd", [(0, 5, "A")], []),
    "stacked": (VALUE, [f"{TWO}1-1 0-2 ab A[1]|B[2]\n1-2 3-5 cd _"], "ab cd", [(0, 2, "A"), (0, 2, "B")], []),
    "stacked without values": (
        VALUE, [f"{TWO}1-1 0-2 ab *[1]|*[2]\n1-2 3-5 cd *[1]"], "ab cd", [(0, 2, "Mark"), (0, 5, "Mark")], []
    ),
    "crossing": (
        VALUE, ["#Text=a b c\n1-1 0-1 a A[1]\n1-2 2-3 b A[1]|B[2]\n1-3 4-5 c B[2]"], "a b c",
        [(0, 3, "A"), (2, 5, "B")], [],
    ),
    "touching": (VALUE, [f"{TWO}1-1 0-2 ab A\n1-2 3-5 cd A"], "ab cd", [(0, 2, "A"), (3, 5, "A")], []),
    "over two sentences": (
        VALUE, ["#Text=ab\n1-1 0-2 ab A[1]", "#Text=cd\n2-1 3-5 cd A[1]"], "ab\ncd", [(0, 5, "A")], [GAP]
    ),
    # Parts of tokens
    "inside a token": (VALUE, ["#Text=abcd\n1-1 0-4 abcd _\n1-1.1 1-3 bc A"], "abcd", [(1, 3, "A")], []),
    "a token and its part": (
        VALUE, ["#Text=abcd\n1-1 0-4 abcd B\n1-1.1 1-3 bc A"], "abcd", [(0, 4, "B"), (1, 3, "A")], []
    ),
    "a part and a token": (
        VALUE, [f"{TWO}1-1 0-2 ab _\n1-1.1 1-2 b A[1]\n1-2 3-5 cd A[1]"], "ab cd", [(1, 5, "A")], []
    ),
    # Without characters
    "between tokens": (BARE, ["#Text=ab.\n1-1 0-2 ab _\n1-1.1 2-2  *\n1-2 2-3 . _"], "ab.", [], ["not kept"]),
    "before the first token": (
        VALUE, ["#Text=ab\n1-1 2-4 ab _\n1-1.1 2-2  A"], "  ab", [], ["not kept", GAP]
    ),
    "stacked without characters": (
        VALUE, ["#Text=ab\n1-1 0-2 ab C\n1-1.1 0-0  A[1]|B[2]"], "ab", [(0, 2, "C")], ["not kept"]
    ),
    # Slots, relations, chains
    "slots": (
        SLOTS, [f"{TWO}1-1 0-2 ab _ p;q 1-2;1-2\n1-2 3-5 cd * _ _"], "ab cd", [(0, 2, "Host"), (3, 5, "Mark")],
        ["not kept"],
    ),
    "slots of a stacked host": (
        SLOTS, [f"{TWO}1-1 0-2 ab _ p[1]|q[2] 1-2[3]|1-2[3]\n1-2 3-5 cd *[3]|*[4] _ _"], "ab cd",
        [(0, 2, "Host"), (3, 5, "Mark")], ["twice", "twice", "not kept"],
    ),
    "a slot that is not set": (SLOTS, [f"{TWO}1-1 0-2 ab _ _ *\n1-2 3-5 cd * _ _"], "ab cd",
                               [(0, 2, "Host"), (3, 5, "Mark")], []),
    "a relation": (
        RELATION, [f"{TWO}1-1 0-2 ab A _ _\n1-2 3-5 cd B C 1-1"], "ab cd", [(0, 2, "A"), (3, 5, "B")],
        ["not kept"],
    ),
    "a relation between stacked spans": (
        RELATION, [f"{TWO}1-1 0-2 ab A[1]|B[2] _ _\n1-2 3-5 cd A * 1-1[2_0]"], "ab cd",
        [(0, 2, "A"), (0, 2, "B"), (3, 5, "A")], ["not kept"],
    ),
    "a chain": (CHAIN, [f"{TWO}1-1 0-2 ab *->1-1 *[1]\n1-2 3-5 cd *->1-2 *[1]"], "ab cd", [], ["not kept"]),
    "a layer of parts of speech": (
        "#T_SP=de.tudarmstadt.ukp.dkpro.core.api.lexmorph.type.pos.POS|PosValue\n", ["#Text=ab\n1-1 0-2 ab NN"], "ab",
        [], ["not kept"],
    ),
    # Texts
    "an emoji": (
        VALUE, ["#Text=a 😊 b\n1-1 0-1 a _\n1-2 2-4 😊 A\n1-3 5-6 b B"], "a 😊 b", [(2, 3, "A"), (4, 5, "B")], []
    ),
    "a line break": (VALUE, ["#Text=ab\n#Text=cd\n1-1 0-2 ab _\n1-2 3-5 cd A"], "ab\ncd", [(3, 5, "A")], []),
    "a zero-width space": (
        VALUE, ["#Text=a\u200bb\n1-1 0-1 a _\n1-2 2-3 b A"], "a\u200bb", [(2, 3, "A")], []
    ),
    "sentences without a gap": (
        VALUE, ["#Text=ab.\n1-1 0-3 ab. A", "#Text=cd\n2-1 3-5 cd B"], "ab.cd", [(0, 3, "A"), (3, 5, "B")], []
    ),
    "names of sentences": (VALUE, ["#Sentence.id=s1\n#Text=ab\n1-1 0-2 ab A"], "ab", [(0, 2, "A")], []),
    "white space before the text": (VALUE, ["#Text=ab\n1-1 2-4 ab A"], "  ab", [(2, 4, "A")], [GAP]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_feature_is_read_or_reported(case: str) -> None:
    layers, blocks, text, spans, warnings = CASES[case]
    note = read_one("webanno-tsv", tsv(*blocks, layers=layers), LABELS)
    assert (note.text, [(span.start, span.end, span.label) for span in note.spans or []]) == (text, spans)
    assert [problem.code for problem in note.warnings] == warnings

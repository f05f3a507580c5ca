"""Files of words: what each format gives, and what is refused."""

import pytest

from annotations.audio.rules.word_files import WordsError, read_words

TEXTGRID = '''File type = "ooTextFile"
Object class = "TextGrid"

xmin = 0
xmax = 2
tiers? <exists>
size = 2
item []:
    item [1]:
        class = "IntervalTier"
        name = "words"
        xmin = 0
        xmax = 2
        intervals: size = 2
        intervals [1]:
            xmin = 0
            xmax = 0.5
            text = "say ""hi"""
        intervals [2]:
            xmin = 0.5
            xmax = 2
            text = ""
    item [2]:
        class = "TextTier"
        name = "points"
        xmin = 0
        xmax = 2
        points: size = 1
        points [1]:
            number = 1
            mark = "click"
'''
SHORT = """File type = "ooTextFile short"
"TextGrid"
0
1
<exists>
1
"IntervalTier"
"mia words"
0
1
1
0.25
1
"yes"
"""
VTT = """WEBVTT

1
00:00:01.000 --> 00:00:02.000
<v Dr. Smith>good <b>day</b>
"""


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("a.json", '[{"word": "hi", "start": 0.5, "end": 1, "confidence": 0.9}]', [("hi", 0.5, 1, 0.9, "", False)]),
        ("a.json", '[{"word": "hi"}]', [("hi", None, None, None, "", False)]),
        (
            "a.json",
            '{"segments": [{"words": [{"word": " hi", "start": 0, "end": 1, "probability": 1, "speaker": "A"}]}]}',
            [(" hi", 0, 1, 1, "A", False)],
        ),
        ("a.json", '[{"word": "hi", "start": NaN, "end": 1e999}]', [("hi", None, None, None, "", False)]),
        ("a.json", f'[{{"word": "hi", "start": {10**400}, "end": 1}}]', [("hi", None, 1, None, "", False)]),
        (  # a segment without words is never dropped
            "a.json",
            '{"segments": [{"start": 0, "end": 2, "text": " Rossi, hi"}, {"words": [{"word": "you"}], "text": "you"}]}',
            [("Rossi,", 0, 1.5, None, "", True), ("hi", 1.5, 2, None, "", True), ("you", None, None, None, "", False)],
        ),
        (  # CTM lists one channel after the other
            "a.ctm",
            "r A 0 1 hi\nr A 2 1 you\nr B nan 1 there",
            [
                ("hi", 0, 1, None, "channel A", False),
                ("there", None, None, None, "channel B", False),
                ("you", 2, 3, None, "channel A", False),
            ],
        ),
        ("a.CTM", ";; comment\nrec 1 0.25 0.5 hi 0.7\n", [("hi", 0.25, 0.75, 0.7, "", False)]),
        ("a.TextGrid", TEXTGRID, [("say", 0, 0.25, None, "", True), ('"hi"', 0.2142857, 0.5, None, "", True)]),
        ("a.TextGrid", SHORT, [("yes", 0.25, 1, None, "", False)]),
        (  # what is no tag is text
            "a.vtt",
            "WEBVTT\n\n00:01.000 --> 00:03.000\na < b <i>and</i><00:02.000> c > d",
            [(one, None, None, None, "", True) for one in ["a", "<", "b", "and", "c", ">", "d"]],
        ),
        ("a.vtt", VTT, [("good", 1, 1.571428, None, "Dr. Smith", True), ("day", 1.571428, 2, None, "Dr. Smith", True)]),
    ],
)
def test_words_of_a_file(name, data, expected):
    found = read_words(name, data.encode())
    assert [one.word for one in found] == [one[0] for one in expected]
    for one, (_word, start, end, confidence, speaker, rough) in zip(found, expected, strict=True):
        assert (one.confidence, one.speaker, one.rough) == (confidence, speaker, rough)
        if one.rough and start is None:
            continue
        assert (one.start, one.end) == (start and pytest.approx(start, abs=0.05), end and pytest.approx(end, abs=0.05))


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.doc", "x"),
        ("a.json", "{"),
        ("a.json", "[1]"),
        ("a.json", '[{"word": "hi", "start": "0"}]'),
        ("a.json", "[]"),
        ("a.json", '[{"word": "hi", "confidence": 87}]'),
        ("a.json", '[{"word": "hi", "speaker": {}}]'),
        ("a.json", '[{"word": "hi", "speaker": "a\\u0000"}]'),
        ("a.json", '[{"word": "\\ud800"}]'),
        ("a.json", '{"segments": [7]}'),
        ("a.vtt", "WEBVTT\n\n1:00:01.00 --> 1:00:02.00\nhi"),
        ("a.textgrid", SHORT.replace("0\n1\n1\n0.25", "0\n1\n-2\n0.25")),
        ("a.textgrid", SHORT.replace("0\n1\n1\n0.25", "0\n1\n1000000000000\n0.25")),
        ("a.ctm", "rec 1 x 0.5 hi"),
        ("a.ctm", "one 1 0 1 hi\ntwo 1 0 1 hi"),
        ("a.textgrid", "x"),
        ("a.textgrid", TEXTGRID[:400]),
        ("a.vtt", "1\n00:00:01.000 --> 00:00:02.000\nhi"),
        ("a.json", b'[{"word": "\xff"}]'),
    ],
)
def test_what_is_no_file_of_words_is_refused(name, data):
    with pytest.raises(WordsError):
        read_words(name, data if isinstance(data, bytes) else data.encode())

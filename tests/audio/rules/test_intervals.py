"""What is muted: the example of Singh et al. 2025, A.5.1, as printed, and tables of margins, gaps and broken times."""

import pytest

from annotations.audio.rules.gaps import excerpt_with, heard_text, read_verdicts, sort_of, with_markers
from annotations.audio.rules.intervals import Interval, Stretch, doubtful, muted, voiced_gaps, with_margins
from annotations.audio.rules.words import SpokenWord, TimedWord, transcript_of, widened_times
from tests.audio import redactor


def test_the_example_of_the_source_as_printed():
    spoken = redactor.transcript()
    assert spoken.text == redactor.TEXT
    assert spoken.widened == 0
    gaps = voiced_gaps(redactor.VOICED, spoken.words)
    assert [(round(one.start, 2), round(one.end, 2)) for one in gaps] == [(2.85, 2.95), (7.42, 7.57)]
    assert with_markers(spoken.text, spoken.words, gaps) == redactor.MARKED
    verdicts = read_verdicts(redactor.ANSWER, gaps)
    assert list(verdicts.values()) == ["NON-PHI", "PHI"]
    personal = [gap for gap, verdict in verdicts.items() if verdict != "NON-PHI"]
    others = [Interval(*gap, "gap") for gap in personal]
    found = muted(spoken.words, redactor.spans(), others, margin=0.3, duration=redactor.DURATION)
    assert [(round(one.start, 2), round(one.end, 2), one.cause) for one in found] == [
        (3.93, 5.10, "DOCTOR"),
        (7.12, 7.87, "gap"),
        (12.27, 13.50, "HOSPITAL"),
    ]
    # The noise and the harmless gap stay audible.
    assert not any(one.start < end and start < one.end for one in found for start, end in [(15.1, 15.3), (2.85, 2.95)])
    hidden = [(start, end, "[MUTED]") for start, end, _label in redactor.spans()]
    assert heard_text(spoken.text, spoken.words, hidden, personal) == redactor.FINAL


@pytest.mark.parametrize(
    ("intervals", "expected"),
    [
        ([(1, 2, "A")], [(0.8, 2.2, "A")]),
        ([(0.1, 2, "A"), (9, 9.95, "B")], [(0, 2.2, "A"), (8.8, 10, "B")]),  # never outside the recording
        ([(3, 4, "B"), (1, 2.6, "A")], [(0.8, 4.2, "A+B")]),  # margins that touch are one interval
        ([(1, 2, "A"), (1.5, 3, "A")], [(0.8, 3.2, "A")]),
        ([(20, 30, "A")], []),
    ],
)
def test_margins(intervals, expected):
    assert with_margins([Interval(*one) for one in intervals], 0.2, 10.0) == expected


@pytest.mark.parametrize(
    ("times", "expected", "widened"),
    [
        ([(0, 1), (1, 2)], [(0, 1), (1, 2)], 0),
        ([(0, 1), (None, None), (2, 3)], [(0, 1), (1, 2), (2, 3)], 1),  # no time: between the neighbors
        ([(0, 1), (None, None), (1, 2)], [(0, 1), (0, 2), (1, 2)], 1),  # nothing between them: with the neighbors
        ([(None, None)], [(0, 5)], 1),
        ([(0, 1), (3, 2), (4, 5)], [(0, 1), (1, 4), (4, 5)], 1),  # the end before the start
        ([(0, 1.5), (1, 2)], [(0, 2), (0, 2)], 2),  # words that overlap get the time of both
        ([(3, 4), (1, 2)], [(1, 4), (1, 4)], 2),  # times that run backwards
        ([(float("nan"), 1), (2, 9)], [(0, 2), (2, 5)], 1),  # nothing ends after the recording
        ([(0, 1), (7, 9)], [(0, 1), (1, 5)], 1),  # after the end of the recording
    ],
)
def test_broken_times_are_widened_and_no_word_is_dropped(times, expected, widened):
    assert widened_times([SpokenWord("w", start, end) for start, end in times], 5.0) == (expected, widened)


def test_two_speakers_may_talk_at_once_but_none_of_them_with_themselves():
    words = [SpokenWord("yes", 0, 2, speaker="A"), SpokenWord("no", 1, 2, speaker="B")]
    spoken = transcript_of(words, 5.0)
    assert (spoken.text, spoken.widened) == ("yes\nno", 0)
    assert widened_times([*words, SpokenWord("yes", 1, 3, speaker="A")], 5.0) == ([(0, 3), (1, 2), (0, 3)], 2)


def test_half_a_million_words_without_times_take_no_longer_than_words_with_times():
    """Each word once looked at all others: the file of an hour took minutes."""
    times, widened = widened_times([SpokenWord("w", None, None)] * 200_000, 5.0)
    assert (times[0], times[-1], widened) == ((0, 5), (0, 5), 200_000)


def timed(*times, confidence=None):
    return [TimedWord(at, at + 1, *one, confidence, "", False) for at, one in enumerate(times)]


@pytest.mark.parametrize(
    ("voiced", "words", "expected"),
    [
        ([(0, 5)], [(1, 2), (3, 4)], [(0, 1), (2, 3), (4, 5)]),
        ([(0, 5)], [(0, 5)], []),
        ([(0, 1), (2, 3)], [(0.5, 2.5)], [(0, 0.5), (2.5, 3)]),
        ([(0, 1.05)], [(0, 1)], []),  # shorter than a word
        ([(0, 3)], [(2, 2.5), (0.5, 2.2)], [(0, 0.5), (2.5, 3)]),
        ([(0, 1)], [], [(0, 1)]),
    ],
)
def test_gaps(voiced, words, expected):
    assert voiced_gaps([Stretch(*one) for one in voiced], timed(*words)) == expected


def test_words_of_interpolated_segments_get_a_wider_margin():
    words = [TimedWord(0, 5, 2.0, 3.0, None, "", True)]
    assert muted(words, [(0, 5, "X")], [], margin=0.2, duration=10) == [(1.3, 3.7, "X")]


def test_doubtful_words_that_follow_each_other_are_one_interval():
    assert doubtful(timed((0, 1), (1, 2), confidence=0.2) + timed((2, 3), confidence=0.9)) == [(0, 2, "confidence")]


GAPS = [Stretch(1.0, 1.5), Stretch(61.25, 62.0)]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ('{"00:01.00 - 00:01.50": "PERSON", "01:01.25 - 01:02.00": "UNKNOWN"}', ["PERSON", "UNKNOWN"]),
        ('```json\n{"<human_timestamp_(00:01.00 - 00:01.50)>": "non-phi/pii"}\n```', ["NON-PHI", "UNKNOWN"]),
        ("- <human_timestamp_(01:01.25 - 01:02.00)> - NON-PHI/PII", ["UNKNOWN", "NON-PHI"]),
        ("I can't say.", ["UNKNOWN", "UNKNOWN"]),
        ('{"00:01.00 - 00:01.50": "NON-PHI", "00:01.00 - 00:01.50": "AGE"}', ["UNKNOWN", "UNKNOWN"]),  # contradiction
        ('{"00:09.00 - 00:09.50": "NON-PHI"}', ["UNKNOWN", "UNKNOWN"]),  # another time
        ('{"00:01.00 - 00:01.50": "FISH"}', ["UNKNOWN", "UNKNOWN"]),  # no type of the list
        ('{"00:01.00 - 00:01.50": "NON-PHI', ["UNKNOWN", "UNKNOWN"]),  # cut off
    ],
)
def test_answers_of_a_language_model(answer, expected):
    assert list(read_verdicts(answer, GAPS, ["PERSON", "AGE"]).values()) == expected


def test_verdicts_are_sorted_as_the_source_sorts_them():
    assert [sort_of(one) for one in ["PERSON", "AGE", "NON-PHI", "UNKNOWN", "PHI"]] == [
        "name",
        "context",
        "noise",
        "",
        "",
    ]


def test_the_excerpt_of_a_question_has_the_words_around_its_gap():
    words = [TimedWord(2 * at, 2 * at + 1, at, at + 0.9, None, "", False) for at in range(100)]
    text = " ".join("x" * 100)
    shown = excerpt_with(text, words, [Stretch(50.9, 51.0)])
    assert shown.split().count("x") == 60
    assert shown.split()[30].startswith("<human")

"""The example of Singh et al. 2025, A.5.1: a transcript with times, voiced parts, and two entities."""

from annotations.audio.rules.intervals import Stretch
from annotations.audio.rules.words import SpokenWord, Transcript, transcript_of

DURATION = 26.0
TEXT = (
    "The patient visited Dr. Smith last week a follow-up in his clinic at Creekwood Hospital. They discussed "
    "medication changes and scheduled the next appointment for next month. The patient also mentioned feeling unwell "
    "over the weekend."
)
FINAL = (
    "The patient visited [MUTED] last week [MUTED] a follow-up in his clinic at [MUTED]. They discussed "
    "medication changes and scheduled the next appointment for next month. The patient also mentioned feeling unwell "
    "over the weekend."
)
MARKED = f"<human_timestamp_(00:02.85 - 00:02.95)> {TEXT[:40]}<human_timestamp_(00:07.42 - 00:07.57)> {TEXT[40:]}"
ANSWER = """
- <human_timestamp_(00:02.85 - 00:02.95)> - NON-PHI/PII
- <human_timestamp_(00:07.42 - 00:07.57)> - PHI/PII
"""
# First and last word of stretches that are spoken without a pause, and their times.
_STRETCHES = [
    (0, 2, 2.95, 4.23), (3, 4, 4.23, 4.80), (5, 6, 4.80, 7.42), (7, 12, 7.57, 12.57), (13, 14, 12.57, 13.20),
    (15, 16, 13.20, 15.10), (17, 35, 15.30, 26.0),
]  # fmt: skip
VOICED = [Stretch(2.85, 15.10), Stretch(15.30, 26.0)]
"""15.10 to 15.30 is background noise."""
HARMLESS, PERSONAL = Stretch(2.85, 2.95), Stretch(7.42, 7.57)


def transcript() -> Transcript:
    said = TEXT.split()
    words = []
    for first, last, start, end in _STRETCHES:
        step = (end - start) / (last - first + 1)
        for at in range(first, last + 1):
            begin = start + (at - first) * step
            words.append(SpokenWord(said[at], begin, end if at == last else begin + step))
    assert len(words) == len(said)
    return transcript_of(words, DURATION)


def spans() -> list[tuple[int, int, str]]:
    return [
        (TEXT.index(one), TEXT.index(one) + len(one), label)
        for one, label in [("Dr. Smith", "DOCTOR"), ("Creekwood Hospital", "HOSPITAL")]
    ]

"""Chunks, masks, locations and rewritten notes have exact offsets for any text."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.text.spans import Span
from models_runtime.backends.base import BackendError
from models_runtime.backends.llm.answers import Mention, listed, locate
from models_runtime.backends.llm.driver import FoundSpan
from models_runtime.backends.llm.extracting import chunks, mask, overlapping
from models_runtime.backends.llm.prompts import fenced
from tests.backends.llm.texts import TEXT, spanned


@given(spanned())
def test_mask_and_back_is_the_identity(case: tuple[str, list[Span]]) -> None:
    text, spans = case
    masked = mask(text, spans)
    hidden = {at for span in spans for at in range(span.start, span.end)}
    seen = []
    for at in range(len(masked.text)):
        there = masked.back(at, at + 1)
        if there is not None:
            assert text[there[0] : there[1]] == masked.text[at]
            seen.append(there[0])
    assert seen == [at for at in range(len(text)) if at not in hidden]
    assert masked.back(0, len(masked.text)) == ((0, len(text)) if text and not spans else None)


def test_the_lines_around_a_note_are_random() -> None:
    first, text, last = fenced("Anna").split("\n")
    assert text == "Anna" and first == last != fenced("Anna").split("\n")[0]


def is_covered(text: str, pieces: list[tuple[int, int]], words: int) -> bool:
    """Whether chunks of at most so many words have all of a text but white space."""
    inside = {at for start, end in pieces for at in range(start, end)}
    left = (text[at] for at in set(range(len(text))) - inside)
    return all(letter.isspace() or letter in "\ufeff\u200b" for letter in left) and all(
        start < end and len(text[start:end].split()) <= words for start, end in pieces
    )


@given(TEXT, st.integers(1, 6))
def test_chunks_cover_the_text_in_order(text: str, words: int) -> None:
    pieces = chunks(text, words)
    assert is_covered(text, pieces, words) and pieces == sorted(pieces)


def test_chunks_end_at_ends_of_sentences() -> None:
    text = "Uno due tre. Quattro cinque.\nSei sette otto nove dieci."
    assert [text[a:b] for a, b in chunks(text, 5)] == ["Uno due tre. Quattro cinque.", "Sei sette otto nove dieci."]
    long = " ".join(f"w{n}" for n in range(100))
    pieces = [long[a:b].split() for a, b in chunks(long, 40)]
    assert pieces[0][-10:] == pieces[1][:10] and pieces[-1][-1] == "w99"
    assert [len(piece) for piece in pieces] == [40, 40, 40]


@given(TEXT, st.integers(2, 6), st.integers(1, 3))
def test_overlapping_chunks_begin_with_the_last_words_of_the_one_before(text: str, words: int, overlap: int) -> None:
    overlap = min(overlap, words // 2)
    pieces = overlapping(text, words, overlap)
    assert is_covered(text, pieces, words) and [end for _, end in pieces] == sorted(end for _, end in pieces)
    for (start, end), (following, _) in itertools.pairwise(pieces):
        assert following < end
        assert len(text[following:end].split()) == min(overlap, len(text[start:end].split())) or start == following


def test_the_chunks_of_singh_et_al() -> None:
    """The second chunk begins with the last words of the first one (section A.4.1)."""
    text = "She was admitted to Springfield General Hospital for chest pain. Dr. Mary Smith prescribed medication."
    assert [text[start:end] for start, end in overlapping(text, 13, 3)] == [
        "She was admitted to Springfield General Hospital for chest pain.",
        "for chest pain. Dr. Mary Smith prescribed medication.",
    ]


AGED = "The patient is 76 years old and takes 76 mg of aspirin daily."


@pytest.mark.parametrize(
    "context",
    ["76 years old", "patient is 76 years old", "is 76 years", "is 76  years\nold", "the man is 76 years of age"],
)
def test_76_years_old_and_not_76_mg(context: str) -> None:
    located = locate(AGED, [Mention(text="76", type="AGE", context=context)])
    assert located.found == [FoundSpan(15, 17, "AGE")] and located.doubtful == []


def test_an_ambiguous_mention_is_doubtful_at_all_its_places() -> None:
    for context in ("", "76", "nothing of the note 76"):
        located = locate(AGED, [Mention(text="76", type="AGE", context=context)])
        assert (located.found, located.ambiguous) == ([], 1)
        assert located.doubtful == [FoundSpan(15, 17, "AGE", 2), FoundSpan(38, 40, "AGE", 2)]
    both = locate(AGED, [Mention(text="76", type="AGE")] * 2)
    assert both.found == [FoundSpan(15, 17, "AGE"), FoundSpan(38, 40, "AGE")] and both.doubtful == []
    mentions = [Mention(text="76", type="AGE", context="76 years old"), Mention(text="76", type="AGE")]
    decided = locate(f"{AGED} Room 76.", mentions)
    assert decided.found == [FoundSpan(15, 17, "AGE")]
    assert decided.doubtful == [FoundSpan(38, 40, "AGE", 2), FoundSpan(67, 69, "AGE", 2)]


@pytest.mark.parametrize(
    ("text", "words", "context", "found", "doubtful"),
    [
        ("She takes 76 mg of aspirin.", "76", "is 76 years old", 0, 1),
        ("Seen by Dr. Rossi.", "Rossi", "the patient Mario Rossi, born in Turin", 0, 1),
        ("Seen by Dr. Rossi.", "Rossi", "seen by DR Rossi", 1, 0),
        ("Seen by Dr. Rossi.", "Rossi", "was seen by doctor Rossi", 1, 0),
        ("Seen by Dr. Rossi.", "Rossi", "Rossi", 1, 0),
        ("76 mg, then 76 mg again", "76", "is 76 years old", 0, 2),
    ],
)
def test_a_mention_whose_context_contradicts_the_text_is_doubtful(
    text: str, words: str, context: str, found: int, doubtful: int
) -> None:
    """Even if there is a mention for each location."""
    located = locate(text, [Mention(text=words, type="AGE", context=context)] * max(doubtful, 1))
    assert (len(located.found), [one.places for one in located.doubtful]) == (found, [doubtful] * doubtful)


@pytest.mark.parametrize(
    ("text", "words", "bounds"),
    [
        ("Ann, sister of Anna; GambiaHome", "Ann", (0, 3)),  # a whole word before a part of a word
        ("Ann, sister of Anna; GambiaHome", "Gambia", (21, 27)),
        ("İİİ Dr. İLKER ağaoğlu", "ağaoğlu", (14, 21)),  # letters that grow when lowered
        ("uno due", "Anna", None),
        ("uno " * 31, ("uno " * 31).strip(), None),  # too long
    ],
)
def test_places_of_mentions(text: str, words: str, bounds: tuple[int, int] | None) -> None:
    located = locate(text, [Mention(text=words, type="PERSON")])
    assert located.found == ([FoundSpan(*bounds, "PERSON")] if bounds else [])
    assert (located.hallucinated, located.too_long) == (words == "Anna", len(words) > 100)


@pytest.mark.parametrize(
    ("answer", "texts", "broken"),
    [
        ('{"entities": [{"text": "Anna", "type": "PERSON", "context": ""}]}', ["Anna"], 0),
        ('Sure!\n```json\n{"entities": [{"text": "Anna", "type": "PERSON"}]}\n```', ["Anna"], 0),
        ('<think>{"entities": []}</think>{"entities": [{"text": "Anna", "type": "PERSON"}]}', ["Anna"], 0),
        ('{"entities": [{"text": "Anna", "type": "PERSON"}, {"text": "Ben', ["Anna"], 1),
        ('{"entities": [{"text": "Anna", "type": }, {"text": "Ben", "type": "PERSON"}]}', ["Ben"], 1),
        ('{"entities": ["Anna", {"text": 5, "type": "AGE"}, {"text": "Ben", "type": "AGE", "start": -4}]}', ["Ben"], 2),
        ('{"entities": []}', [], 0),
        ('{"entities": [' + "[" * 100_000, [], 1),
    ],
    ids=["whole", "fenced", "thoughts", "half", "malformed inside", "wrong kinds", "empty", "deep"],
)
def test_answers_are_parsed_as_far_as_possible(answer: str, texts: list[str], broken: int) -> None:
    found = listed(answer, Mention)
    assert ([one.text for one in found.entries], found.broken) == (texts, broken)


@pytest.mark.parametrize("answer", ["", "I can't help with that.", "[]", '{"found": []}', '{"entities": null}'])
def test_an_answer_without_a_list_is_an_error(answer: str) -> None:
    with pytest.raises(BackendError, match="not the requested JSON") as caught:
        listed(answer, Mention)
    assert not caught.value.permanent

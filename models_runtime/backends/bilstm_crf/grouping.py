"""Group sentences, to give the network context (sentence grouping factor 1 to 32, Catelli 2021)."""

from annotations.domain.sentences import sentences
from annotations.domain.tokens import covered
from models_runtime.backends.notes.note import Note

# Limit of the tokens in one sequence, however few its sentences.
MOST = 512


def groups(note: Note, factor: int) -> list[tuple[int, int]]:
    """First and past-the-last token of each group of `factor` sentences; every token is in exactly one group."""
    found: list[tuple[int, int]] = []
    first = 0
    for number, (start, end) in enumerate(sentences(note.text), start=1):
        past = covered(note.tokens, start, end)[1]
        if number % factor == 0 or past - first >= MOST:
            found += _cut(first, past)
            first = past
    return found + _cut(first, len(note.tokens))


def _cut(first: int, past: int) -> list[tuple[int, int]]:
    return [(at, min(at + MOST, past)) for at in range(first, past, MOST)]

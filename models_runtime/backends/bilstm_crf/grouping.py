"""Sentences in groups: context helps (002; the sentence grouping factor, 1 to 32)."""

from annotations.domain.sentences import sentences
from annotations.domain.tokens import covered
from models_runtime.backends.notes.note import Note

# However few its sentences: what is one sequence to the network.
MOST = 512


def groups(note: Note, factor: int) -> list[tuple[int, int]]:
    """The tokens of a note as stretches of `factor` sentences, half-open; every token is in exactly one."""
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

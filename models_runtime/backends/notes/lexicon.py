"""A lexicon learned from notes without labels: the header fields in which a word occurs, and how often."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Final

from models_runtime.backends.notes.note import FIELD_LINE, read

LEAST: Final = 2
FIELDS: Final = 3
QUARTERS: Final = 4


def learn(texts: Iterable[str]) -> dict[str, list[str]]:
    """For each word found at least twice in a header field: up to three fields, each with its share in quarters."""
    inside: dict[str, Counter[str]] = defaultdict(Counter)
    uses: Counter[str] = Counter()
    for text in texts:
        note = read(text)
        for (first, past), at in ((edge, at) for edge in note.edges for at in range(*edge)):
            lower, position = note.words[at].lower, note.positions[at]
            uses[lower] += 1
            if (
                position.field
                and past - first <= FIELD_LINE
                and note.words[at].short.startswith("X")
                and len(lower) > 2
            ):
                inside[lower][position.field] += 1
    return {
        lower: [f"{field}/{min(QUARTERS * times // uses[lower], QUARTERS - 1)}" for field, times in found]
        for lower, fields in sorted(inside.items())
        if (found := [(field, times) for field, times in fields.most_common(FIELDS) if times >= LEAST])
    }

"""What the CRF knows of each token: strings, as crfsuite takes them.

Affixes, shapes, windows and bigrams are the usual ones (E. F. Tjong Kim Sang and F. De Meulder, CoNLL-2003); header
fields, the document memory and what the rules say are what clinical notes add to them.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Final

from annotations.domain.spans import Span
from models_runtime.backends.notes.note import Note
from models_runtime.backends.notes.said import rule_tags

AROUND: Final = 4
NOTHING: Final = "_"

Lexicon = Callable[[str], Sequence[str]]


class Features:
    """The features of one note, made once; `of` gives those of a stretch of its tokens.

    `said` are the rules' spans; `lexicon` gives what a word is known for in the project's notes.
    """

    def __init__(self, note: Note, said: Sequence[Span], lexicon: Lexicon | None = None) -> None:
        self._note = note
        self._lexicon = lexicon
        pad = [NOTHING] * AROUND
        self._norms = [*pad, *(word.norm for word in note.words), *pad]
        self._shapes = [*pad, *(word.shape for word in note.words), *pad]
        self._shorts = [*pad, *(word.short for word in note.words), *pad]
        self._rules = [*pad, *rule_tags(note, said), *pad]
        self._starts = [
            " ".join(word.lower for word in note.words[first : min(past, first + 2)]) for first, past in note.edges
        ]

    def of(self, first: int, past: int) -> list[list[str]]:
        """For each token of the stretch its features."""
        return [list(chain(*parts)) for parts in zip(self._own(first, past), *self._columns(first, past), strict=True)]

    def _own(self, first: int, past: int) -> list[tuple[str, ...]]:
        return [(*self._note.words[at].own, *self._marks(at)) for at in range(first, past)]

    def _columns(self, first: int, past: int) -> list[list[tuple[str, ...]]]:
        """Windows: built column by column, which is much faster than token by token."""

        def window(values: list[str], shift: int) -> list[str]:
            return values[first + AROUND + shift : past + AROUND + shift]

        norms = {shift: window(self._norms, shift) for shift in range(-AROUND, AROUND + 1)}
        shapes = {shift: window(self._shapes, shift) for shift in range(-AROUND + 1, AROUND)}
        shorts = {shift: window(self._shorts, shift) for shift in (-2, -1, 0, 1, 2)}
        said = {shift: window(self._rules, shift) for shift in (-1, 0, 1)}
        columns: list[list[str]] = []
        columns += [[f"w{shift}={x}" for x in norms[shift]] for shift in norms if shift]
        columns += [[f"s{shift}={x}" for x in shapes[shift]] for shift in shapes if shift]
        columns += [[f"r{shift}={x}" for x in said[shift]] for shift in said]
        for one, two in ((-2, -1), (-1, 0), (0, 1), (1, 2)):
            columns.append([f"w{one}w{two}={a}|{b}" for a, b in zip(norms[one], norms[two], strict=True)])
        for one, two in ((-1, 0), (0, 1)):
            columns.append([f"s{one}s{two}={a}|{b}" for a, b in zip(shapes[one], shapes[two], strict=True)])
        columns.append([f"s3={a}|{b}|{c}" for a, b, c in zip(shapes[-1], shapes[0], shapes[1], strict=True)])
        columns.append([f"s5={'|'.join(x)}" for x in zip(*(shorts[shift] for shift in sorted(shorts)), strict=True)])
        return [list(zip(*columns, strict=True))]

    def _marks(self, at: int) -> Iterator[str]:
        """What depends on the place: line, field, neighbours in the text, memory, lexicon."""
        note = self._note
        place = note.places[at]
        first, past = note.edges[place.line]
        short, start = note.words[at].short, self._starts[place.line]
        yield "bias"
        yield f"f={place.field}"
        yield f"f{place.since}={place.field}"
        yield f"fs={place.field}|{short}"
        yield f"in={min(place.into, 9)}"
        yield f"start={start}"
        yield f"starts={start}|{short}"
        yield f"before={self._starts[place.line - 1] if place.line else NOTHING}"
        yield f"top={min(place.line, 20)}"
        yield f"bottom={min(len(note.edges) - 1 - place.line, 6)}"
        yield f"length={min((past - first) // 5, 6)}"
        yield f"glued={self._glued(at)}{self._glued(at + 1)}"
        if at == first:
            yield "first"
        if at == past - 1:
            yield "last"
        for shift in (-1, 0, 1):
            if 0 <= at + shift < len(note.words):
                lower = note.words[at + shift].lower
                yield from (f"m{shift}={field}" for field in note.memory.get(lower, ()))
                if self._lexicon:
                    yield from (f"l{shift}={field}" for field in self._lexicon(lower))

    def _glued(self, at: int) -> int:
        """Whether nothing stands between this token and the one before it."""
        tokens = self._note.tokens
        return int(0 < at < len(tokens) and tokens[at - 1].end == tokens[at].start)

"""Several readings of the same notes beside gold: each one's figures, what all of them missed, what only one found."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from annotations.domain.scoring.covering import covered_characters
from annotations.domain.scoring.knots import Place
from annotations.domain.scoring.rates import NOTHING
from annotations.domain.scoring.scorer import Scorer
from annotations.domain.spans import Span

UNTOUCHED: Final = "untouched"
MISSED: Final = "missed"
ONLY: Final = "only:"


class Telling(NamedTuple):
    """A gold span that tells the readers apart, or shows what they have in common.

    `kind`: UNTOUCHED (nobody marked any of it), MISSED (somebody did, but nobody its very place and label), or ONLY
    with the reader who alone has it. `near` is that reader's span, or of those that missed it the one nearest to it.
    """

    kind: str
    gold: Place
    near: Place | None


class SideBySide:
    """`add` notes, then `figures`. `readers` are names; labels as a Scorer takes them."""

    def __init__(self, readers: Sequence[str], label_order: Sequence[str], category_of: Mapping[str, str]) -> None:
        self._scorers = {reader: Scorer(label_order, category_of) for reader in readers}
        self._characters = dict.fromkeys(readers, NOTHING)
        self._counts: Counter[str] = Counter()

    def add(self, text: str, gold: Sequence[Span], readings: Mapping[str, Sequence[Span]]) -> list[Telling]:
        """Count one note, read by every reader; its telling gold spans in reading order. Raises as Scorer.add does."""
        for reader, scorer in self._scorers.items():
            scorer.add(text, gold, readings[reader])
            self._characters[reader] += covered_characters(gold, readings[reader])
        found = list(_telling(gold, readings))
        self._counts.update(one.kind for one in found)
        return found

    def figures(self) -> dict[str, Any]:
        """Each reader's score table with `characters`, and how many gold spans are of each kind."""
        return {
            "readers": {
                reader: scorer.table().as_dict() | {"characters": self._characters[reader].as_dict()}
                for reader, scorer in self._scorers.items()
            },
            "untouched": self._counts[UNTOUCHED],
            "missed_by_all": self._counts[UNTOUCHED] + self._counts[MISSED],
            "only": {reader: self._counts[ONLY + reader] for reader in self._scorers},
        }


def _telling(gold: Sequence[Span], readings: Mapping[str, Sequence[Span]]) -> list[Telling]:
    said = {reader: {(span.start, span.end, span.label) for span in spans} for reader, spans in readings.items()}
    everything = sorted(set().union(*said.values()))
    found = []
    for place in sorted({(span.start, span.end, span.label) for span in gold}):
        readers = [reader for reader, places in said.items() if place in places]
        if len(readers) == 1 < len(said):
            found.append(Telling(ONLY + readers[0], place, place))
        elif not readers:
            near = max(everything, key=lambda other: _shared(place, other), default=None)
            touched = near is not None and _shared(place, near) > 0
            found.append(Telling(MISSED if touched else UNTOUCHED, place, near if touched else None))
    return found


def _shared(one: Place, other: Place) -> int:
    """How many code points both cover; not above 0 where they don't overlap."""
    return min(one[1], other[1]) - max(one[0], other[0])

"""A suggestion of a language model whose words or whose place in the note are doubtful."""

from dataclasses import dataclass, field, replace

from annotations.text.provenance import Doubt
from annotations.text.spans import Bounds, Span


@dataclass(frozen=True, slots=True)
class Doubtful(Span):
    """A span that a reviewer should check.

    `removed` are words beside the span that vanished together with it. `unsupported` are words of the span that
    neither a rule nor the shape of the words supports. Both are bounds in the note's text, in code points,
    end-exclusive. `places` is the number of places that the model may have meant, if its answer doesn't say which one;
    each of them is suggested (Singh et al. 2025, section 3.2). It is 1 if the context in the answer contradicts the
    note, and otherwise 0.
    """

    removed: tuple[Bounds, ...] = field(default=(), compare=False)
    unsupported: tuple[Bounds, ...] = field(default=(), compare=False)
    places: int = field(default=0, compare=False)

    @property
    def provenance(self) -> Doubt:
        """The provenance that is stored with the suggestion."""
        doubt: Doubt = {"removed": [*map(list, self.removed)], "unsupported": [*map(list, self.unsupported)]}
        if self.places:
            doubt["places"] = self.places
        return doubt


def doubtful(span: Span, doubt: Doubt) -> Doubtful:
    """The span of a suggestion that was stored with this provenance."""
    removed, unsupported = (tuple((start, end) for start, end in doubt[key]) for key in ("removed", "unsupported"))
    return Doubtful(
        span.start, span.end, span.label, span.confidence, span.source, removed, unsupported, doubt.get("places", 0),
        attributes=span.attributes,
    )  # fmt: skip


def shifted(span: Span, by: int) -> Span:
    """The span of a piece of a note, with the offsets of the whole note."""
    moved = replace(span, start=span.start + by, end=span.end + by)
    if not isinstance(moved, Doubtful):
        return moved
    return replace(
        moved,
        removed=tuple((start + by, end + by) for start, end in moved.removed),
        unsupported=tuple((start + by, end + by) for start, end in moved.unsupported),
    )

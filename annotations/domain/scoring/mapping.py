"""From one label set to another, so that a set can be scored in the words of another: total, or refused."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from annotations.domain.spans import Span


class MappingError(ValueError):
    """A label has no place in the mapping: a gap in it, never a silent drop."""


@dataclass(frozen=True, slots=True)
class LabelMapping:
    """What each label becomes; None says that the other set has no such label, so that its spans don't count.

    `to_category` is set where the targets are the other set's categories: it has no finer level then.
    """

    source: str
    target: str
    labels: Mapping[str, str | None]
    to_category: bool = False

    def check(self, used: Iterable[str]) -> None:
        """Raise MappingError unless every label that is used has its place."""
        missing = sorted(set(used) - set(self.labels))
        if missing:
            raise MappingError(
                f"the mapping from {self.source} to {self.target} lacks {', '.join(missing)}: "
                f"it must say of every label what it becomes"
            )

    def __call__(self, spans: Iterable[Span]) -> list[Span]:
        """The spans in the other set's labels, without those that have none there. Raises MappingError for a gap."""
        given = list(spans)
        self.check(span.label for span in given)
        return [Span(span.start, span.end, label) for span in given if (label := self.labels[span.label]) is not None]

"""Mappings from one label set to another, for scoring annotations with different label sets."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from annotations.text.spans import Span


class MappingError(ValueError):
    """A label is missing in the mapping. Its spans must not be dropped silently."""


@dataclass(frozen=True, slots=True)
class LabelMapping:
    """The target label of each label; None if the other set has no such label, so that its spans don't count.

    `to_category` is True if the targets are categories of the other set, so that there is no finer level.
    """

    source: str
    target: str
    labels: Mapping[str, str | None]
    to_category: bool = False

    def check(self, used: Iterable[str]) -> None:
        """Raise MappingError unless the mapping contains every label in `used`."""
        missing = sorted(set(used) - set(self.labels))
        if missing:
            raise MappingError(
                f"The mapping from {self.source} to {self.target} lacks these labels: {', '.join(missing)}. "
                f"It must contain every label in use."
            )

    def __call__(self, spans: Iterable[Span]) -> list[Span]:
        """The spans with the other set's labels, without spans that have none. Raises MappingError."""
        given = list(spans)
        self.check(span.label for span in given)
        return [replace(span, label=label) for span in given if (label := self.labels[span.label]) is not None]

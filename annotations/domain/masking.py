"""Text in which placeholders stand for labelled stretches. Offsets are code points, end-exclusive."""

from collections.abc import Iterable, Mapping

from annotations.domain.spans import Span


def stretches(spans: Iterable[Span]) -> list[tuple[int, int, str]]:
    """Overlapping spans as one stretch, in order, with the label of the longest of them, then of the earliest."""
    found: list[tuple[int, int, str]] = []
    longest = 0
    for span in sorted(spans):
        if found and span.start < found[-1][1]:
            start, end, label = found[-1]
            if span.end - span.start > longest:
                longest, label = span.end - span.start, span.label
            found[-1] = (start, max(end, span.end), label)
        else:
            found.append((span.start, span.end, span.label))
            longest = span.end - span.start
    return found


def masked(text: str, spans: Iterable[Span], placeholder_of: Mapping[str, str]) -> str:
    """The text as it reads with every stretch replaced by its label's placeholder, and nothing else changed."""
    parts: list[str] = []
    done = 0
    for start, end, label in stretches(spans):
        parts += [text[done:start], placeholder_of[label]]
        done = end
    return "".join([*parts, text[done:]])

"""Text with placeholders in place of labeled spans. Offsets are code points, end-exclusive."""

from collections.abc import Iterable, Mapping

from annotations.text.spans import Span


def stretches(spans: Iterable[Span]) -> list[tuple[int, int, str]]:
    """Join overlapping spans, and give each stretch the label of its longest, then earliest span; in order."""
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
    """The text with every stretch replaced by its label's placeholder."""
    parts: list[str] = []
    done = 0
    for start, end, label in stretches(spans):
        parts += [text[done:start], placeholder_of[label]]
        done = end
    return "".join([*parts, text[done:]])

"""Python versions of browser code that the product needs in the browser only, to compare the browser's results with."""

from collections.abc import Sequence

from annotations.text.segments import Line, Segment, lines, segment_stretches
from annotations.text.spans import Span, Token, covered


def segment_lines(text: str, spans: Sequence[Span]) -> list[tuple[Line, list[Segment]]]:
    """Every line of the text with its segments, in order; an empty line has none."""
    found = lines(text)
    return list(zip(found, segment_stretches([(line.start, line.end) for line in found], spans), strict=True))


def snap(tokens: Sequence[Token], start: int, end: int) -> tuple[int, int] | None:
    """Widen a selection to the ends of the tokens that it shares a character with; None if there is none.

    An empty selection (a caret) selects the token of the character after it.
    """
    first, past = covered(tokens, start, max(end, start + 1))
    if first >= past:
        return None
    return tokens[first].start, tokens[past - 1].end

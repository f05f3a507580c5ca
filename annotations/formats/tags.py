"""What the formats with one tag for each token share."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import attrgetter

from annotations.formats.base import LabelFinder
from annotations.text.bio import OUTSIDE, Cause, Encoded, Loser, split_any_tag, split_tag
from annotations.text.segments import lines
from annotations.text.sentences import sentences
from annotations.text.tokens import Token

_start = attrgetter("start")


def lost(loser: Loser) -> str:
    """The reason for the loss of a span that tags don't hold whole."""
    winner = loser.winner
    by = "" if winner is None else f"{winner.label} {winner.start}-{winner.end}"
    match loser.cause:
        case Cause.NO_TOKEN:
            return "The span contains no token."
        case Cause.DUPLICATE:
            return "The span occurs twice and is exported once."
        case Cause.COVERED:
            return f"All tokens of the span belong to the span {by}."
        case Cause.PARTLY_COVERED:
            return f"Some tokens of the span belong to the span {by}."
        case Cause.WHITE_SPACE:
            return "White space at the ends of the span is not exported."


def count_labels(tags: Iterable[str]) -> Counter[str]:
    """The number of spans by label. An `I-` that follows `O` or another label starts a span, as in `decode`."""
    found: Counter[str] = Counter()
    before = ""
    for tag in tags:
        try:
            mark, label = split_tag(tag)
        except ValueError:
            mark, label = OUTSIDE, ""
        if label and (mark == "B" or label != before):
            found[label] += 1
        before = label
    return found


def is_tag(text: str) -> bool:
    """Whether a text is a tag of any scheme."""
    try:
        split_any_tag(text)
    except ValueError:
        return False
    return True


def words_of(text: str, tokens: Iterable[Token]) -> list[str]:
    """The words of a text at its tokens."""
    return [text[start:end] for start, end in tokens]


def written_tags(tags: Iterable[str], labels: Mapping[str, str]) -> dict[str, str]:
    """The tags to write, by the tags that occur; for `labels` see `Format.write`."""
    return {tag: tag if tag == OUTSIDE else tag[:2] + labels.get(tag[2:], tag[2:]) for tag in set(tags)}


class TagReader:
    """Replacement of the label in a tag by its code, or a problem (code, message). Each tag is looked up once."""

    def __init__(self, find_label: LabelFinder, split: Callable[[str], tuple[str, str]] = split_tag) -> None:
        self._find_label = find_label
        self._split = split
        self._known: dict[str, str | tuple[str, str]] = {}

    def __call__(self, tag: str) -> str | tuple[str, str]:
        if tag not in self._known:
            self._known[tag] = self._read(tag)
        return self._known[tag]

    def _read(self, tag: str) -> str | tuple[str, str]:
        try:
            mark, label = self._split(tag)
        except ValueError as error:
            return "tag", str(error)
        if not label:
            return OUTSIDE
        code = self._find_label(label)
        return ("label", self._find_label.unknown(label)) if code is None else f"{mark}-{code}"


def blocks(text: str, encoded: Encoded, *, by_sentence: bool, whole_spans: bool) -> Iterator[tuple[int, int]]:
    """The tokens of each line that has tokens, or of each sentence, as half-open ranges of indexes.

    With `whole_spans`, no block ends inside a span.
    """
    ends = [end for _, end in sentences(text)] if by_sentence else [line.end for line in lines(text)]
    first = 0
    for end in ends:
        past = bisect_left(encoded.tokens, end, first, key=_start)
        if past > first and (past == len(encoded.tokens) or not (whole_spans and encoded.tags[past][0] == "I")):
            yield first, past
            first = past
    if first < len(encoded.tokens):
        yield first, len(encoded.tokens)

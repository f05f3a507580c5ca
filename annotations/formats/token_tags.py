"""What the formats with one tag for each token share."""

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Final

from annotations.formats.base import BAD_CODE, LabelFinder, lost_attributes, written_code
from annotations.formats.notes import Loss, OutNote
from annotations.text.bio import OUTSIDE, BioEncoding, Cause, Loser, encode, split_any_tag, split_tag
from annotations.text.characters import WHITE_SPACE
from annotations.text.segments import lines, sentences
from annotations.text.spans import Bounds, Token, Tokenizer, tokens_at
from annotations.text.wording import gettext as _
from annotations.text.wording import gettext_noop

_start = attrgetter("start")


def _lost(loser: Loser) -> str:
    """The reason for the loss of a span that tags don't hold whole."""
    winner = loser.winner
    by = "" if winner is None else f"{winner.label} {winner.start}-{winner.end}"
    match loser.cause:
        case Cause.NO_TOKEN:
            return _("The span contains no token.")
        case Cause.DUPLICATE:
            return _("The span occurs twice and is exported once.")
        case Cause.COVERED:
            return _("All tokens of the span belong to the span {other}.", by)
        case Cause.PARTLY_COVERED:
            return _("Some tokens of the span belong to the span {other}.", by)
        case Cause.WHITE_SPACE:
            return _("White space at the ends of the span is not exported.")


def tagged(note: OutNote, labels: Mapping[str, str], tokenizer: Tokenizer) -> tuple[BioEncoding, list[Loss]]:
    """The tokens of a note with the tags to write, and the losses of spans that tags don't hold whole."""
    spans = [span for span in note.spans if written_code(span, labels) is not None]
    losses = [Loss(note.name, span, _(BAD_CODE)) for span in note.spans if written_code(span, labels) is None]
    encoded = encode(note.text, spans, label_order=tuple(labels), tokenizer=tokenizer)
    losses += [Loss(note.name, loser.span, _lost(loser)) for loser in encoded.losers]
    return encoded, losses + lost_attributes(replace(note, spans=spans))


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


def blocks(text: str, encoded: BioEncoding, *, by_sentence: bool, whole_spans: bool) -> Iterator[tuple[int, int]]:
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


# Tokens without offsets: find them in the text that they were made from, or make a text from them.
#
# White space between tokens is free. Tools write some characters of a token in other ways: brackets as `-LRB-`, quotes
# as two backquotes or two apostrophes, a slash with a backslash before it (as in the Penn Treebank; list of such
# changes: https://nlp.stanford.edu/software/tokenizer.html). Such a token is found, too.


REBUILT: Final = gettext_noop(
    "The file has neither offsets that fit its tokens nor a text beside it. The text was made of the tokens, with a "
    "space between tokens and a line break between sentences."
)
"""The warning for a note whose text is from `rebuilt`."""
PLACED: Final = gettext_noop(
    "The file has no text beside it. The text was made of the tokens at the offsets in the file, with spaces and "
    "line breaks between them."
)
"""The warning for a note whose text is from `placed`."""
_WIDEST: Final = 10_000
_MOST_BEFORE: Final = 20
_BRACKETS: Final = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}
_QUOTES: Final = ('"', "“", "”", "„", "«", "»", "''", "``")
_SINGLE: Final = ("'", "`", "‘", "’", "‚")
_IN_TEXT: Final[dict[str, tuple[str, ...]]] = {
    **{name: (sign,) for name, sign in _BRACKETS.items()},
    **{name.lower(): (sign,) for name, sign in _BRACKETS.items()},
    "``": _QUOTES,
    "''": _QUOTES,
    '"': _QUOTES,
    "`": _SINGLE,
    "'": _SINGLE,
    "...": ("…", ". . ."),
    "--": ("–", "—"),
    "-": ("–", "—"),
    "\\/": ("/",),
    "\\*": ("*",),
}
"""What a token, or a part of it, may stand for in the text."""
_PART: Final = re.compile("|".join(re.escape(each) for each in sorted(_IN_TEXT, key=len, reverse=True)))
_BLANK: Final = re.compile(f"[{re.escape(''.join(sorted(WHITE_SPACE)))}]+")
_WHITE: Final = "".join(WHITE_SPACE)
_UNSEEN: Final = frozenset({"Cc", "Cf"})  # control and format characters, which tools drop


@dataclass(slots=True)
class WordAlignment:
    """Where words are in a text.

    `missing` is the index of the first word that doesn't follow, or None; `tokens` are then those of the words before
    it. `at` is the offset after the last token, `changed` the indexes of words that are written in another way.
    """

    tokens: list[Token] = field(default_factory=list)
    missing: int | None = None
    at: int = 0
    changed: list[int] = field(default_factory=list)


def align(text: str, words: Iterable[str]) -> WordAlignment:
    """Find the words in the text, one after the other. No word may be blank."""
    found = WordAlignment()
    places: list[Bounds] = []
    at = 0
    for index, word in enumerate(words):
        end = at + len(word)
        if text[at:end] != word:
            # Most words follow after one space or line feed.
            if text[at : at + 1] in (" ", "\n") and text[at + 1 : end + 1] == word:
                at, end = at + 1, end + 1
            else:
                place = _next(text, at, word)
                if place is None:
                    found.missing = index
                    break
                at, end = place
                if text[at:end] != word:
                    found.changed.append(index)
        places.append((at, end))
        at = end
    found.at = at
    found.tokens = tokens_at(places)
    return found


def blank(text: str, start: int = 0) -> bool:
    """Whether the text from `start` on has only characters that may lie between tokens."""
    return all(map(_free, text[start:]))


def shown(word: str) -> str:
    """The word without white space at its ends, as tokens are; empty if nothing is left."""
    return word.strip(_WHITE)


def rebuilt(sentences: Iterable[Sequence[str]]) -> tuple[str, list[Token]]:
    """A text of the words, joined by spaces, with a line feed between sentences; and their places in it."""
    pieces: list[str] = []
    tokens: list[Token] = []
    at = 0
    for words in sentences:
        for number, word in enumerate(words):
            if pieces:
                pieces.append(" " if number else "\n")
                at += 1
            pieces.append(word)
            tokens.append(Token(at, at + len(word)))
            at += len(word)
    return "".join(pieces), tokens


def placed(sentences: Iterable[tuple[Sequence[str], Sequence[int]]]) -> tuple[str, list[Token]] | None:
    """A text of the words of sentences at their starts, and their places in it; None if the words don't fit there.

    Offsets of a first word that is far from 0 count from there.
    """
    pieces: list[str] = []
    tokens: list[Token] = []
    at = base = 0
    for words, starts in sentences:
        if len(words) != len(starts):
            return None
        for number, (word, start) in enumerate(zip(words, starts, strict=True)):
            if not tokens and start > _MOST_BEFORE:
                base = start
            gap = start - base - at
            if not 0 <= gap <= _WIDEST:
                return None
            pieces += ("\n" + " " * (gap - 1) if tokens and gap and not number else " " * gap, word)
            tokens.append(Token(start - base, start - base + len(word)))
            at = tokens[-1].end
    return "".join(pieces), tokens


def _free(character: str) -> bool:
    return character in WHITE_SPACE or character.isspace() or unicodedata.category(character) in _UNSEEN


def _next(text: str, at: int, word: str) -> Bounds | None:
    """The first place of the word from `at` on with only free characters before it, in whatever way it is written."""
    while not text.startswith(word, at):
        if at < len(text) and _free(text[at]):
            at += 1
            continue
        end = _written_otherwise(text, at, word)
        return None if end is None else (at, end)
    return at, at + len(word)


def _written_otherwise(text: str, at: int, word: str) -> int | None:
    """The end of a word that starts at `at` and is written in another way there; None if it isn't there."""
    ends = [at]
    for choices in _choices(word):
        ends = list({past for end in ends for choice in choices if (past := _past(text, end, choice)) is not None})
        if not ends:
            return None
    return max(ends)


def _choices(word: str) -> Iterator[tuple[str, ...]]:
    """The parts of a word, and for each part the ways to write it."""
    before = 0
    for match in _PART.finditer(word):
        if match.start() > before:
            yield (word[before : match.start()],)
        yield match[0], *_IN_TEXT[match[0]]
        before = match.end()
    if before < len(word):
        yield (word[before:],)


def _past(text: str, at: int, part: str) -> int | None:
    """The end of a part of a word at `at`; white space in it may be other white space in the text, or none."""
    pieces = _BLANK.split(part)
    for number, piece in enumerate(pieces):
        while number and at < len(text) and text[at] in WHITE_SPACE:
            at += 1
        if not text.startswith(piece, at):
            return None
        at += len(piece)
    return at

"""What people write beside a note (comments, reasons, what they look for): checked before it is kept."""

from annotations.domain.whitespace import WHITE_SPACE


class WordingError(ValueError):
    """Text that can't be kept: blank, too long, or with characters that no database takes. Never quotes it."""


def worded(value: object, longest: int, *, what: str = "text", blank: bool = False) -> str:
    """`value` with lines that end in LF, without white space around it; at most `longest` code points.

    Raises WordingError, which names the limit and the length but never the text.
    """
    if not isinstance(value, str):
        raise WordingError(f"the {what} must be text")
    text = value.replace("\r\n", "\n").replace("\r", "\n").strip("".join(WHITE_SPACE))
    if "\0" in text:
        raise WordingError(f"the {what} holds the character NUL (U+0000), which can't be kept; take it out")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise WordingError(f"the {what} holds half a character (an unpaired surrogate), which can't be kept")
    if not text and not blank:
        raise WordingError(f"the {what} is empty")
    if len(text) > longest:
        raise WordingError(f"the {what} has {len(text):,} characters; it may have {longest:,}")
    return text

"""Checks of texts that people enter, such as comments, reasons and search texts, before they are stored."""

from annotations.text.whitespace import WHITE_SPACE


class WordingError(ValueError):
    """A text that can't be stored: empty, too long or with forbidden characters. The message never quotes the text."""


def worded(value: object, longest: int, *, what: str = "text", blank: bool = False) -> str:
    """Return the text with LF line breaks and without white space around it, if it can be stored.

    It may have at most `longest` code points, and may be empty only if `blank`. `what` names the text in messages.
    Raises WordingError.
    """
    if not isinstance(value, str):
        raise WordingError(f"The {what} must be a string.")
    text = value.replace("\r\n", "\n").replace("\r", "\n").strip("".join(WHITE_SPACE))
    if "\0" in text:
        raise WordingError(f"The {what} contains the character NUL (U+0000), which can't be stored. Remove it.")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise WordingError(f"The {what} contains an unpaired surrogate, which can't be stored. Remove it.")
    if not text and not blank:
        raise WordingError(f"The {what} is empty.")
    if len(text) > longest:
        raise WordingError(f"The {what} has {len(text):,} characters; at most {longest:,} are allowed.")
    return text

"""Sentences for people, in the language of the reader.

Pure code knows no Django, so the app names its gettext at start (`speak_with`). Elsewhere, as in Spark's workers,
sentences stay English. `makemessages` finds them as literal arguments of these functions and of each WordedError.
"""

from collections.abc import Callable
from enum import StrEnum
from string import Formatter
from typing import Any, Final, Self

_TRANSLATE: Final[list[Callable[[str], str]]] = [str]


def speak_with(translate: Callable[[str], str]) -> None:
    """Look up the sentences of this process with the function."""
    _TRANSLATE[0] = translate


def gettext_noop(text: str) -> str:
    """Mark a text that is translated where it is shown, as the function of Django does."""
    return text


def gettext(sentence: str, *values: object) -> str:
    """The sentence in the language of the reader.

    Its named placeholders, as in “{count:,} notes”, take the values in the order of the English sentence.
    """
    translated = _TRANSLATE[0](sentence)
    if not values:
        return translated
    names = dict.fromkeys(name for _, name, _, _ in Formatter().parse(sentence) if name)
    return translated.format(**dict(zip(names, values, strict=True)))


class NamedValue(StrEnum):
    """A stored value and its name for people, `words`, which is translated where it is shown.

    A subclass may declare more texts about each value, which follow the words.
    """

    words: str

    def __new__(cls, value: str, words: str = "", *more: str) -> Self:
        named = str.__new__(cls, value)
        named._value_, named.words = value, words
        for name, text in zip(cls.__annotations__, more, strict=False):
            setattr(named, name, text)
        return named


class WordedError(Exception):
    """An error for people: a literal sentence and the values of its placeholders. `str()` words it with `gettext`."""

    def __str__(self) -> str:
        return gettext(*self.args) if self.args else ""

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel to another process with all attributes, whatever the arguments of the class are."""
        values = (value if isinstance(value, int | float) else str(value) for value in self.args)
        return type(self).__new__, (type(self), *values), self.__dict__

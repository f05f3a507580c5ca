"""Tokenizers besides the default rule (`annotations.text.spans`), for workers and commands.

Their code is imported on first use, so that the web process never loads it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from django.utils.module_loading import import_string
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotations.core.services import ServiceError
from annotations.text.spans import Tokenizer, TokenizerError, tokenize


@dataclass(frozen=True)
class TokenizerKind:
    """A tokenizer by its name in forms and commands. `factory` is the path of a function: language code to tokenizer.

    The factory raises TokenizerError for a language that it doesn't have. `library` is what an installation must have.
    """

    title: str
    factory: str
    library: str


KINDS: Final = {
    "spacy": TokenizerKind(
        title=gettext_noop("spaCy's tokens for the language of each note"),
        factory="models_runtime.backends.spacy_pipeline.tokenizer_of",
        library="spaCy",
    )
}
TOKENIZER_HELP: Final = (
    "Tokenizer for the language of each note, for the figures on tokens. Without it, the default rule."
)


def check_tokenizer(name: str) -> None:
    """Raise ServiceError unless the name is empty (the default rule) or that of a registered tokenizer."""
    if name and name not in KINDS:
        message = _("There is no tokenizer “%(name)s”. Choose one of: %(choices)s.")
        raise ServiceError(message % {"name": name, "choices": ", ".join(KINDS)}, code="tokenizer")


def tokenizer_for(name: str, language: str) -> Tokenizer:
    """The tokenizer for notes in a language (a code; empty if unknown). Raises ServiceError if it can't be had."""
    check_tokenizer(name)
    kind = KINDS[name]
    try:
        factory: Callable[[str], Tokenizer] = import_string(kind.factory)
    except ImportError as error:
        message = _(
            "This worker doesn't have %(library)s, which the tokenizer needs. Install the extra “models” there."
        )
        raise ServiceError(message % {"library": kind.library}, code="tokenizer") from error
    try:
        return factory(language)
    except TokenizerError as error:
        raise ServiceError(str(error), code="tokenizer") from error


class Tokenizers:
    """The tokenizers of one name by the language of a note; for an empty name, always the default rule."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._made: dict[str, Tokenizer] = {}

    def __call__(self, language: str) -> Tokenizer:
        """The tokenizer for a language. Raises ServiceError if it can't be had."""
        if not self._name:
            return tokenize
        if language not in self._made:
            self._made[language] = tokenizer_for(self._name, language)
        return self._made[language]

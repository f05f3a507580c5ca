"""spaCy's tokenizer as a tokenizer of notes: the one of a blank pipeline for the language, without any model."""

import re
from itertools import pairwise
from typing import Final

import spacy

from annotations.text.characters import trim
from annotations.text.tokens import Token, Tokenizer, TokenizerError

ANY_LANGUAGE: Final = "xx"
# spaCy's tokenizer is very slow for long runs without white space, so they are cut.
RUN: Final = re.compile(r"\S{200}(?=\S)")


def tokenizer_of(language: str) -> Tokenizer:
    """The tokenizer for a language by its code, such as `it` or `es-MX`; for an empty code, spaCy's multilingual one.

    Raises TokenizerError if spaCy has no tokenizer for the language, or needs another library for it.
    """
    code = re.split("[-_]", language.strip().lower())[0] or ANY_LANGUAGE
    try:
        nlp = spacy.blank(code)
    except (ImportError, OSError):
        raise TokenizerError(
            f"spaCy has no tokenizer for the language “{language[:20]}” here. "
            "Change the language of the notes, or export without spaCy's tokenizer."
        ) from None

    def tokenize(text: str) -> list[Token]:
        tokens: list[Token] = []
        edges = [0, *(match.end() for match in RUN.finditer(text)), len(text)]
        # The memory zone forgets the words of each text, so that long exports need no more memory than short ones.
        with nlp.memory_zone():
            for first, past in pairwise(edges):
                for token in nlp.tokenizer(text[first:past]):
                    start, end = trim(text, first + token.idx, first + token.idx + len(token.text))
                    if start < end:
                        tokens.append(Token(start, end))
        return tokens

    return tokenize

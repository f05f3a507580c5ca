"""How an export writes its notes: empty rows between sentences, spaces around spans, and the tokenizer."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.core.tokenizers import Tokenizers, check_tokenizer
from annotations.formats import FORMATS, OPTIONS, writer
from annotations.formats.base import Format
from annotations.formats.uima import Layer


@dataclass(frozen=True)
class Writing:
    """Options of an export.

    CoNLL's empty rows between `sentences`, `spaced` spans, a `tokenizer` by name, and the UIMA `layer` of the spans
    (`TYPE:FEATURE`; empty: named entities).
    """

    sentences: bool = False
    spaced: bool = False
    tokenizer: str = ""
    layer: str = ""

    def chosen(self) -> dict[str, Any]:
        """The options that differ from the default, by name."""
        return {name: value for name, value in asdict(self).items() if value}

    def words(self) -> list[str]:
        """The chosen options in words, for the name of a file."""
        return [value if isinstance(value, str) else name for name, value in self.chosen().items()]

    def check(self, format: str) -> None:
        """Raise ServiceError unless the format exists and has all chosen options."""
        if format not in FORMATS:
            raise ServiceError(
                _("There is no format “%(format)s”. Choose one of: %(choices)s.")
                % {"format": format, "choices": ", ".join(FORMATS)},
                code="format",
            )
        check_tokenizer(self.tokenizer)
        missing = set(self.chosen()) - OPTIONS.get(format, frozenset())
        if "sentences" in missing:
            raise ServiceError(_("Only CoNLL has empty rows. Choose CoNLL, or leave out this option."), code="options")
        if "layer" in missing:
            raise ServiceError(
                _("Only XMI, CAS JSON and WebAnno TSV have layers. Choose one of them, or leave out the layer."),
                code="options",
            )
        try:
            Layer.named(self.layer)
        except ValueError:
            raise ServiceError(
                _("“%(layer)s” is no layer. Write a type with its package, a colon and a feature: %(example)s.")
                % {"layer": self.layer, "example": "webanno.custom.PHI:kind"},
                code="layer",
            ) from None
        if missing:
            raise ServiceError(
                _("The format “%(format)s” takes neither a tokenizer nor inserted spaces. Leave out these options.")
                % {"format": format}
                if len(missing) > 1 or not OPTIONS.get(format)
                else _("The format “%(format)s” doesn't take the option “%(option)s”. Leave it out.")
                % {"format": format, "option": missing.pop()},
                code="options",
            )
        if format == "brat" and self.tokenizer and not self.spaced:
            raise ServiceError(
                _("brat has no tokens: its tokenizer only decides where spaces are inserted. Insert spaces, too."),
                code="options",
            )


class Writers:
    """The writers of one export, by the language of the notes. Raises ServiceError if a tokenizer can't be had.

    `tags` are those of the layer, by code.
    """

    def __init__(self, format: str, writing: Writing, tags: Mapping[str, str]) -> None:
        self._format = format
        self._layer = replace(Layer.named(writing.layer), tags=tags)
        self._writing = writing
        self._tokenizers = Tokenizers(writing.tokenizer)
        self._made: dict[str, Format] = {}

    def __call__(self, language: str) -> Format:
        options = self._writing
        key = language if options.tokenizer else ""
        if key not in self._made:
            tokenizer = self._tokenizers(language)
            self._made[key] = writer(
                self._format,
                sentences=options.sentences,
                spaced=options.spaced,
                tokenizer=tokenizer,
                layer=self._layer,
            )
        return self._made[key]

"""Formats that can be imported: all that can be exported, and documents, which are only read."""

from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, cast

from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.domain.documents.base import Limits
from annotations.domain.documents.cleaning import ALL_RULES, Rule
from annotations.domain.documents.encodings import python_name
from annotations.domain.documents.extracting import Extractor
from annotations.domain.documents.importing import DOCUMENTS, DocumentsFormat
from annotations.domain.formats import DETECT, FORMATS, detected, reader
from annotations.domain.formats.base import InputFormat
from annotations.models import Import
from annotations.transfer.services.sources import Source

# A chain sees later changes of FORMATS.
INPUT_FORMATS: Final = cast(Mapping[str, InputFormat], ChainMap[str, Any]({DOCUMENTS: DocumentsFormat()}, FORMATS))
"""All formats of imports by name."""
WITHOUT_SPANS: Final = frozenset({"text", DOCUMENTS})
"""Formats that hold no annotations."""


def input_format(format: str, names: Iterable[str], source: Source) -> str:
    """The format, or the one that the files are in if it is to be detected."""
    return detected(names, source, others=[INPUT_FORMATS[DOCUMENTS]]) if format == DETECT else format


def check_reading(encoding: str, no_cleanup: Sequence[str]) -> None:
    """Raise ServiceError unless the encoding of documents is known or empty, and all rules to leave out exist."""
    if encoding and python_name(encoding) is None:
        raise ServiceError(
            _("The encoding “%(encoding)s” is unknown. Choose one such as utf-8, cp1252 or utf-16.")
            % {"encoding": encoding[:40]},
            code="encoding",
        )
    unknown = next((rule for rule in no_cleanup if rule not in ALL_RULES), None)
    if unknown is not None:
        raise ServiceError(
            _("There is no clean-up rule “%(rule)s”. Choose one of: %(choices)s.")
            % {"rule": unknown[:40], "choices": ", ".join(Rule)},
            code="cleanup",
        )


@contextmanager
def opened_format(row: Import, limits: Limits | None = None) -> Iterator[InputFormat]:
    """The format of an import for reading, with its options. `limits` are those of documents."""
    if row.format != DOCUMENTS:
        yield reader(row.format, repair=row.repair_offsets)
        return
    with Extractor(limits) as extractor:
        rules = ALL_RULES - set(map(Rule, row.no_cleanup))
        language = row.language or row.project.language
        yield DocumentsFormat(extractor, encoding=row.encoding, rules=rules, language=language)

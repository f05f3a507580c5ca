"""Django's makemessages, which also finds the sentences of the errors of pure code (annotations.text.wording)."""

from typing import Final

from django.core.management.commands import makemessages

FIRST: Final = (
    "ArchiveError AttributeDefError AudioError BackendError BadCalibration JsonError LabelSetError MalformedMessage "
    "MappingError MasterError PolicyError RowError SplitError TokenizerError TooFew UnknownLabel WordingError "
    "WordsError"
)
SECOND: Final = "CertificateError HostError RecordError SchemaError SpanError TermError"
KEYWORDS: Final = dict.fromkeys(FIRST.split(), 1) | dict.fromkeys(SECOND.split(), 2)
"""The place of the sentence among the arguments of each error."""


class Command(makemessages.Command):
    xgettext_options = [
        *makemessages.Command.xgettext_options,
        *(f"--keyword={name}:{place}" for name, place in KEYWORDS.items()),
    ]

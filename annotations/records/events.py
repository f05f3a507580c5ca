"""Events of structured records."""

from typing import TypedDict

from django.utils.translation import gettext_lazy as _

from annotations.core.services import Verb


class SchemaChanged(TypedDict):
    """A version of a schema: its row, and its number within the type."""

    schema: int
    number: int


class RecordsStored(TypedDict):
    """How many records were stored to wait for their notes."""

    records: int


class RecordsWritten(TypedDict):
    """What a file of de-identified records was made of, with its SHA-256; the release of its notes, if any."""

    records: int
    refused: int
    waiting: int
    leaks: int
    release: int | None
    policy: int
    sha256: str


SCHEMA_ADDED = Verb[SchemaChanged]("record_schema.added", _("added a schema of records"))
SCHEMA_REVIEWED = Verb[SchemaChanged]("record_schema.reviewed", _("reviewed a schema of records"))
SCHEMA_ACTIVATED = Verb[SchemaChanged]("record_schema.activated", _("activated a schema of records"))
RECORDS_STORED = Verb[RecordsStored]("records.stored", _("stored records, which wait for their notes"))
RECORDS_WRITTEN = Verb[RecordsWritten]("records.written", _("wrote a file of de-identified records"))

"""Events of model runs."""

from typing import TypedDict

from django.utils.translation import gettext_lazy as _

from annotations.core.services import Verb


class RunStarted(TypedDict):
    author: int
    backend: str
    notes: int


class RunRenamed(TypedDict):
    author: int


RUN_STARTED = Verb[RunStarted]("run.started", _("started a model run"))
RUN_RENAMED = Verb[RunRenamed]("run.renamed", _("renamed a model run"))


class PlaceholdersMapped(TypedDict):
    """The run's author, and the numbers of placeholders and of new suggestions."""

    author: int
    placeholders: int
    suggestions: int


class RewrittenExported(TypedDict):
    author: int
    prompt: bool


PLACEHOLDERS_MAPPED = Verb[PlaceholdersMapped]("run.placeholders_mapped", _("chose labels for placeholders of a run"))
REWRITTEN_EXPORTED = Verb[RewrittenExported](
    "run.rewritten_exported", _("downloaded the rewritten notes of a run"), reading=True
)


# Events of models that are served to other tools.


class ModelServed(TypedDict):
    """The key of the backend, as runs store it, and the protocol."""

    backend: str
    protocol: str


MODEL_SERVED = Verb[ModelServed]("model.served", _("began to serve a model to other tools"), reading=True)


# Events of reading files of notes that are not in a project.


class FilesRead(TypedDict):
    """The key of the backend, as runs store it, and the number of notes in the files."""

    backend: str
    notes: int


FILES_READ = Verb[FilesRead]("model.files_read", _("began to read files with a model"), reading=True)


class RecordCounts(TypedDict):
    """Records that were de-identified, and those that were not: `waiting` for a note, `leaks` in fields that pass."""

    records: int
    refused: int
    waiting: int
    leaks: int


class RecordsRead(RecordCounts):
    """The policy."""

    policy: int


RECORDS_READ = Verb[RecordsRead]("records.files_read", _("de-identified files of records"), reading=True)

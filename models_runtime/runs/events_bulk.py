"""Events of reading files of notes that are not in a project."""

from typing import TypedDict

from django.utils.translation import gettext_lazy as _

from annotations.core.events import Verb


class FilesRead(TypedDict):
    """The key of the backend, as runs store it, and the number of notes in the files."""

    backend: str
    notes: int


FILES_READ = Verb[FilesRead]("model.files_read", _("began to read files with a model"), reading=True)

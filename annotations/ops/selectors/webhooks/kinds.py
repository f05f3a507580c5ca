"""The kinds of messages, and the data of each: ids, counts and links, never a name or text."""

from typing import Final, Literal, TypedDict

from django.conf import settings
from django.utils.translation import gettext_lazy as _

JOB_DONE: Final = "job.done"
JOB_FAILED: Final = "job.failed"
NOTE_SUBMITTED: Final = "note.submitted"
GOLD_FROZEN: Final = "gold.frozen"
TEST: Final = "test"

KINDS: Final = {
    JOB_DONE: _("A job is done"),
    JOB_FAILED: _("A job has failed"),
    NOTE_SUBMITTED: _("An annotator has submitted a note"),
    GOLD_FROZEN: _("A gold version is frozen"),
}
"""What a webhook can want, by key. A test is sent on request only."""


class JobEnded(TypedDict):
    """`job` is the number of the job in its project, `kind` the key of its kind; `done` and `total` count its units."""

    project: str
    job: int
    kind: str
    done: int
    total: int
    link: str


class NoteSubmitted(TypedDict):
    """The ids of the note and of the annotation set, and how many spans it has."""

    project: str
    note: int
    annotation_set: int
    spans: int
    link: str


class GoldFrozen(TypedDict):
    """The number of the gold version, its hash, and how many notes it has."""

    project: str
    version: int
    hash: str
    notes: int
    link: str


class Tested(TypedDict):
    project: str
    link: str


Data = JobEnded | NoteSubmitted | GoldFrozen | Tested
Page = Literal["jobs", "notes", "gold", "webhooks"]


def link_to(slug: str, page: Page, number: int) -> str:
    """The address of a page of a project; only its path where the settings name no origin.

    It is written without Django's `reverse`: workers and the relay, which never load the pages, make links, too.
    """
    origin = next((each for each in settings.CSRF_TRUSTED_ORIGINS if "*" not in each), "")
    return f"{origin}/projects/{slug}/{page}/{number}/"

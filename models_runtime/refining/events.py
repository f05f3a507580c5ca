"""Events of refinements."""

from typing import TypedDict

from django.utils.translation import gettext_lazy as _

from annotations.core.events import Verb


class RefinementStarted(TypedDict):
    source: int
    author: int
    method: str


class RefinementDecided(TypedDict):
    """`number`: the annotation's in the list of the note. `action`: keep, update or remove."""

    refinement: int
    number: int
    action: str


class NoteFinished(TypedDict):
    refinement: int


REFINEMENT_STARTED = Verb[RefinementStarted]("refinement.started", _("started a refinement of suggestions"))
REFINEMENT_DECIDED = Verb[RefinementDecided]("refinement.decided", _("decided about a suggestion over MCP"))
REFINEMENT_NOTE_FINISHED = Verb[NoteFinished](
    "refinement.note_finished", _("finished the refinement of a note over MCP")
)

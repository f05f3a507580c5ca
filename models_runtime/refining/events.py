"""Events of refinements."""

from typing import TypedDict

from django.utils.translation import gettext_lazy as _

from annotations.core.services import Verb


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


# Events of skills.


class SkillChanged(TypedDict):
    skill: int
    version: int
    length: int


SKILL_CHANGED = Verb[SkillChanged]("skill.changed", _("changed guidance for refining agents"))


# Events of injected errors.


class ErrorsInjected(TypedDict):
    author: int
    gold: int
    rules: list[str]
    rate: float
    seed: int


ERRORS_INJECTED = Verb[ErrorsInjected]("errors.injected", _("injected errors into a copy of gold"))


class SystemicAccepted(TypedDict):
    systemic: int
    examples: int
    seed: int


class SystemicRemoved(TypedDict):
    systemic: int


SYSTEMIC_ACCEPTED = Verb[SystemicAccepted]("systemic.accepted", _("accepted a systemic error"))
SYSTEMIC_REMOVED = Verb[SystemicRemoved]("systemic.removed", _("removed a systemic error"))


# Events of judging.


class JudgingStarted(TypedDict):
    judging: int
    gold: int
    judges: list[str]


JUDGING_STARTED = Verb[JudgingStarted]("judging.started", _("started a judging of de-identified notes"))


# Events of surrogates that machines make or measure.


class SurrogatesScored(TypedDict):
    release: int
    backend: str
    notes: int


SURROGATES_SCORED = Verb[SurrogatesScored]("surrogates.scored", _("compared a model on original and released text"))

"""Events of skills."""

from typing import TypedDict

from django.utils.translation import gettext_lazy as _

from annotations.core.events import Verb


class SkillChanged(TypedDict):
    skill: int
    version: int
    length: int


SKILL_CHANGED = Verb[SkillChanged]("skill.changed", _("changed guidance for refining agents"))

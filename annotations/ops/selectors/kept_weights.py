"""Trained weights in other projects that may contain words of a project's notes. Erasing and deleting keep them.

Features above this one add them through the hook `more_weights`.
"""

from dataclasses import asdict, dataclass
from typing import Any

from annotations.core.hooks import Hook
from annotations.models import Membership, Project, User


@dataclass(frozen=True)
class KeptWeights:
    """A model of another project: its name, its page, and its project."""

    model: str
    url: str
    project_id: int
    project: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


# Called with `project`; returns the weights of other projects that learned from its notes.
more_weights = Hook()


def weights_elsewhere(project: Project) -> list[KeptWeights]:
    return [weights for found in more_weights(project=project) for weights in found]


@dataclass(frozen=True)
class SeenWeights:
    """What a person may know about weights in other projects: those in projects of theirs, and a count of the others.

    The existence of a project stays unknown to people who are not members.
    """

    shown: list[KeptWeights]
    hidden: int

    @property
    def count(self) -> int:
        return len(self.shown) + self.hidden


def seen_weights(project: Project, person: User) -> SeenWeights:
    found = weights_elsewhere(project)
    own = set(Membership.objects.filter(user=person, active=True).values_list("project_id", flat=True)) if found else ()
    shown = [weights for weights in found if weights.project_id in own]
    return SeenWeights(shown, len(found) - len(shown))

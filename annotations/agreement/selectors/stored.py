"""The stored agreement of a project, without computing or checking anything."""

from dataclasses import dataclass
from datetime import datetime

from annotations.agreement.rules import Figure, Granularity, RoundFigures, Unit
from annotations.agreement.selectors.figures import counted_sets
from annotations.models import Figures, Project

KIND = f"agreement:{Unit.TOKEN}"


@dataclass(frozen=True)
class StoredAgreement:
    """α over tokens by label, with its rounds. `outdated`: annotations were submitted after `at`."""

    at: datetime
    notes: int
    alpha: Figure
    rounds: list[RoundFigures]
    outdated: bool


def has_agreement(project: Project) -> bool:
    """Whether agreement on at least one note was computed."""
    return Figures.objects.filter(project=project, kind__startswith="agreement:", value__notes__gt=0).exists()


def stored_agreement(project: Project) -> StoredAgreement | None:
    """The newest stored figures; None if there are none, or no note has two annotators."""
    report = f"value__granularities__{Granularity.SUBCATEGORY}"
    rows = Figures.objects.filter(project=project, kind=KIND, value__notes__gt=0).order_by("-at")
    row = rows.values_list("at", "value__notes", f"{report}__alpha", f"{report}__rounds").first()
    if row is None:
        return None
    at, notes, alpha, rounds = row
    return StoredAgreement(at, notes, alpha, rounds, counted_sets(project).filter(submitted_at__gt=at).exists())

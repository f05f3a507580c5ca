"""What was read in an audit, and what follows from it."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from django.db.models import Exists, OuterRef, QuerySet

from annotations.models import AuditMark, AuditNote, AuditPlan
from annotations.release.rules.audits.looks import Found, Verdict, judge, reached
from annotations.release.selectors.audits.plans import design_of


@dataclass(frozen=True, slots=True)
class ReadNote:
    """A finished note: whether it has a leak, and whether its planted leak was found (None without one)."""

    stratum: str
    leak: bool
    planted_found: bool | None


def leaks_of(plan: AuditPlan) -> "QuerySet[AuditMark]":
    """The marks of finished notes that count as leaks."""
    return AuditMark.objects.filter(note__plan=plan, leak=True, dismissed_at__isnull=True)


class Readings:
    """The finished notes in the order of the sample, before the first that is not finished.

    Implements annotations.release.rules.audits.looks.Reading. Notes keep their positions when others are erased, so an
    erased note counts as drawn, and as nothing else.
    """

    def __init__(self, plan: AuditPlan) -> None:
        leak = AuditMark.objects.filter(note=OuterRef("pk"), leak=True, dismissed_at__isnull=True)
        rows = AuditNote.objects.filter(plan=plan).annotate(leak=Exists(leak)).order_by("position")
        self.notes: dict[int, ReadNote] = {}
        self.read = plan.drawn
        columns = ("position", "state", "stratum", "leak", "planted_found")
        for position, state, stratum, has_leak, found in rows.values_list(*columns):
            if state != AuditNote.State.DONE:
                self.read = position - 1
                break
            self.notes[position] = ReadNote(stratum, has_leak, found)

    def found(self, read: int) -> Found:
        some = [one for position, one in self.notes.items() if position <= read]
        planted = [one.planted_found for one in some if one.planted_found is not None]
        return Found(
            Counter(one.stratum for one in some),
            Counter(one.stratum for one in some if one.leak),
            len(planted),
            sum(planted),
        )

    def leak_at(self, number: int) -> int | None:
        return self._leaks[number - 1] if len(self._leaks) >= number else None

    @cached_property
    def _leaks(self) -> list[int]:
        return [position for position, one in self.notes.items() if one.leak]


def looks_of(plan: AuditPlan) -> list[Mapping[str, int]]:
    return list(plan.looks)


def verdict_of(plan: AuditPlan, readings: Readings | None = None) -> Verdict:
    """The state of the audit and its bounds, from what was read."""
    return judge(design_of(plan), looks_of(plan), readings or Readings(plan))


def counted_until(plan: AuditPlan) -> int:
    """The position up to which a look has counted notes: they can't be reopened."""
    return reached(looks_of(plan), Readings(plan).read)

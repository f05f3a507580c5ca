"""The parts of a project's overview about agreement. Nothing is computed here."""

from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotations.agreement.rules.units import ComparedUnit, Granularity
from annotations.agreement.selectors.adjudications import Show, adjudicated_sets, notes_left, outcomes
from annotations.agreement.selectors.figures import counted_sets
from annotations.agreement.views.agreement import trend_of
from annotations.core import navigation, overview
from annotations.core.access import Access, Can
from annotations.models import AuthorKind, Figures, Project
from annotations.projects.selectors.projects import counts

# The stored agreement of a project, without computing or checking anything.


KIND = f"agreement:{ComparedUnit.TOKEN}"


def has_agreement(project: Project) -> bool:
    """Whether agreement on at least one note was computed."""
    return Figures.objects.filter(project=project, kind__startswith="agreement:", value__notes__gt=0).exists()


def stored_agreement(project: Project) -> dict[str, Any] | None:
    """The newest stored figures: α over tokens by label, and the `trend` of α by round.

    `outdated`: annotations were submitted after `at`. None if there are none, or no note has two annotators.
    """
    report = f"value__granularities__{Granularity.SUBCATEGORY}"
    rows = Figures.objects.filter(project=project, kind=KIND, value__notes__gt=0).order_by("-at")
    row = rows.values_list("at", "value__notes", f"{report}__alpha", f"{report}__rounds").first()
    if row is None:
        return None
    at, notes, alpha, rounds = row
    outdated = counted_sets(project).filter(submitted_at__gt=at).exists()
    return {"at": at, "notes": notes, "alpha": alpha, "trend": trend_of(rounds), "outdated": outdated}


@overview.cards.part(10, Can.READ_NOTES)
def agreement_card(access: Access) -> list[overview.OverviewCard]:
    return [overview.OverviewCard("agreement/overview.html", stored_agreement(access.project))]


@overview.steps.part(50, Can.MANAGE)
def measure(access: Access) -> list[overview.Step]:
    if access.project.is_alone:
        return []
    url = access.url("agreement")
    text = _("Look where annotators differ, and make the guidelines clearer there.")
    return [overview.Step(_("Measure agreement"), text, url, _("Show agreement"), has_agreement(access.project))]


# The parts of a project's overview about adjudication.


OUTCOMES = 5


@overview.needs.part(10, Can.MAKE_GOLD)
def waiting(access: Access) -> list[overview.Need]:
    if not (n := notes_left(access)):
        return []
    shown = f"{navigation.MOST}+" if n > navigation.MOST else n
    text = ngettext("%(n)s note waits for adjudication.", "%(n)s notes wait for adjudication.", n) % {"n": shown}
    return [overview.Need(text, access.url("adjudications"), _("Adjudicate"))]


@overview.stages.part(30, Can.READ_NOTES)
def adjudicated(access: Access) -> list[overview.Stage]:
    url = f"{access.url('adjudications')}?show={Show.FINISHED}"
    n = access.once(counts).of_kind[AuthorKind.ADJUDICATED]
    return [overview.Stage(_("Adjudicated"), f"{n:,}", url if access.can(Can.MAKE_GOLD) else "", notes=n)]


@overview.own.part(30, Can.ANNOTATE)
def own_outcomes(access: Access) -> list[overview.OverviewCard]:
    found = outcomes(access, OUTCOMES)
    return [overview.OverviewCard("agreement/adjudicate/overview_outcomes.html", found)] if found else []


@overview.steps.part(60, Can.MANAGE)
def adjudicate_step(access: Access) -> list[overview.Step]:
    if access.project.is_alone:
        return []
    text = _("Decide where annotators differ, beginning with the notes of lowest agreement.")
    done = adjudicated_sets(access.project).exists()
    return [overview.Step(_("Adjudicate"), text, access.url("adjudications"), _("Adjudicate"), done)]

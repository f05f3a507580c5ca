"""The parts of a project's overview about agreement. Nothing is computed here."""

from dataclasses import dataclass

from django.urls import reverse
from django.utils.translation import gettext as _

from annotations.agreement.selectors.stored import StoredAgreement, has_agreement, stored_agreement
from annotations.agreement.templatetags.coefficients import in_words
from annotations.agreement.views.rows import trend_of
from annotations.core import overview
from annotations.core.access import Access, Can
from annotations.core.templatetags.plots import Point


@dataclass(frozen=True)
class AgreementCard:
    """What the card shows; `stored` is None before anybody has computed agreement."""

    stored: StoredAgreement | None
    wording: str
    trend: list[Point]


def register() -> None:
    overview.cards.register(10, Can.READ_NOTES, agreement_card)
    overview.steps.register(50, Can.MANAGE, measure)


def agreement_card(access: Access) -> list[overview.Card]:
    found = stored_agreement(access.project)
    card = AgreementCard(
        stored=found,
        wording=in_words(found.alpha["value"]) if found else "",
        trend=trend_of(found.rounds) if found else [],
    )
    return [overview.Card("agreement/overview.html", card)]


def measure(access: Access) -> list[overview.Step]:
    url = reverse("agreement", args=[access.project.slug])
    text = _("Look where annotators differ, and make the guidelines clearer there.")
    return [overview.Step(_("Measure agreement"), text, url, _("Show agreement"), has_agreement(access.project))]

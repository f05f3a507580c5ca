"""The parts of a project's overview about gold and its frozen versions."""

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotations.core import overview
from annotations.core.access import Access, Can
from annotations.core.gold_sets import gold_sets
from annotations.gold.selectors import change_since, version_rows
from annotations.models import GoldVersion

DIFFERING = "gold that differs from the last version"


def register() -> None:
    overview.needs.register(35, Can.MAKE_GOLD, not_frozen)
    overview.stages.register(40, Can.READ_NOTES, gold_stages)
    overview.cards.register(20, Can.READ_NOTES, version_card)
    overview.steps.register(70, Can.MANAGE, steps)


def _differing(access: Access, last: GoldVersion) -> int:
    """Count the notes whose gold was changed, added or removed after the last version. Reads all gold spans, once."""
    if DIFFERING not in access.computed:
        change = change_since(access.project, last)
        access.computed[DIFFERING] = change.touched + change.removed
    return access.computed[DIFFERING]


def not_frozen(access: Access) -> list[overview.Need]:
    last = version_rows(access.project).first()
    if last is None:
        n = gold_sets(access.project).count()
        text = ngettext(
            "%(n)d note has gold that was never frozen.", "%(n)d notes have gold that was never frozen.", n
        ) % {"n": n}
    else:
        n = _differing(access, last)
        text = ngettext(
            "The gold of %(n)d note differs from version %(version)d.",
            "The gold of %(n)d notes differs from version %(version)d.",
            n,
        ) % {"n": n, "version": last.number}
    url = reverse("gold", args=[access.project.slug])
    return [overview.Need(text, url, _("Freeze a version"))] if n else []


def gold_stages(access: Access) -> list[overview.Stage]:
    slug, last = access.project.slug, version_rows(access.project).first()
    notes = overview.Stage(_("Gold"), f"{gold_sets(access.project).count():,}", reverse("gold", args=[slug]))
    if last is None:
        return [notes, overview.Stage(_("Frozen"), "–", reverse("gold", args=[slug]), _("no version yet"))]
    n = _differing(access, last)
    detail = ngettext("%(n)d note differs", "%(n)d notes differ", n) % {"n": n} if n else _("same as the present gold")
    value = _("v%(number)d") % {"number": last.number}
    return [notes, overview.Stage(_("Frozen"), value, reverse("gold_version", args=[slug, last.number]), detail)]


def version_card(access: Access) -> list[overview.Card]:
    """The last version. Managers see it among the stages already."""
    if access.can(Can.MANAGE):
        return []
    return [overview.Card("gold/overview.html", version_rows(access.project).first())]


def steps(access: Access) -> list[overview.Step]:
    url = reverse("gold", args=[access.project.slug])
    # The order makes the database walk an index.
    has_gold = bool(gold_sets(access.project).order_by("document_id").values_list("document_id")[:1])
    frozen = GoldVersion.objects.filter(project=access.project).exists()
    make = _("Choose whose submitted or adjudicated annotations become gold.")
    freeze = _("Freeze the gold: a frozen version never changes, and exports state it.")
    return [
        overview.Step(_("Make gold"), make, url, _("Make gold"), has_gold),
        overview.Step(_("Freeze a version"), freeze, url, _("Freeze gold"), frozen),
    ]

"""The parts of a project's overview about gold and its frozen versions."""

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotations.core import overview
from annotations.core.access import Access, Can
from annotations.core.authors import gold_sets
from annotations.gold.selectors import Difference, difference, version_rows
from annotations.models import AuthorKind, GoldVersion
from annotations.projects.selectors.projects import counts


def _frozen(access: Access) -> tuple[GoldVersion, Difference] | None:
    """The last version, and how the current gold differs from it."""
    last = version_rows(access.project).first()
    return (last, difference(last)) if last else None


def _spans_differ(spans: int, labels: int) -> str:
    """Say how many spans differ, and how many of them only in their label."""
    if not labels:
        return ngettext("%(n)d span differs", "%(n)d spans differ", spans) % {"n": spans}
    if labels == spans:
        return ngettext("%(n)d span differs, in its label", "%(n)d spans differ, all in their labels only", spans) % {
            "n": spans
        }
    return ngettext(
        "%(n)d span differs, %(labels)d only in its label", "%(n)d spans differ, %(labels)d only in their labels", spans
    ) % {"n": spans, "labels": labels}


@overview.needs.part(35, Can.MAKE_GOLD)
def not_frozen(access: Access) -> list[overview.Need]:
    frozen = access.once(_frozen)
    if frozen is None:
        n = access.once(counts).of_kind[AuthorKind.GOLD]
        text = ngettext(
            "%(n)d note has gold that was never frozen.", "%(n)d notes have gold that was never frozen.", n
        ) % {"n": n}
    else:
        last, found = frozen
        n = found.notes
        text = ngettext(
            "The gold of %(n)d note differs from version %(version)d.",
            "The gold of %(n)d notes differs from version %(version)d.",
            n,
        ) % {"n": n, "version": last.number}
        if found.spans:
            text = _("%(gold)s In total, %(spans)s.") % {
                "gold": text,
                "spans": _spans_differ(found.spans, found.labels or 0),
            }
    return [overview.Need(text, access.url("gold"), _("Freeze a version"))] if n else []


@overview.stages.part(40, Can.READ_NOTES)
def gold_stages(access: Access) -> list[overview.Stage]:
    frozen = access.once(_frozen)
    n = access.once(counts).of_kind[AuthorKind.GOLD]
    notes = overview.Stage(_("Gold"), f"{n:,}", access.url("gold"), notes=n)
    if frozen is None:
        return [notes, overview.Stage(_("Frozen"), "–", access.url("gold"), _("no version yet"))]
    last, found = frozen
    if found.spans:
        detail = _spans_differ(found.spans, found.labels or 0)
    elif found.notes:
        detail = ngettext("%(n)d note differs", "%(n)d notes differ", found.notes) % {"n": found.notes}
    else:
        detail = _("same as the current gold")
    value = _("v%(number)d") % {"number": last.number}
    return [notes, overview.Stage(_("Frozen"), value, access.url("gold_version", last.number), detail)]


@overview.cards.part(20, Can.READ_NOTES)
def version_card(access: Access) -> list[overview.OverviewCard]:
    """The last version. Managers see it among the stages already."""
    if access.can(Can.MANAGE):
        return []
    return [overview.OverviewCard("gold/overview.html", version_rows(access.project).first())]


@overview.steps.part(70, Can.MANAGE)
def steps(access: Access) -> list[overview.Step]:
    url = access.url("gold")
    # The order makes the database walk an index.
    has_gold = bool(gold_sets(access.project).order_by("document_id").values_list("document_id")[:1])
    frozen = GoldVersion.objects.filter(project=access.project).exists()
    make = _("Choose whose submitted or adjudicated annotations become gold.")
    freeze = _("Freeze the gold: a frozen version never changes, and exports state it.")
    return [
        overview.Step(_("Make gold"), make, url, _("Make gold"), has_gold),
        overview.Step(_("Freeze a version"), freeze, url, _("Freeze gold"), frozen),
    ]

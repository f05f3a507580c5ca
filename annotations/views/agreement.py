"""First figures of agreement, with the unit they are over and what they leave out."""

from django.http import HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from annotations.access import Can, enter
from annotations.domain.agreement import Granularity, Unit
from annotations.selectors.agreement import agreement_table
from annotations.views.requests import Request

UNITS = {
    Unit.TOKEN: (_("Tokens"), _("Every token of the notes, those that nobody marked included.")),
    Unit.MARKED: (_("Marked tokens"), _("Only tokens that at least one annotator labelled.")),
    Unit.CHARACTER: (_("Characters"), _("Every character of the notes.")),
    Unit.ENTITY: (_("Spans"), _("Every stretch that somebody marked, exactly; whoever lacks it says O.")),
}
GRANULARITIES = {
    Granularity.BINARY: _("Personal data or not"),
    Granularity.CATEGORY: _("Category"),
    Granularity.SUBCATEGORY: _("Label"),
    Granularity.BIO: _("Label with its beginning (BIO)"),
}


@require_safe
def agreement(request: Request, slug: str) -> HttpResponse:
    """Observed agreement and alpha at every granularity for one unit; an unknown unit is the default one."""
    access = enter(request.user, slug, Can.READ_NOTES)
    asked = request.GET.get("unit", "")
    unit = Unit(asked) if asked in list(Unit) else Unit.TOKEN
    table = agreement_table(access.project, unit=unit)
    for row in table["rows"]:
        row["name"] = GRANULARITIES[row["granularity"]]
    context = {
        "access": access,
        "units_offered": [(key, name, key == unit) for key, (name, _text) in UNITS.items()],
        "unit_text": UNITS[unit][1],
        **table,
    }
    return render(request, "annotations/agreement.html", context)

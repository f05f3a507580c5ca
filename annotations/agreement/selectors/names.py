"""The names of units and granularities, and what the units count."""

from django.utils.translation import gettext_lazy as _

from annotations.domain.agreement import Granularity, Unit

UNITS = {
    Unit.TOKEN: (_("Tokens"), _("All tokens of the notes, including unmarked ones.")),
    Unit.MARKED: (_("Marked tokens"), _("Only tokens that at least one annotator labeled.")),
    Unit.CHARACTER: (_("Characters"), _("All characters of the notes.")),
    Unit.ENTITY: (
        _("Spans"),
        _("Every span that any annotator marked, with exact bounds. An annotator without this span counts as O."),
    ),
}
GRANULARITIES = {
    Granularity.BINARY: _("Personal data or not"),
    Granularity.CATEGORY: _("Category"),
    Granularity.SUBCATEGORY: _("Label"),
    Granularity.BIO: _("Label with BIO prefix"),
}

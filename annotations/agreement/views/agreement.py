"""The page of agreement: the figures with unit, interval and wording, and the annotation sets that don't count."""

from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotations.agreement.rules import ComparedUnit, Granularity
from annotations.agreement.selectors.figures import left_out
from annotations.agreement.selectors.names import GRANULARITIES, UNITS
from annotations.agreement.selectors.table import table_lines
from annotations.agreement.services.figures import (
    KeptFigures,
    figures_of,
    granularity_of,
    kept_figures,
    notes_of,
    takes_long,
)
from annotations.agreement.views.rows import MEASURES, GranularityRows
from annotations.core.access import Access, Can, enter
from annotations.core.answers import csv_answer
from annotations.core.errors import ServiceError
from annotations.core.events import FILE_DOWNLOADED
from annotations.core.requests import Request, paged
from annotations.core.tokenizers import KINDS

NOTES = 25
ON_TOKENS = (ComparedUnit.TOKEN, ComparedUnit.MARKED)


@require_safe
def agreement(request: Request, slug: str) -> HttpResponse:
    """Show the figures of one unit. Unknown values in the query mean the default.

    A worker computes those of large projects, and those on the tokens of another tokenizer.
    """
    access = enter(request.user, slug, Can.READ_NOTES)
    asked = request.GET.get("unit", "")
    unit = ComparedUnit(asked) if asked in list(ComparedUnit) else ComparedUnit.TOKEN
    tokenizer = request.GET.get("tokenizer", "") if unit in ON_TOKENS else ""
    tokenizer = tokenizer if tokenizer in KINDS else ""
    granularity = granularity_of(unit, request.GET.get("granularity", ""))
    kinds = {"": _("Words, numbers and single symbols")} | {name: _(kind.title) for name, kind in KINDS.items()}
    context: dict[str, object] = {
        "access": access,
        "unit": unit,
        "granularity": granularity,
        "units_offered": [(key, name, key == unit) for key, (name, _text) in UNITS.items()],
        "unit_name": UNITS[unit][0],
        "unit_text": UNITS[unit][1],
        "tokenizer": tokenizer,
        "tokenizers": [(key, name, key == tokenizer) for key, name in kinds.items()] if unit in ON_TOKENS else [],
        "kept_choice": f"&tokenizer={tokenizer}" if tokenizer else "",
        "left_out": left_out(access.project),
    }
    found = kept_figures(access.project, unit, tokenizer)
    if found is None and (tokenizer or takes_long(access.project)):
        return render(request, "agreement/agreement.html", context | {"computing": True})
    try:
        found = found or figures_of(project=access.project, unit=unit)
    except ServiceError as error:
        return render(request, "agreement/agreement.html", context | {"error": str(error)})
    if found["notes"]:
        context |= _figures(request, access, found, unit, granularity)
    return render(request, "agreement/agreement.html", context)


@require_safe
def agreement_table(request: Request, slug: str) -> StreamingHttpResponse:
    """The units with each annotator's value as CSV. The download is recorded as an event."""
    access = enter(request.user, slug, Can.EXPORT)
    asked = request.GET.get("unit", "")
    unit = ComparedUnit(asked) if asked in list(ComparedUnit) else ComparedUnit.TOKEN
    granularity = granularity_of(unit, request.GET.get("granularity", ""))
    FILE_DOWNLOADED.record(actor=access.user, project_id=access.project.pk, data={"agreement": str(unit)})
    lines = table_lines(access.project, unit, granularity, hidden=access.unnamed)
    return csv_answer(lines, f"{slug}-agreement-{unit}-{granularity}.csv")


def _figures(
    request: Request, access: Access, found: KeptFigures, unit: ComparedUnit, granularity: Granularity
) -> dict[str, object]:
    asked = request.GET.get("measure", "")
    measure = next((key for key in MEASURES if key == asked), next(iter(MEASURES)))
    rows = GranularityRows(access, found, unit, granularity)
    table = notes_of(access.project, found, granularity)
    page = paged(request, table.rows, NOTES)
    return {
        "found": found,
        "report": rows.report,
        "granularity_name": GRANULARITIES[granularity],
        "disagreements_url": rows.links(),
        "overview": rows.overview(GRANULARITIES),
        "names": rows.annotators,
        "measures": [(key, name, key == measure) for key, (name, _text) in MEASURES.items()],
        "measure_text": MEASURES[measure][1],
        "matrix": rows.matrix(measure),
        "pairs": rows.pairs(),
        "labels": rows.labels(),
        "unused": rows.unused(),
        "rounds": rows.rounds(),
        "trend": rows.trend(),
        "page": page,
        "note_rows": rows.notes(table.named(page)),
        "recall": rows.recall(),
    }

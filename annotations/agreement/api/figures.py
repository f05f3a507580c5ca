"""Routes of the figures of agreement: read, by note, compute in a job, and the units as a table."""

from collections.abc import Sequence

from django.http import StreamingHttpResponse
from django.utils.translation import gettext as _
from ninja import Field, Query, Schema

from annotations.agreement.rules.shown import AgreementOfNote
from annotations.agreement.rules.units import ComparedUnit, Granularity, granularities
from annotations.agreement.selectors.figures import Agreement, agreement_of, shown_names, table_lines
from annotations.agreement.services import figures
from annotations.core.access import Access, Can
from annotations.core.answers import csv_answer
from annotations.core.api.mount import sends
from annotations.core.api.paging import Page, PageAnswer, Paging, paged
from annotations.core.api.routes import ApiRequest, Body, Problem, ProjectRouter, invalid, named
from annotations.core.services import FILE_DOWNLOADED, ServiceError
from annotations.core.tokenizers import check_tokenizer
from annotations.jobs.api import JobItem
from annotations.models import Job, Project

router = ProjectRouter(tags=["Agreement"])
PATH = "/projects/{slug:slug}/agreement"


class AgreementChoice(Schema):
    """What is compared, and how finely. BIO is for the units token and marked only."""

    unit: ComparedUnit = ComparedUnit.TOKEN
    granularity: Granularity = Granularity.SUBCATEGORY


class AgreementFiguresChoice(AgreementChoice):
    """What is compared, how finely, and the tokenizer; empty for the default rule. Others need a job first."""

    tokenizer: str = Field("", max_length=40)


class AgreementUnit(Body):
    """The unit to compute, at every granularity, with a tokenizer; empty for the default rule."""

    unit: ComparedUnit = ComparedUnit.TOKEN
    tokenizer: str = Field("", max_length=40)


@router.get(PATH, Can.READ_NOTES, response=Agreement)
def read_agreement(access: Access, wanted: Query[AgreementFiguresChoice]) -> Agreement:
    """Read the figures of agreement. Those of a large project are computed by a job first (404 until then)."""
    found = _figures(access.project, wanted)
    names = shown_names(access.project, found["annotators"], hidden=access.unnamed)
    return agreement_of(access.project, found, wanted.granularity, names)


@router.get(f"{PATH}/notes", Can.READ_NOTES, response=Page[AgreementOfNote])
def list_agreement_of_notes(
    request: ApiRequest, access: Access, paging: Query[Paging], wanted: Query[AgreementFiguresChoice]
) -> PageAnswer:
    """List the figures by note, lowest alpha first. Changed annotations make a cursor invalid (422)."""
    found = _figures(access.project, wanted)
    table = figures.NoteTable(access.project, found, wanted.granularity)
    # Places in the table begin with a number of its content: another table has another order.
    first = int(found["key"][:6], 16) << 24

    def fetch(after: int | None, size: int) -> Sequence[tuple[int, AgreementOfNote]]:
        at = 0 if after is None else after - first
        if not 0 <= at <= len(table):
            raise invalid(("cursor", _("The annotations have changed. Begin again without a cursor.")))
        return list(enumerate(figures.named_notes(access.project, table[at : at + size]), first + at + 1))

    return paged(request, paging, fetch, lambda row: row[1], lambda row: row[0])


@router.post(f"{PATH}/compute", Can.READ_NOTES, response={202: JobItem})
def compute_agreement(access: Access, body: AgreementUnit) -> Job:
    """Compute the figures of a unit in a job. The same annotations again give the same job."""
    with named({"tokenizer": "tokenizer"}):
        return figures.start_agreement(
            project=access.project, unit=body.unit, tokenizer=body.tokenizer, actor=access.user
        )


@router.get(f"{PATH}.csv", Can.EXPORT, openapi_extra=sends("text/csv"))
def export_agreement(access: Access, wanted: Query[AgreementChoice]) -> StreamingHttpResponse:
    """Get the units with each annotator's value as a table. The audit log records it."""
    _check(wanted)
    FILE_DOWNLOADED.record(actor=access.user, project_id=access.project.pk, data={"agreement": str(wanted.unit)})
    lines = table_lines(access.project, wanted.unit, wanted.granularity, hidden=access.unnamed)
    return csv_answer(lines, f"{access.slug}-agreement-{wanted.unit}-{wanted.granularity}.csv")


def _check(wanted: AgreementChoice) -> None:
    if wanted.granularity not in granularities(wanted.unit):
        raise invalid(("granularity", _("BIO tags need the unit “token” or “marked”.")))


def _figures(project: Project, wanted: AgreementFiguresChoice) -> figures.KeptFigures:
    """Return the figures of the current annotations. Raises Problem: 409 before a job did, or 503."""
    _check(wanted)
    with named({"tokenizer": "tokenizer"}):
        check_tokenizer(wanted.tokenizer)
    try:
        found = figures.figures_at_once(project, wanted.unit, wanted.tokenizer)
    except ServiceError as error:
        raise Problem(503, error.code, str(error), headers={"Retry-After": "10"}) from error
    if found is None:
        message = _("The figures of the current annotations are not computed yet. Start the job that computes them.")
        raise Problem(409, "not-computed", message)
    return found

"""Routes of the figures of agreement: read, by note, compute in a job, and the units as a table."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Self

from django.http import HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.utils.translation import gettext as _
from ninja import Field, Query, Router, Schema
from ninja.responses import Status

from annotations.agreement.rules import ComparedUnit, Granularity, Matching, NoteFigures, granularities, in_words
from annotations.agreement.selectors.figures import left_out, round_beginnings
from annotations.agreement.selectors.names import in_order, pairs_in_order, shown_names
from annotations.agreement.selectors.table import table_lines
from annotations.agreement.services.figures import KeptFigures, figures_of, kept_figures, notes_of, takes_long
from annotations.agreement.services.starting import start_agreement
from annotations.core.access import Access, Can
from annotations.core.answers import csv_answer
from annotations.core.api.mount import sends
from annotations.core.api.paging import Page, Paging, paged
from annotations.core.api.problems import Problem, invalid, named
from annotations.core.api.requests import ApiRequest, enter
from annotations.core.api.schemas import Body
from annotations.core.errors import ServiceError
from annotations.core.events import FILE_DOWNLOADED
from annotations.core.tokenizers import check_tokenizer
from annotations.jobs.api import JobItem, started
from annotations.models import Document, Project

router = Router(tags=["Agreement"])
PATH = "/projects/{slug:slug}/agreement"


class AgreementFigure(Schema):
    """A coefficient with its interval. `why` says why there is no value, `no_interval` why there is no interval."""

    value: float | None
    why: str
    low: float | None
    high: float | None
    no_interval: str


class AgreementFigureOverUnits(AgreementFigure):
    units: int


class MarkedFigures(Schema):
    """The figures without the units that nobody labeled."""

    units: int
    observed: AgreementFigure
    alpha: AgreementFigure


class AgreementOfLabel(Schema):
    """One value against all others. `full`: units that all annotators gave this value."""

    value: str
    units: int
    full: int
    alpha: AgreementFigure


class AgreementOfPair(Schema):
    """Two annotators. `kappa` is Cohen's; `exact` and `overlap` are F1. `spans`: how many each of them marked."""

    a: str
    b: str
    notes: int
    units: int
    observed: AgreementFigure
    kappa: AgreementFigure
    exact: AgreementFigure
    overlap: AgreementFigure
    spans: list[int]


class AgreementOfRound(Schema):
    """The notes of one round of the guidelines, which began with an amendment; the first one with the project.

    `mixed`: notes that were annotated in several rounds.
    """

    round: int
    began: datetime | None
    notes: int
    mixed: int
    units: int
    observed: AgreementFigure
    alpha: AgreementFigure
    alpha_marked: AgreementFigure


class AgreementOfNote(Schema):
    """One note. `differing`: units on which not all annotators agree."""

    note: int
    name: str
    round: int
    annotators: int
    units: int
    differing: int
    observed: float | None
    alpha: float | None
    why: str


class RecallOfNumber(AgreementFigure):
    """The estimated recall of this number of annotators; `projected` if no note had as many."""

    annotators: int
    projected: bool


class RecallOfAnnotator(AgreementFigure):
    annotator: str


class EstimatedRecall(Schema):
    """The spans found, the estimated spans that nobody found, and the recall of annotators."""

    matching: str
    found: float
    hidden: float | None
    annotators: list[RecallOfNumber]
    each: list[RecallOfAnnotator]


class LeftOutSets(Schema):
    """How many annotation sets don't count, by reason."""

    not_blind: int
    seeded: int
    drafts: int


class Agreement(Schema):
    """The figures at one granularity. `words` is the wording of alpha."""

    unit: str
    granularity: str
    notes: int
    annotators: list[str]
    mixed: int
    left_out: LeftOutSets
    words: str
    units: int
    unmarked: int
    observed: AgreementFigure
    alpha: AgreementFigure
    marked: MarkedFigures
    fleiss: AgreementFigureOverUnits
    full: AgreementFigure
    majority: AgreementFigure
    labels: list[AgreementOfLabel]
    pairs: list[AgreementOfPair]
    rounds: list[AgreementOfRound]
    recall: list[EstimatedRecall]

    @classmethod
    def of(cls, access: Access, found: KeptFigures, granularity: Granularity) -> Self:
        report = found["granularities"][granularity]
        names = shown_names(access, found["annotators"])
        order, beginnings = in_order(names), [None, *round_beginnings(access.project)]
        pairs = [row | {"a": names[row["a"]], "b": names[row["b"]]} for row in pairs_in_order(report["pairs"], order)]
        rounds = [
            row | {"began": beginnings[row["round"] - 1] if row["round"] <= len(beginnings) else None}
            for row in report["rounds"]
        ]
        recall = [
            kept | {
                "matching": matching,
                "each": [
                    row | {"annotator": names[row["annotator"]]}
                    for row in sorted(kept["each"], key=lambda row: order.index(row["annotator"]))
                ],
            }
            for matching in Matching
            for kept in [found["recall"][matching]]
        ]  # fmt: skip
        whole = {key: value for key, value in report.items() if key not in ("pairs", "rounds", "per_note")}
        return cls.model_validate(
            whole | {
                "unit": found["unit"], "granularity": granularity, "notes": found["notes"], "mixed": found["mixed"],
                "annotators": [names[pk] for pk in order], "left_out": _left_out(access.project),
                "words": in_words(report["alpha"]["value"]) if report["alpha"]["value"] is not None else "",
                "pairs": pairs, "rounds": rounds, "recall": recall,
            }
        )  # fmt: skip


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


@router.get(PATH, response=Agreement)
def read_agreement(request: ApiRequest, slug: str, wanted: Query[AgreementFiguresChoice]) -> Agreement:
    """Read the figures of agreement. Those of a large project are computed by a job first (404 until then)."""
    access = enter(request, slug, Can.READ_NOTES)
    return Agreement.of(access, _figures(access.project, wanted), wanted.granularity)


@router.get(f"{PATH}/notes", response=Page[AgreementOfNote])
def list_agreement_of_notes(
    request: ApiRequest, slug: str, paging: Query[Paging], wanted: Query[AgreementFiguresChoice]
) -> dict[str, Any] | HttpResponseBase:
    """List the figures by note, by id."""
    access = enter(request, slug, Can.READ_NOTES)
    table = notes_of(access.project, _figures(access.project, wanted), wanted.granularity)
    names = dict(Document.objects.filter(project=access.project).values_list("pk", "name"))
    rows = sorted((row for row in table.named(table.rows) if row["note"] in names), key=lambda row: row["note"])

    def fetch(after: int | None, size: int) -> Sequence[NoteFigures]:
        return [row for row in rows if after is None or row["note"] > after][:size]

    return paged(
        request, paging, fetch, lambda row: AgreementOfNote(**row, name=names[row["note"]]), lambda row: row["note"]
    )


@router.post(f"{PATH}/compute", response={202: JobItem})
def compute_agreement(request: ApiRequest, response: HttpResponse, slug: str, body: AgreementUnit) -> Status[JobItem]:
    """Compute the figures of a unit in a job. The same annotations again give the same job."""
    access = enter(request, slug, Can.READ_NOTES)
    with named({"tokenizer": "tokenizer"}):
        job = start_agreement(project=access.project, unit=body.unit, tokenizer=body.tokenizer, actor=access.user)
    return started(response, slug, job)


@router.get(f"{PATH}.csv", openapi_extra=sends("text/csv"))
def export_agreement(request: ApiRequest, slug: str, wanted: Query[AgreementChoice]) -> StreamingHttpResponse:
    """Get the units with each annotator's value as a table. The audit log records it."""
    access = enter(request, slug, Can.EXPORT)
    _check(wanted)
    FILE_DOWNLOADED.record(actor=access.user, project_id=access.project.pk, data={"agreement": str(wanted.unit)})
    lines = table_lines(access.project, wanted.unit, wanted.granularity, hidden=access.unnamed)
    return csv_answer(lines, f"{slug}-agreement-{wanted.unit}-{wanted.granularity}.csv")


def _check(wanted: AgreementChoice) -> None:
    if wanted.granularity not in granularities(wanted.unit):
        raise invalid(("granularity", _("BIO tags need the unit “token” or “marked”.")))


def _figures(project: Project, wanted: AgreementFiguresChoice) -> KeptFigures:
    """Return the figures of the current annotations. Raises Problem: 409 before a job did, or 503."""
    _check(wanted)
    with named({"tokenizer": "tokenizer"}):
        check_tokenizer(wanted.tokenizer)
    found = kept_figures(project, wanted.unit, wanted.tokenizer)
    if found is not None:
        return found
    if wanted.tokenizer or takes_long(project):
        raise Problem(
            409,
            "not-computed",
            _("The figures of the current annotations are not computed yet. Start the job that computes them."),
        )
    try:
        return figures_of(project=project, unit=wanted.unit)
    except ServiceError as error:
        raise Problem(503, error.code, str(error), headers={"Retry-After": "10"}) from error


def _left_out(project: Project) -> LeftOutSets:
    counts = left_out(project)
    return LeftOutSets(not_blind=counts.not_blind, seeded=counts.seeded, drafts=counts.drafts)

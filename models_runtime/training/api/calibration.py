"""Routes of calibrations: list, read, start and withdraw."""

from datetime import datetime
from typing import Annotated, Any, Self

from ninja import Field, Query, Schema

from annotations.core.access import Access, Can
from annotations.core.api.paging import Page, PageAnswer, Paging, paged_rows
from annotations.core.api.routes import ApiRequest, Body, ProjectRouter, check, named
from annotations.jobs.api import JobItem
from annotations.models import Job
from annotations.text.names import MAX_ID
from models_runtime.models import Calibration
from models_runtime.training.forms import CalibrationForm
from models_runtime.training.services.calibration import calibration_for, summary, withdraw

router = ProjectRouter(tags=["Calibrations"])
PATH = "/projects/{slug:slug}/calibrations"
OneCalibration = Annotated[Calibration, calibration_for]


class CalibrationItem(Schema):
    """A calibration of the confidences of a backend, fitted to gold. New runs use the newest one.

    `uploaded`: it came with an uploaded model's file, and its gold is that of another project or installation.
    """

    id: int
    name: str
    backend: str
    revision: str
    gold: int
    notes: int
    uploaded: bool
    withdrawn_at: datetime | None
    created_at: datetime

    @classmethod
    def of(cls, row: Calibration, **more: Any) -> Self:
        return cls.model_validate({**vars(row), "name": row.word, "gold": row.gold_number} | more)


class CalibrationOut(CalibrationItem):
    """A calibration with its figures, as the command `calibrate --json` gives them."""

    figures: dict[str, Any]


class NewCalibration(Body):
    """`run_author` is the id of a run as in the list of reviews, `gold` the number of a version."""

    run_author: int = Field(ge=1, le=MAX_ID)
    gold: int = Field(ge=1, le=2**31 - 1)


@router.get(PATH, Can.READ_NOTES, response=Page[CalibrationItem])
def list_calibrations(request: ApiRequest, access: Access, paging: Query[Paging]) -> PageAnswer:
    """List the calibrations of a project, the newest first."""
    rows = Calibration.objects.filter(project=access.project)
    return paged_rows(request, paging, rows, CalibrationItem.of, newest_first=True)


@router.post(PATH, Can.MANAGE, response={202: JobItem})
def start_calibration_job(access: Access, body: NewCalibration) -> Job:
    """Start the job that fits a calibration to the notes of a run that are gold."""
    form = CalibrationForm({"author": body.run_author, "gold": body.gold})
    check(form)
    with named({"author": "run_author", "run": "run_author", "version": "gold"}):
        return form.start(access)


@router.get(f"{PATH}/{{int:calibration}}", Can.READ_NOTES, response=CalibrationOut)
def read_calibration(access: Access, calibration: OneCalibration) -> CalibrationOut:
    """Read a calibration: its curves, and how reliable confidences are before and after, also by label."""
    return CalibrationOut.of(calibration, figures=summary(calibration))


@router.post(f"{PATH}/{{int:calibration}}/withdraw", Can.MANAGE, response=CalibrationItem)
def withdraw_calibration(access: Access, calibration: OneCalibration) -> CalibrationItem:
    """Withdraw a calibration. New runs use the previous one, if any."""
    withdraw(calibration=calibration, actor=access.user)
    return CalibrationItem.of(calibration_for(access, calibration.pk))

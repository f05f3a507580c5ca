"""Routes of backends and runs: list, start a backend or a model, read, failed notes, retry."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Self

from django.http import StreamingHttpResponse
from ninja import Field, Query, Schema

from annotations.core.access import Access, Can
from annotations.core.answers import streamed
from annotations.core.api.mount import sends
from annotations.core.api.paging import Page, PageAnswer, Paging, paged, paged_rows
from annotations.core.api.routes import Answer, ApiRequest, Body, JobNumber, JobStateName, ProjectRouter, check, named
from annotations.jobs.api import new_key
from annotations.projects.selectors.labels import labels_of
from annotations.scores.rules.operating import OperatingPoint
from models_runtime.models import Run, RunItem, RunItemState
from models_runtime.runs.forms.models import MOST, PlaceholderForm
from models_runtime.runs.forms.runs import REFUSED_AT, RunForm
from models_runtime.runs.services import llm
from models_runtime.runs.services import runs as service
from models_runtime.runs.services.backend_rows import BackendItem, backend_rows
from models_runtime.runs.services.backends import expected

router = ProjectRouter(tags=["Runs"])
PATH = "/projects/{slug:slug}/runs"
OneRun = Annotated[Run, service.run_of]
# Errors of services that are about the state of the project, not about a field.
STATES = frozenset({"empty", "live", "none"})


class RunRef(Answer):
    """A run: its id, the id of its annotations' author (`run_author`, as in reviews), and the number of its job."""

    id: int
    run_author: int = Field(validation_alias="author_id")
    name: str = Field(validation_alias="author.name")
    job: JobNumber
    state: JobStateName


class RunListed(RunRef):
    """A run in the list. Numbers are of notes; `reviewed` notes are finished."""

    backend: str
    done: int
    failed: int
    total: int
    reviewed: int
    created_at: datetime
    started_by: str | None

    @classmethod
    def row(cls, row: service.RunRow) -> Self:
        run = row.run
        return cls(
            **RunRef.from_orm(run).dict(), backend=run.backend, done=row.done, failed=row.failed, total=row.total,
            reviewed=row.reviewed, created_at=run.created_at,
            started_by=run.created_by.username if run.created_by else None,
        )  # fmt: skip


class RunOut(RunListed):
    """A run. `usage` are tokens and costs of a language model, `rewritten` numbers of a run that rewrites notes.

    `masking_threshold`: the run also suggests tokens whose probability of any label is above it. `threshold_for`: the
    recall or precision for which it was chosen. `on_hold_out`: recall and precision of characters and the share of
    leak-free notes on the model's hold-out, at the nearest threshold. `rules_again`: members of an ensemble that have
    the tags of the rules as features, while the rules vote as well.
    """

    revision: str
    model: int | None
    calibration: int | None
    pending: int
    spans_without_label: int
    method: str | None
    members: list[dict[str, Any]] | None
    left_out: int | None
    rules_again: list[str] | None
    masking_threshold: float | None
    threshold_for: dict[str, float] | None
    on_hold_out: OperatingPoint | None
    usage: dict[str, Any] | None
    rewritten: dict[str, int] | None


class NewRun(Body):
    """`backend` is a backend's key, `model:ID` or a model's name. `left`: only notes that are not gold yet.

    `threshold`: also suggest tokens whose probability of any label is above it. Instead, `recall` or `precision` of
    characters chooses the threshold from the model's hold-out.
    """

    backend: str = Field(max_length=200)
    name: str = Field("", max_length=80)
    left: bool = False
    threshold: float | None = None
    recall: float | None = None
    precision: float | None = None


class ChangedRun(Body):
    """The new name of a run."""

    name: str = Field(max_length=service.LONGEST_NAME)


class FailedNote(Schema):
    """A note of which the run made no suggestions, and why."""

    note: int
    name: str
    error: str


@router.get("/projects/{slug:slug}/backends", Can.READ_NOTES, response=list[BackendItem])
def list_backends(access: Access) -> list[BackendItem]:
    """List the backends that can suggest spans, with their health, last run and calibration."""
    return [BackendItem.of(row) for row in backend_rows(access.project)]


@router.get(PATH, Can.READ_NOTES, response=Page[RunListed])
def list_runs(request: ApiRequest, access: Access, paging: Query[Paging]) -> PageAnswer:
    """List the runs of a project, the newest first. Imported runs are in the list of reviews only."""
    runs = Run.objects.filter(project=access.project).select_related("author", "job", "created_by").order_by("-pk")

    def fetch(after: int | None, size: int) -> list[service.RunRow]:
        return service.run_rows((runs if after is None else runs.filter(pk__lt=after))[:size], access.user)

    return paged(request, paging, fetch, RunListed.row, lambda row: row.run.pk)


@router.post(PATH, Can.MANAGE, response={202: RunRef})
def start_backend_run(access: Access, body: NewRun) -> Run:
    """Start a run of a backend or of a trained model over all notes."""
    form = RunForm(body.dict())
    check(form)
    with refused({"backend": "backend", "model": "backend"} | REFUSED_AT):
        return form.start(access, new_key(access))


@router.get(f"{PATH}/{{int:run}}", Can.READ_NOTES, response=RunOut)
def read_run(access: Access, run: OneRun) -> RunOut:
    """Read a run."""
    return _shown(access, run)


@router.patch(f"{PATH}/{{int:run}}", Can.MANAGE, response=RunOut)
def change_run(access: Access, run: OneRun, body: ChangedRun) -> RunOut:
    """Rename a run. A run that a release names keeps its name (409)."""
    with named({"name": "name", "exists": "name"}):
        service.rename_run(run=run, name=body.name, actor=access.user)
    return _shown(access, service.run_of(access, run.pk))


@router.get(f"{PATH}/{{int:run}}/failures", Can.READ_NOTES, response=Page[FailedNote])
def list_failures(request: ApiRequest, access: Access, run: OneRun, paging: Query[Paging]) -> PageAnswer:
    """List the notes that failed."""
    items = RunItem.objects.filter(run=run, state=RunItemState.FAILED).select_related("document")
    items = items.only("error", "document__name")
    return paged_rows(
        request, paging, items,
        lambda item: FailedNote(note=item.document_id, name=item.document.name, error=item.error),
    )  # fmt: skip


@router.post(f"{PATH}/{{int:run}}/retry", Can.MANAGE, response={202: RunRef})
def retry_run(access: Access, run: OneRun) -> Run:
    """Start a job for the notes that failed or are unfinished."""
    service.retry_failed(run=run, actor=access.user)
    return service.run_of(access, run.pk)


# ── Shared with the other routes of runs ─────────────────────────────────────────────────────────────────────────────


def refused(fields: Mapping[str, str]) -> Any:
    """Name the field of each error of a service that starts runs; errors of the project's state stay conflicts."""
    return named({code: field for code, field in fields.items() if code not in STATES})


def _shown(access: Access, run: Run) -> RunOut:
    (row,) = service.run_rows([run], access.user)
    usage = llm.usage_of(run)
    return RunOut(
        **RunListed.row(row).dict(), revision=run.full_revision, model=run.model_id, calibration=run.calibration_id,
        pending=service.run_counts(run)["pending"], spans_without_label=run.spans_without_label,
        **{name: run.params.get(name) for name in ("method", "members", "left_out", "rules_again", "threshold_for")},
        masking_threshold=run.params.get("threshold"), on_hold_out=expected(run),
        usage=usage.as_dict() if usage else None, rewritten=llm.rewritten_facts(run),
    )  # fmt: skip


# Routes of rewritten notes: labels for placeholders that are not a label's, and the download.


REWRITTEN = "/projects/{slug:slug}/runs/{int:rewriting}"


class PlaceholderItem(Schema):
    """A placeholder that is not a label's, how often it occurs, and the code of the label that it probably means."""

    placeholder: str
    count: int
    likely: str | None


class PlaceholderLabels(Body):
    """The code of a label for each placeholder; an empty one drops its spans. Others are decided later."""

    labels: dict[str, str] = Field(max_length=MOST)


class Mapped(Schema):
    suggestions: int


@router.get(f"{REWRITTEN}/placeholders", Can.MANAGE, response=list[PlaceholderItem])
def list_placeholders(access: Access, rewriting: int) -> list[PlaceholderItem]:
    """List the placeholders of a run that are not a label's, the most frequent first."""
    run = llm.rewriting_for(access.project, rewriting)
    counts = llm.unmapped_placeholders(run)
    return [
        PlaceholderItem(placeholder=one.label, count=counts[one.label], likely=one.ours)
        for one in llm.placeholder_choices(run, counts)
    ]


@router.post(f"{REWRITTEN}/placeholders", Can.MANAGE, response=Mapped)
def choose_placeholders(access: Access, rewriting: int, body: PlaceholderLabels) -> Mapped:
    """Choose labels for placeholders. Their spans become suggestions."""
    run = llm.rewriting_for(access.project, rewriting)
    choices = llm.placeholder_choices(run, llm.unmapped_placeholders(run))
    data = {f"placeholder:{word}": code for word, code in body.labels.items()}
    form = PlaceholderForm(data, choices=choices, labels=labels_of(access.project))
    check(form, {f"placeholder:{word}": f"labels.{word}" for word in body.labels})
    with named({"label": "labels"}):
        return Mapped(suggestions=llm.map_placeholders(run=run, labels=form.decided, actor=access.user))


@router.get(f"{REWRITTEN}/rewritten", Can.EXPORT, openapi_extra=sends("application/jsonl"))
def export_rewritten_notes(access: Access, rewriting: int, *, prompt: bool = False) -> StreamingHttpResponse:
    """Download the rewritten notes as JSON Lines, with the prompt if asked. The audit log records it."""
    run = llm.rewriting_for(access.project, rewriting)
    lines, name = llm.export_rewritten(run=run, prompt=prompt, actor=access.user)
    return streamed(lines, "application/jsonl", name)

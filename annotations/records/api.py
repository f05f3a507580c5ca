"""Routes of structured records."""

from datetime import datetime
from typing import Any

from ninja import Field, File, Form, Query, Schema, UploadedFile

from annotations.core.access import Access, Can
from annotations.core.api.paging import Page, PageAnswer, Paging, paged_rows
from annotations.core.api.routes import Answer, ApiRequest, Body, ProjectRouter, Username, check, named
from annotations.core.requests import takes_uploads
from annotations.jobs.api import JobItem
from annotations.models import Job
from annotations.records import selectors
from annotations.records.forms import RecordsForm
from annotations.records.services.releasing import start_record_release
from annotations.records.services.schemas import LONGEST, activate_schema, add_schema, review_schema, summary
from annotations.records.services.starting import start_deidentifying, start_record_export
from annotations.release.selectors.releases import release_for
from annotations.release.services.policies import parsed_policy, policy_named

router = ProjectRouter(tags=["Records"])
PATH = "/projects/{slug:slug}/records"
SCHEMAS = "/projects/{slug:slug}/record-schemas"
ONE = f"{SCHEMAS}/{{int:record_schema}}"


class SchemaItem(Answer):
    """One version of the schema of a type. `state`: draft, reviewed, active or retired."""

    id: int
    data_type: str
    number: int
    record_version: str
    state: str
    added_by: Username = Field(validation_alias="created_by")
    added_at: datetime = Field(validation_alias="created_at")
    reviewed_by: Username
    reviewed_at: datetime | None
    activated_by: Username
    activated_at: datetime | None


class SchemaFields(Schema):
    """One version with its fields (path, type, rule), repairs of its file, and changes (path, before, after)."""

    id: int
    data_type: str
    number: int
    record_version: str
    state: str
    repairs: list[str]
    fields: list[dict[str, str]]
    changes: list[dict[str, str]]


class NewSchema(Body):
    """The text of a schema file, or `shipped:TYPE` for one that deidreview brings."""

    text: str = Field(max_length=LONGEST)


class RecordItem(Answer):
    """A record that waits. `note` holds its free text and its identifiers."""

    id: int
    data_type: str = Field(validation_alias="schema.data_type")
    schema_id: int
    note: int = Field(validation_alias="document_id")
    has_text: bool
    created_at: datetime


class RecordOptions(Schema):
    """The type of records that don't say their own, and the policy as NAME[:VERSION]."""

    data_type: str = ""
    policy: str = "mask"


class RecordReleaseOrder(Body):
    """The policy as NAME[:VERSION], and the runs that decide about free text without a person.

    Without `runs`, all that have read it, if the project lets runs decide.
    """

    policy: str = "mask"
    runs: list[str] = Field(default=[], max_length=20)


class RecordRelease(Schema):
    """The number of the release, and how many records it holds."""

    release: int
    records: int


@router.get(SCHEMAS, Can.MANAGE, response=Page[SchemaItem])
def list_record_schemas(request: ApiRequest, access: Access, paging: Query[Paging]) -> PageAnswer:
    """List all versions of the schemas of records."""
    return paged_rows(request, paging, selectors.schemas_of(access.project).order_by("pk"), SchemaItem.from_orm)


@router.post(SCHEMAS, Can.MANAGE, response={201: SchemaFields})
def add_record_schema(access: Access, body: NewSchema) -> dict[str, Any]:
    """Add the next version of a type, as a draft. A shipped schema is reviewed already."""
    with named({"schema": "text", "shipped": "text"}):
        row = add_schema(project=access.project, text=body.text, actor=access.user)
    return summary(row, selectors.version_before(row))


@router.get(ONE, Can.MANAGE, response=SchemaFields)
def read_record_schema(access: Access, record_schema: int) -> dict[str, Any]:
    """Read one version: its fields with their rules, and how it differs."""
    row = selectors.schema_of(access, record_schema)
    return summary(row, selectors.version_before(row))


@router.post(f"{ONE}/review", Can.MANAGE, response=SchemaFields)
def review_record_schema(access: Access, record_schema: int) -> dict[str, Any]:
    """Confirm that you have reviewed a version. Who added it can review it only where one manager works alone."""
    row = review_schema(schema=selectors.schema_of(access, record_schema), actor=access.user)
    return summary(row, selectors.version_before(row))


@router.post(f"{ONE}/activate", Can.MANAGE, response=SchemaFields)
def activate_record_schema(access: Access, record_schema: int) -> dict[str, Any]:
    """Use a reviewed version from now on, in place of the active one."""
    row = activate_schema(schema=selectors.schema_of(access, record_schema), actor=access.user)
    return summary(row, selectors.version_before(row))


@router.get(PATH, Can.RELEASE, response=Page[RecordItem])
def list_waiting_records(request: ApiRequest, access: Access, paging: Query[Paging]) -> PageAnswer:
    """List the records that wait to be released."""
    return paged_rows(request, paging, selectors.waiting_records(access.project), RecordItem.from_orm)


@router.post(PATH, Can.RELEASE, response={202: JobItem})
@takes_uploads(Can.RELEASE)
def deidentify_records(
    request: ApiRequest, access: Access, options: Form[RecordOptions], file: File[UploadedFile]
) -> Job:
    """Upload a file of records and start the job that de-identifies it. Its result has the id of the new file."""
    policy = policy_named(access.project, *parsed_policy(options.policy), actor=access.user)
    given = {"data_type": options.data_type, "policy": f"{policy.slug}:{policy.version}"}
    form = RecordsForm(given, request.FILES, project=access.project)
    check(form)
    name, content = form.content()
    with named({"file": "file", "type": "data_type", "schema": "file"}):
        return start_deidentifying(
            project=access.project, name=name, content=content, data_type=options.data_type, policy=policy,
            actor=access.user,
        )  # fmt: skip


@router.post(f"{PATH}/release", Can.RELEASE, response={202: RecordRelease})
def release_records(access: Access, body: RecordReleaseOrder) -> RecordRelease:
    """Start a release of the records that are ready."""
    runs = tuple(body.runs) or selectors.deciding_runs(access.project)
    ready = selectors.ready_records(access.project, runs=runs, unreviewed=True)
    release = start_record_release(
        project=access.project,
        policy=policy_named(access.project, *parsed_policy(body.policy), actor=access.user),
        records=list(ready.values_list("pk", flat=True)),
        actor=access.user,
        runs=runs,
        unreviewed=True,
    )
    return RecordRelease(release=release.number, records=release.note_count)


@router.post("/projects/{slug:slug}/releases/{int:release}/records", Can.RELEASE, response={202: JobItem})
def export_records(access: Access, release: int) -> Job:
    """Export the records of a release. The job's result has the id of the file to download."""
    return start_record_export(release=release_for(access, release), actor=access.user)

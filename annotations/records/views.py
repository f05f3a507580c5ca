"""The pages of structured records: schemas, one version of a schema, waiting records, one record."""

from functools import partial

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from annotations.core.access import Access, Can
from annotations.core.forms import attempted
from annotations.core.requests import FORM, Request, error_as_message, in_project, paged, posted, takes_uploads
from annotations.core.services import NOTE_READ, ServiceError
from annotations.models import Job, RecordSchemaState
from annotations.records import selectors
from annotations.records.forms import RecordReleaseForm, RecordsForm, SchemaForm
from annotations.records.rules.plans import RecordError
from annotations.records.rules.schemas import FieldRule, changes, check_schema
from annotations.records.services.releasing import field_changes, start_record_release
from annotations.records.services.schemas import activate_schema, add_schema, review_schema
from annotations.records.services.starting import start_deidentifying, start_record_export
from annotations.release.selectors.releases import release_for
from annotations.release.services.policies import parsed_policy, policies_of, policy_named

ROWS = 50
ACTS = {"review": review_schema, "activate": activate_schema}


@takes_uploads(Can.MANAGE)
@in_project(Can.MANAGE, *FORM)
def record_schemas(request: Request, access: Access) -> HttpResponse:
    """List the schemas. A POST adds one, and leads to the new version."""
    form = SchemaForm(posted(request), request.FILES or None)
    add = partial(add_schema, project=access.project, actor=access.user)
    if row := attempted(form, lambda: add(text=form.text), {"schema": "file"}):
        return redirect("record_schema", access.slug, row.pk)
    page = paged(request, selectors.schemas_of(access.project).defer("schema"), ROWS)
    context = {"form": form, "page": page}
    return render(request, "records/schemas.html", context, status=422 if form.errors else 200)


@in_project(Can.MANAGE, *FORM)
def record_schema(request: Request, access: Access, pk: int) -> HttpResponse:
    """Show one version with its differences. A POST with `act` confirms the review, or activates the version."""
    row = selectors.schema_of(access, pk)
    if request.method == "POST":
        act = ACTS.get(request.POST.get("act", ""))
        if act is None:
            raise Http404("There is no such act.")
        with error_as_message(request):
            act(schema=row, actor=access.user)
        return redirect("record_schema", access.slug, pk)
    before = selectors.version_before(row)
    differing = {one.path: one for one in changes(before.schema, row.schema)} if before else {}
    changed = len(differing)
    leaves = check_schema(row.schema)
    context = {
        "row": row,
        "before": before,
        "changed": changed,
        "leaves": [(leaf, differing.pop(leaf.path, None)) for leaf in leaves],
        "others": list(differing.values()),
        "own": row.created_by_id == access.user.pk,
        "may_review": row.state == RecordSchemaState.DRAFT and selectors.may_review(row, access.user),
        "passing": sum(leaf.rule.rule == FieldRule.PASS for leaf in leaves),
    }
    return render(request, "records/schema.html", context)


@takes_uploads(Can.RELEASE)
@in_project(Can.RELEASE, *FORM)
def records(request: Request, access: Access) -> HttpResponse:
    """Show the stored records, and what can be released. A POST uploads a file and starts the job."""
    project = access.project
    form = RecordsForm(posted(request), request.FILES or None, project=project)

    def start() -> Job:
        name, content = form.content()
        policy = policy_named(project, *parsed_policy(form.cleaned_data["policy"]), actor=access.user)
        return start_deidentifying(
            project=project, name=name, content=content, data_type=form.cleaned_data["data_type"], policy=policy,
            actor=access.user,
        )  # fmt: skip

    if job := attempted(form, start, {"type": "data_type", "schema": "file"}):
        return redirect("job", access.slug, job.number)
    page = paged(request, selectors.waiting_records(project), ROWS)
    ready = selectors.ready_records(project, runs=selectors.deciding_runs(project)).filter(
        pk__in=[one.pk for one in page]
    )
    release_form = RecordReleaseForm(project=project, auto_id="release_%s")
    context = {
        "form": form,
        "release_form": release_form,
        "read": release_form.has_runs,
        "counts": selectors.record_counts(project),
        "page": page,
        "ready": set(ready.values_list("pk", flat=True)),
        "releases": selectors.record_releases(project)[:ROWS],
        "active": selectors.active_schemas(project),
    }
    return render(request, "records/records.html", context, status=422 if form.errors else 200)


@in_project(Can.RELEASE, "POST")
def record_release(request: Request, access: Access) -> HttpResponse:
    """Start a release of the records that are ready."""
    form = RecordReleaseForm(request.POST, project=access.project)
    with error_as_message(request):
        if not form.is_valid():
            raise ServiceError(_("Choose a policy and a run from the list. Nothing was released."), code="choice")
        found = selectors.ready_records(access.project, runs=form.runs, unreviewed=True)
        release = start_record_release(
            project=access.project,
            policy=policy_named(access.project, *parsed_policy(form.cleaned_data["policy"]), actor=access.user),
            records=list(found.values_list("pk", flat=True)),
            actor=access.user,
            runs=form.runs,
            unreviewed=True,
        )
        return redirect("release", access.slug, release.number)
    return redirect("records", access.slug)


@in_project(Can.RELEASE, "POST")
def record_export(request: Request, access: Access, number: int) -> HttpResponse:
    """Start the export of the records of a release. The same form starts one job."""
    with error_as_message(request):
        job = start_record_export(
            release=release_for(access, number), actor=access.user, token=request.POST.get("token", "")
        )
        return redirect("job", access.slug, job.number)
    return redirect("records", access.slug)


@in_project(Can.RELEASE, "GET")
def record(request: Request, access: Access, pk: int) -> HttpResponse:
    """Show each field of a record before and after."""
    row = selectors.record_of(access, pk)
    NOTE_READ.record(actor=access.user, note=row.document, data={"what": "record"})
    policy = next(one for one in policies_of(access.project) if one.slug == "mask")
    found, refused = [], ""
    try:
        found = field_changes(row, row.release.policy if row.release else policy)
    except RecordError as error:
        refused = str(error)
        messages.error(request, refused)
    return render(request, "records/record.html", {"row": row, "changes": found, "refused": refused})

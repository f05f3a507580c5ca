"""Routes of rewritten notes: labels for placeholders that are no label's, and the download."""

from django.http import StreamingHttpResponse
from ninja import Field, Router, Schema

from annotations.core.access import Access, Can
from annotations.core.answers import streamed
from annotations.core.api.mount import sends
from annotations.core.api.problems import check, named
from annotations.core.api.requests import ApiRequest, enter
from annotations.core.api.schemas import Body
from annotations.projects.selectors.labels import labels_of
from models_runtime.models import Run
from models_runtime.runs.forms.placeholders import MOST, PlaceholderForm
from models_runtime.runs.services.placeholders import map_placeholders, placeholder_choices, unmapped_placeholders
from models_runtime.runs.services.rewritten_notes import export_rewritten, rewriting_for

router = Router(tags=["Runs"])
PATH = "/projects/{slug:slug}/runs/{int:rewriting}"


class PlaceholderItem(Schema):
    """A placeholder that is no label's, how often it occurs, and the code of the label that it probably means."""

    placeholder: str
    count: int
    likely: str | None


class Mapping(Body):
    """The code of a label for each placeholder; an empty one drops its spans. Others are decided later."""

    labels: dict[str, str] = Field(max_length=MOST)


class Mapped(Schema):
    suggestions: int


@router.get(f"{PATH}/placeholders", response=list[PlaceholderItem])
def list_placeholders(request: ApiRequest, slug: str, rewriting: int) -> list[PlaceholderItem]:
    """List the placeholders of a run that are no label's, the most frequent first."""
    _access, run = _run(request, slug, rewriting, Can.MANAGE)
    counts = unmapped_placeholders(run)
    return [
        PlaceholderItem(placeholder=one.label, count=counts[one.label], likely=one.ours)
        for one in placeholder_choices(run, counts)
    ]


@router.post(f"{PATH}/placeholders", response=Mapped)
def choose_placeholders(request: ApiRequest, slug: str, rewriting: int, body: Mapping) -> Mapped:
    """Choose labels for placeholders. Their spans become suggestions."""
    access, run = _run(request, slug, rewriting, Can.MANAGE)
    choices = placeholder_choices(run, unmapped_placeholders(run))
    data = {f"placeholder:{word}": code for word, code in body.labels.items()}
    form = PlaceholderForm(data, choices=choices, labels=labels_of(access.project))
    check(form, {f"placeholder:{word}": f"labels.{word}" for word in body.labels})
    with named({"label": "labels"}):
        return Mapped(suggestions=map_placeholders(run=run, labels=form.decided, actor=access.user))


@router.get(f"{PATH}/rewritten", openapi_extra=sends("application/jsonl"))
def export_rewritten_notes(
    request: ApiRequest, slug: str, rewriting: int, *, prompt: bool = False
) -> StreamingHttpResponse:
    """Download the rewritten notes as JSON Lines, with the prompt if asked. The audit log records it."""
    access, run = _run(request, slug, rewriting, Can.EXPORT)
    lines, name = export_rewritten(run=run, prompt=prompt, actor=access.user)
    return streamed(lines, "application/jsonl", name)


def _run(request: ApiRequest, slug: str, pk: int, right: Can) -> tuple[Access, Run]:
    access = enter(request, slug, right)
    return access, rewriting_for(access.project, pk)

"""Routes that start other runs: ensembles, external models, language models, and lists of merged runs."""

from typing import Self

from django.http import Http404
from ninja import Field, Schema

from annotations.core.access import Access, Can
from annotations.core.api.routes import Answer, Body, Problem, ProjectRouter, check
from annotations.jobs.api import new_key
from annotations.projects.selectors.labels import labels_of
from annotations.text.combining import Method
from models_runtime.backends.llm.servers import MOST_PROMPT, OMEGA, PASSES
from models_runtime.core.external import FOUND, ExternalModel, external_model_named, external_models
from models_runtime.core.registry import EXTERNAL
from models_runtime.models import Run
from models_runtime.runs.api.runs import RunRef, refused
from models_runtime.runs.forms.models import UNDECIDED, ExternalForm, LlmForm
from models_runtime.runs.forms.runs import MOST_MEMBERS, CombineForm, MergeForm
from models_runtime.runs.services.backends import ThresholdGoal
from models_runtime.runs.services.ensembles import MOST, options_of
from models_runtime.runs.services.external import choices_of
from models_runtime.runs.services.llm import default_language, servers

router = ProjectRouter(tags=["Runs"])
PATH = "/projects/{slug:slug}/runs"
AT_THRESHOLD = {"threshold": "threshold"}


class EnsembleOption(Answer):
    """A possible member of an ensemble. `weight` is its score on held-out notes, `notes` what a run has annotated."""

    member: str = Field(validation_alias="spec")
    title: str
    weight: float | None
    notes: int | None
    rules_as_features: bool = Field(validation_alias="has_rules")


class EnsembleMember(Body):
    """A backend's key, `model:ID` or `run:NAME`, and its weight; without one, its score on held-out notes."""

    member: str = Field(max_length=200)
    weight: float | None = None


class NewEnsemble(Body):
    """`threshold`: also suggest tokens whose mean probability of any label over the members is above it."""

    method: Method = Method.MAJORITY
    members: list[EnsembleMember] = Field(max_length=MOST_MEMBERS)
    name: str = Field("", max_length=80)
    threshold: float | None = None


class ExternalItem(Schema):
    """A model that was trained elsewhere. `labels` gives the project's label for each of its labels.

    An empty label ignores the model's; null: it is undecided. A zero-shot model has no labels; `labels` are then the
    usual prompts. `sends_to`: the machine that would get the notes.
    """

    backend: str
    model: str
    language: str
    version: str
    labels: dict[str, str | None]
    sends_to: str | None

    @classmethod
    def of(cls, access: Access, model: ExternalModel) -> Self:
        server = model.server
        return cls(
            backend=model.backend, model=model.name, language=model.language, version=model.version,
            labels={choice.label: choice.ours for choice in choices_of(access.project, model)},
            sends_to=server.host if server and server.leaves_machine else None,
        )  # fmt: skip


class NewExternalRun(Body):
    """`labels` maps each label of the model to the code of a label of the project, or to an empty one (ignore it).

    A label that is missing there gets the project's usual one; if there is none, that is an error. For a zero-shot
    model, `labels` gives the label of each prompt; if there are none, the usual prompts are asked.
    `may_leave`: the notes may be sent to another machine. `threshold`: only for a transformer or a Flair tagger, as for
    other runs.
    """

    backend: str = Field(max_length=40)
    model: str = Field(max_length=200)
    labels: dict[str, str] = {}
    may_leave: bool = False
    name: str = Field("", max_length=80)
    threshold: float | None = None


class LanguageServer(Schema):
    """A server of language models, as the administrator listed it."""

    server: str
    models: list[str]
    sends_to: str | None


class NewLlmRun(Body):
    """`may_leave`: the notes may be sent to another machine. `language` is that of the prompt.

    `strategy`: `extract`, `by_label` (one question about each label) or `rewrite`.

    `template` is an own prompt, in which `$labels` stands for the labels of a question. `preset` names a printed
    prompt, which decides on strategy and language: `miranda-2025` or `xu-2026`. `context`: the tokens of the model's
    context, into which short notes are put together; null: one request each. `examples`: the prompt has examples.
    """

    server: str = Field(max_length=40)
    model: str = Field(max_length=200)
    may_leave: bool = False
    strategy: str = "extract"
    language: str = ""
    omega: int = OMEGA
    overlap: int = 0
    passes: int = PASSES
    every_pass: bool = False
    descriptions: bool = True
    examples: bool = False
    temperature: float = 0
    tokens: int | None = None
    context: int | None = None
    preset: str = ""
    template: str = Field("", max_length=MOST_PROMPT)
    name: str = Field("", max_length=80)


class MergedRuns(Body):
    """Ids of runs, as in the list of reviews."""

    runs: list[int] = Field(max_length=MOST)


@router.get("/projects/{slug:slug}/ensemble-members", Can.MANAGE, response=list[EnsembleOption])
def list_ensemble_members(access: Access) -> list[EnsembleOption]:
    """List the backends, models and runs that can vote in an ensemble."""
    return [EnsembleOption.from_orm(one) for one in options_of(access.project)]


@router.post(f"{PATH}/ensembles", Can.MANAGE, response={202: RunRef})
def start_ensemble_run(access: Access, body: NewEnsemble) -> Run:
    """Start a run in which backends, models or finished runs vote."""
    members = [one.member for one in body.members]
    data = {"method": body.method, "member": members, "name": body.name, "threshold": body.threshold}
    weights = {f"weight:{one.member}": one.weight for one in body.members}
    form = CombineForm(data | weights, options=options_of(access.project))
    check(form, {"member": "members"} | {f"weight:{one.member}": "members" for one in body.members})
    with refused({"members": "members", "member": "members", "weight": "members", "exists": "name"} | AT_THRESHOLD):
        return form.start(access, new_key(access))


@router.get("/projects/{slug:slug}/external-models", Can.MANAGE, response=list[ExternalItem])
def list_external_models(access: Access) -> list[ExternalItem]:
    """List the models that were trained elsewhere, with the usual labels of the project for theirs."""
    return [ExternalItem.of(access, model) for model in external_models()]


@router.post(f"{PATH}/external", Can.MANAGE, response={202: RunRef})
def start_external_run(access: Access, body: NewExternalRun) -> Run:
    """Start a run of a model that was trained elsewhere."""
    model = (
        external_model_named(body.backend, body.model) if body.backend in FOUND and body.backend in EXTERNAL else None
    )
    if model is None:
        raise Http404("This model does not exist.")
    choices = [] if model.zero_shot and body.labels else choices_of(access.project, model)
    usual = {choice.label: UNDECIDED if choice.ours is None else choice.ours for choice in choices}
    data = {f"label:{label}": body.labels.get(label, ours) for label, ours in usual.items()}
    data |= {"may_leave": _agreed(may_leave=body.may_leave), "name": body.name}
    form = ExternalForm(data, choices=choices, labels=labels_of(access.project))
    check(form, {f"label:{label}": f"labels.{label}" for label in usual})
    with refused({"leaves": "may_leave", "exists": "name", "map": "labels"} | AT_THRESHOLD):
        more = {label: code for label, code in body.labels.items() if label not in usual}
        return form.start(access, model, new_key(access), more, ThresholdGoal(body.threshold))


@router.get("/projects/{slug:slug}/language-model-servers", Can.MANAGE, response=list[LanguageServer])
def list_language_model_servers(access: Access) -> list[LanguageServer]:
    """List the servers of language models, and the machines to which they send notes."""
    return [
        LanguageServer(
            server=one.name, models=list(one.models), sends_to=one.host if one.leaves_machine else None
        )
        for one in servers()
    ]  # fmt: skip


@router.post(f"{PATH}/language-models", Can.MANAGE, response={202: RunRef})
def start_language_model_run(access: Access, body: NewLlmRun) -> Run:
    """Start a run of a language model over all notes."""
    data = body.dict() | {
        "model": f"{body.server} {body.model}",
        "may_leave": _agreed(may_leave=body.may_leave),
        "language": body.language or default_language(access.project) or "en",
        "temperature": f"{body.temperature:g}",
    }
    form = LlmForm(data, servers=servers(), language=access.project.language)
    check(form)
    with refused({"leaves": "may_leave", "exists": "name", "params": "model"}):
        return form.start(access, new_key(access))


@router.post(f"{PATH}/merged", Can.MAKE_GOLD, response={202: RunRef})
def merge_runs(access: Access, body: MergedRuns) -> Run:
    """Merge runs into one list of suggestions, to review them together. An unchanged list is returned again."""
    if access.withheld:
        # A merged list names the runs that suggest a span. This would reveal what the review of one run hides.
        raise Problem(409, "withheld", access.withheld)
    form = MergeForm({"run": body.runs})
    check(form, {"run": "runs"})
    with refused({"runs": "runs", "member": "runs"}):
        return form.start(access, new_key(access))


def _agreed(*, may_leave: bool) -> str:
    """Return the value with which the checkbox of a form says yes."""
    return "yes" if may_leave else ""

"""Routes that start trainings: the kinds of models with their settings, trainings with seeds, and ablations."""

from collections.abc import Sequence
from typing import NamedTuple

from ninja import Field, Schema

from annotations.core.access import Access, Can
from annotations.core.api.routes import Body, ProjectRouter, check, named
from annotations.jobs.api import new_key
from annotations.models import Job
from models_runtime.core import external
from models_runtime.core.registry import TRAINABLE
from models_runtime.core.silver import silver_authors
from models_runtime.core.stages import usable_runs
from models_runtime.models import OF_MODEL
from models_runtime.training.api.models import ModelItem
from models_runtime.training.forms import REFUSED_AT, TrainForm
from models_runtime.training.services import training
from models_runtime.training.services.embeddings import language_models, names_in
from models_runtime.training.services.groups import COMPLETE, Variant, ablation

router = ProjectRouter(tags=["Models"])
PATH = "/projects/{slug:slug}/models"


class SettingOut(Schema):
    """A setting of a kind of models. `kind`: whole, number, choice, switch or text, from `least` to `most`.

    `choices` are the values of a choice with their meanings. Without a value, the algorithm decides.
    """

    key: str
    label: str
    kind: str
    least: float
    most: float
    choices: dict[str, str] | None
    help: str


class KindOut(Schema):
    """A kind of models. `by_epoch`: a training can end early. `predicts`: its models suggest spans."""

    kind: str
    title: str
    algorithms: dict[str, str]
    queue: str
    by_epoch: bool
    predicts: bool
    settings: list[SettingOut]


class TrainingChoices(Schema):
    """What trainings can use: kinds, starting weights, models to start from (`model:ID` and name), embeddings.

    `embeddings` are files of word vectors and `language_models`. `also` are gold versions of other projects that the
    person manages, as `project:number`. `self_training` are the runs from whose labels a training can learn, and
    `silver` the authors of pairs of decisions.
    """

    kinds: list[KindOut]
    weights: list[str]
    bases: dict[str, str]
    embeddings: list[str]
    language_models: list[str]
    also: list[str]
    self_training: list[str]
    silver: list[str]


class NewTraining(Body):
    """What to train on which gold version. `runs` trainings differ in their seeds.

    With `random_splits`, each draws its own hold-out: one fifth of the patients, from train and dev notes together.
    `base`: weights or a model to start from. `adapt`: epochs of language pre-training. `grouping`: sentences read
    together. `language`: only notes in it. `also`: gold of other projects. `self_training`: the name of a run, from
    whose confident labels of notes without gold the model learns, too. `silver`: the name of an author of pairs of
    decisions, from whose unreviewed labels it learns, too. Without an algorithm, the kind's first one.
    """

    gold: int = Field(ge=0, le=2**31 - 1)
    kind: str = Field(training.DEFAULT, max_length=20)
    algorithm: str = Field("", max_length=19)
    base: str = Field("", max_length=100)
    adapt: int = Field(0, ge=0, le=training.MOST_ADAPT)
    grouping: int | None = Field(None, ge=1, le=training.MOST_GROUPED)
    iterations: int | None = Field(None, ge=1, le=training.MOST_ITERATIONS)
    language: str = Field("", max_length=8)
    also: list[str] = Field([], max_length=50)
    refit: bool = False
    self_training: str = Field("", max_length=80)
    silver: str = Field("", max_length=80)
    runs: int | None = None
    random_splits: bool = False
    name: str = Field("", max_length=80)
    settings: dict[str, str | bool | int | float] = Field({}, max_length=50)


class NewAblation(NewTraining):
    """A training of stacked embeddings that is repeated without each of its parts, and with other `groupings`."""

    groupings: list[int] = Field([], max_length=training.MOST_GROUPED)


class Trainings(Schema):
    """The models in training."""

    items: list[ModelItem]


class StartedTrainings(NamedTuple):
    """What Trainings answers, and the first model's job, to which the answer points."""

    items: list[ModelItem]
    job: Job | None


@router.get("/projects/{slug:slug}/training-choices", Can.MANAGE, response=TrainingChoices)
def read_training_choices(access: Access) -> TrainingChoices:
    """Read what can be trained here, with all settings."""
    lendable = training.lendable_versions(access.project, access.user)
    characters = [row.name for row in language_models(access.project)]
    return TrainingChoices(
        kinds=[KindOut.model_validate({**vars(kind), "kind": key}) for key, kind in TRAINABLE.items()],
        weights=[one.name for one in external.weights()],
        bases={f"{OF_MODEL}{row.pk}": row.name for row in training.all_base_models(access.project)},
        embeddings=[*external.word_files(), *characters],
        language_models=characters,
        also=[f"{version.project.slug}:{version.number}" for version in lendable],
        self_training=[run.author.name for run in usable_runs(access.project)],
        silver=[author.name for author in silver_authors(access.project)],
    )


@router.post(PATH, Can.MANAGE, response={202: Trainings})
def start_training_now(access: Access, body: NewTraining) -> StartedTrainings:
    """Train a model on a frozen gold version."""
    return _started(access, body, (Variant(COMPLETE),))


@router.post(f"{PATH}/ablations", Can.MANAGE, response={202: Trainings})
def start_ablation(access: Access, body: NewAblation) -> StartedTrainings:
    """Train a model with stacked embeddings complete, and without each of its parts."""
    with named({"groupings": "groupings"}):
        variants = ablation(names_in(str(body.settings.get("embeddings", ""))), body.groupings)
    return _started(access, body, variants)


def _started(access: Access, body: NewTraining, variants: Sequence[Variant]) -> StartedTrainings:
    form = TrainForm(body.dict() | {"algorithm": f"{body.kind}:{body.algorithm}"})
    check(form)
    # The form leaves these two out for kinds that can't use them.
    settings = {key: str(value) for key, value in body.settings.items()}
    more = {"settings": settings, "self_training": body.self_training, "silver": body.silver}
    own = {key: f"settings.{key}" for key in ("settings", "embeddings", *body.settings)} | {"settings": "settings"}
    at = {name: name for name in type(body).model_fields} | own | REFUSED_AT | {"backend": "kind"}
    with named(at):
        models = form.start(access, new_key(access), variants, **more)
    return StartedTrainings([ModelItem.of(one) for one in models], models[0].job)

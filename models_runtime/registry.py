"""What kinds of long work there are: one line each, the code behind it loaded on first use.

Words are marked here and translated where they are shown.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from django.utils.module_loading import import_string
from django.utils.translation import gettext_noop as _

from annotations.access import Can


@dataclass(frozen=True)
class JobKind:
    """One kind of job. Paths are dotted, so that naming a kind costs no import.

    `handler(claim) -> dict` does the work and returns what the job's page shows. It may be started again after a crash,
    so it is either safe to repeat or picks up where its rows say it stopped.
    `undo(params, state)` takes back what an unfinished job wrote; `state` is "cancelled" or "failed". It runs in one
    transaction with the job's last state and must be safe to repeat. It returns None, or the result where the work
    turns out to be complete, so that nothing is left to take back.
    `redo(params)` makes ready what starting a failed or cancelled job again needs, in the same transaction. It raises
    ServiceError where that can't be.
    `shared`: several workers may be at one such job; its handler goes from share to share (runner.shares).
    """

    title: str
    handler: str
    right: Can
    unit: str = _("notes")
    queue: str = "cpu"
    undo: str = ""
    redo: str = ""
    can_pause: bool = False
    can_retry: bool = True
    shared: bool = False


JOBS: dict[str, JobKind] = {
    "import": JobKind(
        title=_("Import"),
        handler="models_runtime.jobs.importing.run",
        right=Can.MANAGE,
        undo="models_runtime.jobs.importing.undo",
        can_pause=True,
        # Taking an import back deletes its upload as well.
        can_retry=False,
    ),
    "export": JobKind(title=_("Export"), handler="models_runtime.jobs.exporting.run", right=Can.EXPORT),
    "run": JobKind(
        title=_("Model run"),
        handler="models_runtime.jobs.running.run",
        right=Can.MANAGE,
        can_pause=True,
        shared=True,
    ),
    "agreement": JobKind(title=_("Agreement"), handler="models_runtime.jobs.agreement.run", right=Can.READ_NOTES),
    "score": JobKind(title=_("Score"), handler="models_runtime.jobs.scoring.run", right=Can.READ_NOTES),
    "compare": JobKind(title=_("Comparison"), handler="models_runtime.jobs.comparing.run", right=Can.READ_NOTES),
    "judge": JobKind(
        title=_("Judges"),
        handler="models_runtime.jobs.judging.run",
        right=Can.MANAGE,
        unit=_("answers"),
        queue="llm",
        redo="models_runtime.jobs.judging.ready_again",
        can_pause=True,
    ),
    "calibrate": JobKind(
        title=_("Calibration"), handler="models_runtime.jobs.calibrating.run", right=Can.MANAGE, can_retry=True
    ),
    "train": JobKind(
        title=_("Training"),
        handler="models_runtime.jobs.training.run",
        right=Can.MANAGE,
        unit=_("steps"),
        undo="models_runtime.jobs.training.undo",
        redo="models_runtime.jobs.training.redo",
    ),
    "bulk": JobKind(
        title=_("Bulk review"),
        handler="models_runtime.jobs.bulk_review.run",
        right=Can.MAKE_GOLD,
        unit=_("proposals"),
        can_pause=True,
    ),
    "bulk_undo": JobKind(
        title=_("Taking a bulk review back"),
        handler="models_runtime.jobs.bulk_review.take_back",
        right=Can.MAKE_GOLD,
        unit=_("proposals"),
        can_pause=True,
    ),
    "gold": JobKind(title=_("Make gold"), handler="models_runtime.jobs.gold.run", right=Can.MAKE_GOLD, can_pause=True),
}


def kind_of(name: str) -> JobKind:
    """The kind called `name`. Raises LookupError naming the choices."""
    try:
        return JOBS[name]
    except KeyError:
        raise LookupError(f"unknown kind of job {name!r}; there are: {', '.join(sorted(JOBS))}") from None


@dataclass(frozen=True)
class BackendKind:
    """One backend. `factory(label_set=KEY, **params)` makes it; the path is imported by workers, on first use.

    `needs` is the library that workers must have for it, as a module's name; empty where every install has it.
    `weights` is the folder that must hold its weights, below DEIDREVIEW_DATA/weights; empty where it has none.
    `queue`: of which kind of worker its runs are: cpu, gpu, llm.
    """

    title: str
    factory: str
    description: str
    queue: str = "cpu"
    needs: str = ""
    weights: str = ""


BACKENDS: dict[str, BackendKind] = {
    "rules": BackendKind(
        title=_("Rules"),
        factory="models_runtime.backends.rules.RulesBackend",
        description=_("Patterns with validators, context words and gazetteers; Italian, Spanish, English. No weights."),
    ),
}
# Not in the list: it is made of members, so it can't be run by its name alone (models_runtime.services.ensembles).
ENSEMBLE = "ensemble"
# The one method of an ensemble that is no vote: all that its members, finished runs, propose (domain.merging).
MERGED = "merged"
# Nor this: it is a pipeline of this machine, and a map of its labels (models_runtime.services.foreign).
PIPELINE = "spacy-pipeline"
PIPELINE_KIND = BackendKind(
    title=_("spaCy pipelines"),
    factory="models_runtime.backends.spacy_pipeline.backend.PipelineBackend",
    description=_("Pipelines of others: installed packages, and folders in DEIDREVIEW_DATA/pipelines."),
    needs="spacy",
)
# Nor this: a transformer of somebody else's in a folder of this machine, and a map of its labels.
TAGGER = "token-classification"
TAGGER_KIND = BackendKind(
    title=_("Transformers"),
    factory="models_runtime.backends.token_classification.backend.TokenClassificationBackend",
    description=_("Models of others that label tokens: folders in DEIDREVIEW_DATA/weights, safetensors only."),
    queue="gpu",
    needs="transformers",
)
# Not in the list either: it wants a server and a model, so it has a form of its own (models_runtime.services.llm).
LLM = "llm"
LLM_KIND = BackendKind(
    title=_("Language model"),
    factory="models_runtime.backends.llm.backend.LlmBackend",
    description=_("A model on a server that the administrator listed, or in a folder of a worker's machine."),
    queue="llm",
    needs="openai",
)


# No backends, as they read nothing: language models that judge what others made of a note, and what they are shown.
JUDGE = "models_runtime.backends.llm.judging.LlmJudge"
CASE = "models_runtime.backends.llm.judging.Case"


# Backends that are set up on pages of their own.
SET_UP = {LLM: LLM_KIND, PIPELINE: PIPELINE_KIND, TAGGER: TAGGER_KIND}
# Of these: what others made, with labels of their own.
FOREIGN = (PIPELINE, TAGGER)


def backend_kind(name: str) -> BackendKind:
    """The backend called `name`. Raises LookupError naming the choices."""
    try:
        return SET_UP[name] if name in SET_UP else BACKENDS[name]
    except KeyError:
        raise LookupError(f"unknown backend {name!r}; there are: {', '.join(sorted(BACKENDS))}") from None


@dataclass(frozen=True)
class TrainableKind:
    """A kind of model that learns here. `factory(path=FILE)` loads a trained one; `child` is run with `python -m`.

    `algorithms` by key, the default first. `format` is what its files say they are. `needs`: as a BackendKind's.
    `by_epoch`: it is scored after each, goes on from the last one after a kill, and can end early with what it has;
    the others begin again after a kill, which gives the same model.
    `queue`: of its trainings, and of its models' runs. `based`: it begins with a folder of DATA_DIR/weights, or with a
    model of its kind. `adapts`: how it can learn the notes' language first, labels aside; empty where it can't.
    `grouped`: it reads up to 32 sentences as one (002).
    """

    title: str
    factory: str
    child: str
    format: str
    algorithms: dict[str, str]
    needs: str = ""
    by_epoch: bool = False
    queue: str = "cpu"
    based: bool = False
    adapts: str = ""
    grouped: bool = False


TRAINABLE: dict[str, TrainableKind] = {
    "crf": TrainableKind(
        title="CRF",
        factory="models_runtime.backends.crf.CrfBackend",
        child="models_runtime.backends.crf.child",
        format="deidreview-crf-1",
        algorithms={
            "lbfgs": _("L-BFGS: the best model, in minutes"),
            "ap": _("Averaged perceptron: nearly as good, in a fraction of the time"),
        },
    ),
    "spacy": TrainableKind(
        title="spaCy",
        factory="models_runtime.backends.spacy_ner.backend.SpacyBackend",
        child="models_runtime.backends.spacy_ner.child",
        format="deidreview-spacy-1",
        algorithms={
            "cnn": _("Convolution over tokens: a second opinion of another kind, in some ten minutes"),
            "quick": _("The same in fewer epochs: nearly as good, in less than half the time"),
        },
        needs="spacy",
        by_epoch=True,
    ),
    "bilstm": TrainableKind(
        title="BiLSTM-CRF",
        factory="models_runtime.backends.bilstm_crf.backend.BiLstmCrfBackend",
        child="models_runtime.backends.bilstm_crf.child",
        format="deidreview-bilstm-crf-1",
        algorithms={
            "bilstm": _("Recurrent network with a CRF: a third opinion; half an hour on a CPU, minutes on a GPU"),
            "quick": _("The same in fewer epochs"),
        },
        needs="torch",
        by_epoch=True,
        queue="gpu",
        adapts=_("guessing the next character"),
        grouped=True,
    ),
    "transformer": TrainableKind(
        title=_("Transformer"),
        factory="models_runtime.backends.token_classification.trained.TransformerBackend",
        child="models_runtime.backends.token_classification.child",
        format="deidreview-transformer-1",
        algorithms={
            "weighted": _("Fine-tuned from weights at hand, rare labels weighing more; wants a GPU"),
            "plain": _("The same, every token weighing alike"),
            "fresh": _("For small weights that know nothing yet: a high rate, many epochs"),
        },
        needs="transformers",
        by_epoch=True,
        queue="gpu",
        based=True,
        adapts=_("filling gaps"),
    ),
}


def trainable_kind(name: str) -> TrainableKind:
    """The trainable kind called `name`. Raises LookupError naming the choices."""
    try:
        return TRAINABLE[name]
    except KeyError:
        raise LookupError(f"unknown kind of model {name!r}; there are: {', '.join(TRAINABLE)}") from None


def installed(kind: BackendKind | TrainableKind) -> bool:
    """Whether this machine has what the kind needs; looked for, never imported. A worker elsewhere may have it."""
    return not kind.needs or find_spec(kind.needs) is not None


def load(path: str) -> Callable[..., Any]:
    """The function at a dotted path of this registry."""
    found: Callable[..., Any] = import_string(path)
    return found

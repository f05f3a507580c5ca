"""What reads notes and what learns here: one line each, the code behind it loaded on first use.

Words are marked here and translated where they are shown.
"""

from dataclasses import dataclass
from importlib.util import find_spec

from django.utils.translation import gettext_noop as _


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


# Not in the list: it is made of members, so it can't be run by its name alone (models_runtime.runs.services.ensembles).
ENSEMBLE = "ensemble"


# The one method of an ensemble that is no vote: all that its members, finished runs, propose (domain.merging).
MERGED = "merged"


# Nor this: it is a pipeline of this machine, and a map of its labels (models_runtime.runs.services.foreign).
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


# Not in the list either: it wants a server and a model, so it has a form of its own (models_runtime.runs.services.llm).
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

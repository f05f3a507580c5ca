"""Registry of backends and of trainable kinds of models. Their code is imported on first use.

Texts are marked for translation here and translated where they are shown.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec

from django.utils.translation import gettext_noop as _

from models_runtime.core import training_settings
from models_runtime.core.training_settings import Setting


@dataclass(frozen=True)
class BackendKind:
    """One backend. `factory(label_set=KEY, **params)` makes it; workers import this path on first use.

    `needs` is the module of a library that workers need for it; empty if every installation has it.
    `weights` is the folder of its weights in DEIDREVIEW_DATA/weights; empty if it has none.
    `queue` is the queue of its runs: cpu, gpu or llm.
    `marginals`: it gives the probability of each label at each token, so that it can read at a threshold.
    """

    title: str
    factory: str
    description: str
    queue: str = "cpu"
    needs: str = ""
    weights: str = ""
    marginals: bool = False


# The backend that reads the project's patient master. It needs each note's patient (models_runtime.core.model_files).
KNOWN = "known"


# The backend whose tags some kinds of models have as features.
RULES_BACKEND = "rules"


BACKENDS: dict[str, BackendKind] = {
    RULES_BACKEND: BackendKind(
        title=_("Rules"),
        factory="models_runtime.backends.rules.RulesBackend",
        description=_(
            "Patterns with validators, context words and gazetteers; Italian, Spanish, English. No weights. In other "
            "languages they find only contacts, dates in figures and numbers."
        ),
    ),
    KNOWN: BackendKind(
        title=_("Known identifiers"),
        factory="models_runtime.backends.known.KnownBackend",
        description=_("Each patient's own identifiers from the patient master, in every spelling, and denied terms."),
    ),
}


# Not in BACKENDS: an ensemble needs a choice of members (models_runtime.runs.services.ensembles).
ENSEMBLE = "ensemble"


# The only method of an ensemble that is not a vote (annotations.text.combining): all suggestions of finished runs.
MERGED = "merged"


PIPELINE, TAGGER, FLAIR, GLINER, REMOTE = "spacy-pipeline", "token-classification", "flair", "gliner", "remote"
LLM = "llm"


# Backends with their own start page: a language model needs a server and a model; the others run models that were
# trained elsewhere, and need a mapping of their labels or words for each label.
SET_UP = {
    LLM: BackendKind(
        title=_("Language model"),
        factory="models_runtime.backends.llm.backend.LlmBackend",
        description=_("A model on a server that the administrator listed, or in a folder on a worker's machine."),
        queue="llm",
        needs="openai",
    ),
    PIPELINE: BackendKind(
        title=_("spaCy pipelines"),
        factory="models_runtime.backends.spacy_pipeline.PipelineBackend",
        description=_("Pipelines trained elsewhere: installed packages, and folders in DEIDREVIEW_DATA/pipelines."),
        needs="spacy",
    ),
    TAGGER: BackendKind(
        title=_("Transformers"),
        factory="models_runtime.backends.token_classification.backend.TokenClassificationBackend",
        description=_("Token classifiers trained elsewhere: folders in DEIDREVIEW_DATA/weights, safetensors only."),
        queue="gpu",
        needs="transformers",
        marginals=True,
    ),
    FLAIR: BackendKind(
        title=_("Flair taggers"),
        factory="models_runtime.backends.flair.FlairBackend",
        description=_("Taggers of Flair, converted to folders in DEIDREVIEW_DATA/weights, safetensors only."),
        queue="gpu",
        needs="torch",
        marginals=True,
    ),
    GLINER: BackendKind(
        title=_("Zero-shot models"),
        factory="models_runtime.backends.gliner.backend.GlinerBackend",
        description=_(
            "GLiNER models that find what you describe: folders in DEIDREVIEW_DATA/weights, safetensors only."
        ),
        queue="gpu",
        needs="transformers",
    ),
    REMOTE: BackendKind(
        title=_("Remote models"),
        factory="models_runtime.backends.remote.backend.RemoteBackend",
        description=_(
            "Models on servers that the administrator listed, by the protocols of INCEpTION and Label Studio."
        ),
        queue="llm",
        # A library for HTTP, which comes with openai.
        needs="httpx2",
    ),
}


# Backends that run models which were trained elsewhere, with other labels.
EXTERNAL = (PIPELINE, TAGGER, FLAIR, GLINER, REMOTE)


def backend_kind(name: str) -> BackendKind:
    """Return the backend with this name. Raises LookupError, with the choices in its message."""
    try:
        return SET_UP[name] if name in SET_UP else BACKENDS[name]
    except KeyError:
        raise LookupError(f"There is no backend “{name}”. Choose one of: {', '.join(sorted(BACKENDS))}.") from None


@dataclass(frozen=True)
class TrainableKind:
    """A kind of model that can be trained. `factory(path=FILE)` loads a trained model; `learner` is the dotted path
    of its Learner, which a child process imports.

    `algorithms` maps keys to names, the default first. `format` is the name of its file format. `needs` is as for
    BackendKind. `queue` is the queue of its trainings and of its models' runs.

    `by_epoch`: the model is scored after each epoch, continues from the last epoch after a kill, and can stop early.
    Other kinds start again after a kill, which gives the same model.
    `based`: the training needs starting weights: a folder in DATA_DIR/weights, or a model of the same kind.
    `continues`: what a training takes over from a model of the same kind from which it starts, with one label space
    over both trainings (strategy EN-IT of Catelli 2021).
    `starts_from`: other kinds whose models the training may start from as well.
    `adapts`: how the model can first learn the language of the notes without labels; empty if it can't.
    `reads_all`: learning the language reads any number of notes, because it doesn't hold them in memory.
    `grouped`: up to 32 sentences are read as one sequence (Catelli 2021).
    `settings`: what else can be set for a training.
    `predicts`: its models suggest spans. False for a language model: other trainings start from it or use its vectors.
    It learns from texts alone, is measured by its loss on held-out notes, and is never offered for runs; `factory` is
    empty.
    `stacked`: its input is a stack of embeddings, which the setting `embeddings` names: files of word vectors in
    DATA_DIR/embeddings, and language models of the project. `factory` then also gets that folder, as `embeddings`.
    `marginals`: as for BackendKind.
    `self_trains`: it can also learn from notes without gold, with labels of models. Its models give probabilities.
    """

    title: str
    factory: str
    learner: str
    format: str
    algorithms: dict[str, str]
    needs: str = ""
    by_epoch: bool = True
    queue: str = "gpu"
    based: bool = False
    continues: str = _("its weights")
    starts_from: tuple[str, ...] = ()
    adapts: str = ""
    reads_all: bool = False
    grouped: bool = False
    settings: tuple[Setting, ...] = ()
    predicts: bool = True
    stacked: bool = False
    marginals: bool = False
    self_trains: bool = False


# The kind whose models can be part of a stack of embeddings.
CHARACTERS = "characters"


TRAINABLE: dict[str, TrainableKind] = {
    "crf": TrainableKind(
        title="CRF",
        factory="models_runtime.backends.crf.CrfBackend",
        learner="models_runtime.backends.crf.training.LEARNER",
        format="deidreview-crf-1",
        algorithms={
            "lbfgs": _("L-BFGS: best model, takes minutes"),
            "ap": _("Averaged perceptron: almost as good, much faster"),
        },
        by_epoch=False,
        queue="cpu",
        # crfsuite can't continue from weights. See models_runtime.backends.crf.training.
        continues=_("its spans, as features"),
        settings=training_settings.FEATURED,
        marginals=True,
        self_trains=True,
    ),
    "spacy": TrainableKind(
        title="spaCy",
        factory="models_runtime.backends.spacy_ner.backend.SpacyBackend",
        learner="models_runtime.backends.spacy_ner.training.LEARNER",
        format="deidreview-spacy-1",
        algorithms={
            "cnn": _("Convolutional network: takes about ten minutes"),
            "quick": _("Convolutional network, fewer epochs: almost as good, in less than half the time"),
        },
        queue="cpu",
        needs="spacy",
        settings=training_settings.FEATURED,
    ),
    "bilstm": TrainableKind(
        title=_("BiLSTM-CRF with features and rules"),
        factory="models_runtime.backends.bilstm_crf.backend.BiLstmCrfBackend",
        learner="models_runtime.backends.bilstm_crf.training.LEARNER",
        format="deidreview-bilstm-crf-1",
        algorithms={
            "bilstm": _("Recurrent network with a CRF: takes half an hour on a CPU, minutes on a GPU"),
            "quick": _("Recurrent network with a CRF, fewer epochs"),
        },
        needs="torch",
        adapts=_("predicting the next character"),
        grouped=True,
        settings=training_settings.BILSTM,
        marginals=True,
        self_trains=True,
    ),
    "stacked": TrainableKind(
        title=_("BiLSTM-CRF with stacked embeddings"),
        factory="models_runtime.backends.bilstm_crf.backend.BiLstmCrfBackend",
        learner="models_runtime.backends.bilstm_crf.training.STACKED",
        format="deidreview-stacked-1",
        algorithms={
            "sgd": _("Batches of 4 sequences, as in Catelli 2021, table 3.6; may take hours"),
            "sgd-16": _("Batches of 16 sequences, as in Catelli 2021, tables 3.8 and 3.10"),
        },
        needs="torch",
        grouped=True,
        stacked=True,
        marginals=True,
        settings=training_settings.STACKED,
    ),
    CHARACTERS: TrainableKind(
        title=_("Character language model"),
        factory="",
        learner="models_runtime.backends.characters.LEARNER",
        format="deidreview-characters-1",
        algorithms={
            "narrow": _("Two LSTMs of width 128: takes minutes on a CPU"),
            "wide": _("Two LSTMs of width 1024, as Flair's; needs a GPU"),
        },
        needs="torch",
        settings=training_settings.LANGUAGE,
        predicts=False,
    ),
    "transformer": TrainableKind(
        title=_("Transformer"),
        factory="models_runtime.backends.token_classification.backend.TransformerBackend",
        learner="models_runtime.backends.token_classification.training.LEARNER",
        format="deidreview-transformer-1",
        algorithms={
            "weighted": _("Fine-tuning with more weight on rare labels; needs a GPU"),
            "plain": _("Fine-tuning with equal weight on every token; needs a GPU"),
            "fresh": _("Small untrained weights: high learning rate, many epochs"),
        },
        needs="transformers",
        based=True,
        adapts=_("predicting masked tokens"),
        grouped=True,
        reads_all=True,
        starts_from=("masked",),
        settings=training_settings.TRANSFORMER,
        marginals=True,
    ),
    "masked": TrainableKind(
        title=_("Masked language model"),
        factory="",
        learner="models_runtime.backends.token_classification.training.MASKED",
        format="deidreview-masked-lm-1",
        algorithms={"masked": _("Predicting masked tokens, from weights in a folder; needs a GPU")},
        needs="transformers",
        based=True,
        reads_all=True,
        settings=training_settings.MASKED,
        predicts=False,
    ),
}


def has_rule_features(backend: str, settings: Mapping[str, object]) -> bool:
    """Whether models of this kind, trained with these settings, have the tags of the rules as features."""
    return training_settings.RULES in trainable_kind(backend).settings and bool(
        settings.get(training_settings.RULES.key, True)
    )


def trainable_kind(name: str) -> TrainableKind:
    """Return the trainable kind with this name. Raises LookupError, with the choices in its message."""
    try:
        return TRAINABLE[name]
    except KeyError:
        raise LookupError(f"There is no type of model “{name}”. Choose one of: {', '.join(TRAINABLE)}.") from None


def language_models() -> list[str]:
    """List the kinds whose models suggest no spans. A function, because a test may add a kind."""
    return [key for key, kind in TRAINABLE.items() if not kind.predicts]


def installed(kind: BackendKind | TrainableKind) -> bool:
    """Return whether this machine has the library that the kind needs, without importing it.

    A worker on another machine may have the library even if this machine doesn't.
    """
    return not kind.needs or find_spec(kind.needs) is not None

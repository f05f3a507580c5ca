"""Registry of backends and of trainable kinds of models. Their code is imported on first use.

Texts are marked for translation here and translated where they are shown.
"""

from dataclasses import dataclass
from importlib.util import find_spec

from django.utils.translation import gettext_noop as _

from models_runtime.core.training_settings import Setting


@dataclass(frozen=True)
class BackendKind:
    """One backend. `factory(label_set=KEY, **params)` makes it; workers import this path on first use.

    `needs` is the module of a library that workers need for it; empty if every installation has it.
    `weights` is the folder of its weights in DEIDREVIEW_DATA/weights; empty if it has none.
    `queue` is the queue of its runs: cpu, gpu or llm.
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


# Not in BACKENDS: an ensemble needs a choice of members (models_runtime.runs.services.ensembles).
ENSEMBLE = "ensemble"


# The only method of an ensemble that is not a vote: the suggestions of all its members, finished runs (domain.merging).
MERGED = "merged"


# Not in BACKENDS: a pipeline on this machine needs a mapping of its labels (models_runtime.runs.services.external).
PIPELINE = "spacy-pipeline"


PIPELINE_KIND = BackendKind(
    title=_("spaCy pipelines"),
    factory="models_runtime.backends.spacy_pipeline.backend.PipelineBackend",
    description=_("Pipelines trained elsewhere: installed packages, and folders in DEIDREVIEW_DATA/pipelines."),
    needs="spacy",
)


# Not in BACKENDS: a transformer in a folder of this machine needs a mapping of its labels.
TAGGER = "token-classification"


TAGGER_KIND = BackendKind(
    title=_("Transformers"),
    factory="models_runtime.backends.token_classification.backend.TokenClassificationBackend",
    description=_("Token classifiers trained elsewhere: folders in DEIDREVIEW_DATA/weights, safetensors only."),
    queue="gpu",
    needs="transformers",
)


# Not in BACKENDS: a language model needs a server and a model, so it has its own form (runs.services.llm).
LLM = "llm"


LLM_KIND = BackendKind(
    title=_("Language model"),
    factory="models_runtime.backends.llm.backend.LlmBackend",
    description=_("A model on a server that the administrator listed, or in a folder on a worker's machine."),
    queue="llm",
    needs="openai",
)


# Language models that judge the spans of others, and the questions that they are asked. These are not backends.
JUDGE = "models_runtime.backends.llm.judging.LlmJudge"


CASE = "models_runtime.backends.llm.judging.Case"


# Backends with their own start page.
SET_UP = {LLM: LLM_KIND, PIPELINE: PIPELINE_KIND, TAGGER: TAGGER_KIND}


# Backends that run models which were trained elsewhere, with other labels.
EXTERNAL = (PIPELINE, TAGGER)


def backend_kind(name: str) -> BackendKind:
    """Return the backend with this name. Raises LookupError, with the choices in its message."""
    try:
        return SET_UP[name] if name in SET_UP else BACKENDS[name]
    except KeyError:
        raise LookupError(f"There is no backend “{name}”. Choose one of: {', '.join(sorted(BACKENDS))}.") from None


@dataclass(frozen=True)
class TrainableKind:
    """A kind of model that can be trained. `factory(path=FILE)` loads a trained model; `child` is run with `python -m`.

    `algorithms` maps keys to names, the default first. `format` is the name of its file format. `needs` is as for
    BackendKind. `queue` is the queue of its trainings and of its models' runs.

    `by_epoch`: the model is scored after each epoch, continues from the last epoch after a kill, and can stop early.
    Other kinds start again after a kill, which gives the same model.
    `based`: the training needs starting weights: a folder in DATA_DIR/weights, or a model of the same kind.
    `continues`: the training may start from a model of the same kind, with one label space over both trainings
    (strategy EN-IT of Catelli 2021). crfsuite can't continue from weights, so the CRF doesn't.
    `starts_from`: other kinds whose models the training may start from as well.
    `adapts`: how the model can first learn the language of the notes without labels; empty if it can't.
    `reads_all`: learning the language reads any number of notes, because it doesn't hold them in memory.
    `grouped`: up to 32 sentences are read as one sequence (Catelli 2021).
    `settings`: what else can be set for a training.
    `predicts`: its models suggest spans. False for a language model: other trainings start from it or use its vectors.
    It learns from texts alone, is measured by its loss on held-out notes, and is never offered for runs; `factory` is
    empty.
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
    continues: bool = False
    starts_from: tuple[str, ...] = ()
    adapts: str = ""
    reads_all: bool = False
    grouped: bool = False
    settings: tuple[Setting, ...] = ()
    predicts: bool = True


BATCHES = (
    Setting("rate", _("Learning rate"), "number", least=1e-7, most=0.1),
    Setting(
        "batch",
        _("Sequences in a batch"),
        "whole",
        least=1,
        most=1024,
        help=_("The effective batch of one update. If empty, as many as have a set number of sub-words together."),
    ),
    Setting(
        "accumulation",
        _("Gradient accumulation"),
        "whole",
        least=1,
        most=1024,
        help=_("Compute each batch in this many parts, to save memory. The effective batch stays the same."),
    ),
)


CHUNKS = Setting(
    "chunks",
    _("Text longer than a sequence"),
    "choice",
    choices={
        "overlapping": _("overlapping windows; a sub-word is read where it has most context"),
        "disjoint": _("disjoint chunks (Salierno et al. 2024)"),
    },
)


PROBE = Setting(
    "probe",
    _("Sentences for the fill-mask probe"),
    "text",
    most=600,
    pattern=r"((?!\[MASK\]|\|).)*\[MASK\]((?!\[MASK\]|\|).)*(\|((?!\[MASK\]|\|).)*\[MASK\]((?!\[MASK\]|\|).)*)*",
    right=_("sentences with one [MASK] each, separated by |"),
    help=_("Each with one [MASK], separated by |. If empty, invented sentences. Don't copy sentences of notes."),
)


TRANSFORMER = (
    Setting(
        "sub_words",
        _("Labels of sub-words"),
        "choice",
        choices={
            "first": _("the first of each word; the others don't count"),
            "every": _("every sub-word (Salierno et al. 2024)"),
            "rest": _("every sub-word; all but the first count less"),
        },
    ),
    Setting(
        "rest",
        _("Weight of later sub-words"),
        "number",
        least=0,
        most=1,
        help=_("Only if all but the first count less. If empty, 0.25."),
    ),
    CHUNKS,
    Setting(
        "decoding",
        _("Choice of tags"),
        "choice",
        choices={
            "path": _("best sequence of valid tags"),
            "argmax": _("likeliest tag of each word (Salierno et al. 2024)"),
        },
    ),
    *BATCHES,
    Setting(
        "checkpoints",
        _("Keep a model of each epoch"),
        "switch",
        help=_("They are named NAME-epoch-1 and so on. Each takes as much room as the model."),
    ),
    Setting(
        "keep_language",
        _("Keep the pre-trained weights as a model"),
        "switch",
        help=_("A masked language model named NAME-language, from which other trainings can start."),
    ),
    PROBE,
)


TRAINABLE: dict[str, TrainableKind] = {
    "crf": TrainableKind(
        title="CRF",
        factory="models_runtime.backends.crf.CrfBackend",
        child="models_runtime.backends.crf.child",
        format="deidreview-crf-1",
        algorithms={
            "lbfgs": _("L-BFGS: best model, takes minutes"),
            "ap": _("Averaged perceptron: almost as good, much faster"),
        },
    ),
    "spacy": TrainableKind(
        title="spaCy",
        factory="models_runtime.backends.spacy_ner.backend.SpacyBackend",
        child="models_runtime.backends.spacy_ner.child",
        format="deidreview-spacy-1",
        algorithms={
            "cnn": _("Convolutional network: takes about ten minutes"),
            "quick": _("Convolutional network, fewer epochs: almost as good, in less than half the time"),
        },
        needs="spacy",
        by_epoch=True,
        continues=True,
    ),
    "bilstm": TrainableKind(
        title="BiLSTM-CRF",
        factory="models_runtime.backends.bilstm_crf.backend.BiLstmCrfBackend",
        child="models_runtime.backends.bilstm_crf.child",
        format="deidreview-bilstm-crf-1",
        algorithms={
            "bilstm": _("Recurrent network with a CRF: takes half an hour on a CPU, minutes on a GPU"),
            "quick": _("Recurrent network with a CRF, fewer epochs"),
        },
        needs="torch",
        by_epoch=True,
        queue="gpu",
        continues=True,
        adapts=_("predicting the next character"),
        grouped=True,
    ),
    "transformer": TrainableKind(
        title=_("Transformer"),
        factory="models_runtime.backends.token_classification.trained.TransformerBackend",
        child="models_runtime.backends.token_classification.child",
        format="deidreview-transformer-1",
        algorithms={
            "weighted": _("Fine-tuning with more weight on rare labels; needs a GPU"),
            "plain": _("Fine-tuning with equal weight on every token; needs a GPU"),
            "fresh": _("Small untrained weights: high learning rate, many epochs"),
        },
        needs="transformers",
        by_epoch=True,
        queue="gpu",
        based=True,
        continues=True,
        adapts=_("predicting masked tokens"),
        grouped=True,
        reads_all=True,
        starts_from=("masked",),
        settings=TRANSFORMER,
    ),
    "masked": TrainableKind(
        title=_("Masked language model"),
        factory="",
        child="models_runtime.backends.token_classification.masked_child",
        format="deidreview-masked-lm-1",
        algorithms={"masked": _("Predicting masked tokens, from weights in a folder; needs a GPU")},
        needs="transformers",
        by_epoch=True,
        queue="gpu",
        based=True,
        continues=True,
        reads_all=True,
        settings=(CHUNKS, *BATCHES, PROBE),
        predicts=False,
    ),
}


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

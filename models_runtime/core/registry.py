"""Registry of backends and of trainable kinds of models. Their code is imported on first use.

Texts are marked for translation here and translated where they are shown.
"""

from collections.abc import Mapping
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
    `marginals`: it gives the probability of each label at each token, so that it can read at a threshold.
    """

    title: str
    factory: str
    description: str
    queue: str = "cpu"
    needs: str = ""
    weights: str = ""
    marginals: bool = False


# The backend that reads the project's patient master. It needs each note's patient (models_runtime.core.known).
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


# The only method of an ensemble that is not a vote (domain.combining.merging): all suggestions of finished runs.
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
    marginals=True,
)


# Not in BACKENDS: a tagger of Flair needs a mapping of its labels.
FLAIR = "flair"


FLAIR_KIND = BackendKind(
    title=_("Flair taggers"),
    factory="models_runtime.backends.flair.backend.FlairBackend",
    description=_("Taggers of Flair, converted to folders in DEIDREVIEW_DATA/weights, safetensors only."),
    queue="gpu",
    needs="torch",
    marginals=True,
)


# Not in BACKENDS: a zero-shot model needs words for each label of the project.
GLINER = "gliner"


GLINER_KIND = BackendKind(
    title=_("Zero-shot models"),
    factory="models_runtime.backends.gliner.backend.GlinerBackend",
    description=_("GLiNER models that find what you describe: folders in DEIDREVIEW_DATA/weights, safetensors only."),
    queue="gpu",
    needs="transformers",
)


# Not in BACKENDS: a model on another server needs a mapping of its labels.
REMOTE = "remote"


REMOTE_KIND = BackendKind(
    title=_("Remote models"),
    factory="models_runtime.backends.remote.backend.RemoteBackend",
    description=_("Models on servers that the administrator listed, by the protocols of INCEpTION and Label Studio."),
    queue="llm",
    # A library for HTTP, which comes with openai.
    needs="httpx2",
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
RELEXICALIZER = "models_runtime.backends.llm.relexicalizing.Relexicalizer"


# An agent that decides about the annotations of others with a language model and tools. Not a backend.
LLM_AGENT = "models_runtime.backends.refining.agent.agent_at"

# Makes the connection to a model of a listed server.
COMPLETION = "models_runtime.backends.llm.backend.completion_of"


# Decides about the annotations of others without a language model. Not a backend either.
OFFLINE_AGENT = "models_runtime.backends.refining.offline.OfflineAgent"

# What an agent knows about an annotation by fixed rules.
VALIDATORS = "models_runtime.backends.refining.validators.validate"


CASE = "models_runtime.backends.llm.judging.Case"


# Backends with their own start page.
SET_UP = {
    LLM: LLM_KIND,
    PIPELINE: PIPELINE_KIND,
    TAGGER: TAGGER_KIND,
    FLAIR: FLAIR_KIND,
    GLINER: GLINER_KIND,
    REMOTE: REMOTE_KIND,
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
    """A kind of model that can be trained. `factory(path=FILE)` loads a trained model; `child` is run with `python -m`.

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
    child: str
    format: str
    algorithms: dict[str, str]
    needs: str = ""
    by_epoch: bool = False
    queue: str = "cpu"
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


SEED = Setting("seed", _("Seed"), "whole", least=0, most=2**31 - 1, help=_("7 if empty."))


# Kinds with this setting take the tags of the rules as features, unless it is off.
RULES = Setting(
    "rules",
    _("Rules as features"),
    "switch",
    help=_("Yes if empty. Choose no for an ensemble in which the rules vote as well."),
)


# What the training notes are changed to: see models_runtime.backends.augmenting, which knows these keys.
HEADER_DROPOUT = Setting(
    "header_dropout",
    _("Header dropout"),
    "number",
    least=0,
    most=1,
    help=_("Share of the training notes that lose their header, drawn by chance; 0 if empty."),
)
SURROGATES = Setting(
    "surrogates",
    _("Copies with surrogates"),
    "whole",
    least=0,
    most=5,
    help=_("Copies of each training note with surrogates in place of identifiers; 0 if empty."),
)


# A model with this setting has the vectors of a trained language model as features.
LANGUAGE_MODEL = Setting(
    "characters",
    _("Character language model"),
    "text",
    most=100,
    help=_("A character language model of this project. Its vectors become features; reading takes longer."),
)


# The keys are those of models_runtime.backends.stacked.training.Hyperparameters.
STACKED = (
    Setting(
        "embeddings",
        _("Embeddings"),
        "text",
        most=400,
        help=_(
            "Files in the folder for embeddings, and character language models, with commas. If empty, the project's "
            "newest language model that has not read the held-out notes."
        ),
    ),
    Setting("batch", _("Sequences in a batch"), "whole", least=1, most=256),
    Setting("hidden", _("Width of each LSTM"), "whole", least=1, most=2048, help=_("256 if empty.")),
    Setting("layers", _("LSTM layers"), "whole", least=1, most=4, help=_("1 if empty.")),
    Setting("rate", _("Learning rate"), "number", least=0.0001, most=10, help=_("0.1 if empty.")),
    Setting(
        "least_rate",
        _("Smallest learning rate"),
        "number",
        least=0.0000001,
        most=10,
        help=_("Training ends below this rate; 0.0001 if empty."),
    ),
    Setting("factor", _("Annealing factor"), "number", least=0.01, most=0.99, help=_("0.5 if empty.")),
    Setting(
        "patience",
        _("Patience"),
        "whole",
        least=1,
        most=100,
        help=_("Epochs without a lower loss, after which the rate falls; 3 if empty."),
    ),
    Setting(
        "anneal",
        _("Loss that must fall"),
        "choice",
        choices={"training": _("on the training notes"), "held-out": _("on the held-out notes")},
        help=_("On the training notes if empty, so that scores on held-out notes stay unbiased."),
    ),
    Setting("clip", _("Largest norm of the gradient"), "number", least=0.01, most=1000, help=_("5 if empty.")),
    Setting("word_dropout", _("Word dropout"), "number", least=0, most=0.9, help=_("0.05 if empty.")),
    Setting("dropout", _("Variational dropout"), "number", least=0, most=0.9, help=_("0.5 if empty.")),
    Setting("reprojection", _("Reprojection layer"), "switch"),
    Setting("lstm", _("LSTM layer"), "switch"),
    Setting("crf", _("CRF layer"), "switch"),
    Setting(
        "vocabulary",
        _("Words kept in the model"),
        "whole",
        least=0,
        most=1_000_000,
        help=_("The first words of each file, beside those of the notes; 50,000 if empty."),
    ),
    SEED,
)


# The keys are those of models_runtime.backends.characters.training.Hyperparameters.
LANGUAGE = (
    Setting("width", _("Width of each LSTM"), "whole", least=8, most=2048),
    Setting("rate", _("Learning rate"), "number", least=0.000001, most=1),
    Setting("batch", _("Characters in a batch"), "whole", least=256, most=1_000_000, help=_("4,096 if empty.")),
    SEED,
)


BATCHES = (
    Setting("rate", _("Learning rate"), "number", least=1e-7, most=0.1),
    Setting(
        "batch",
        _("Sequences in a batch"),
        "whole",
        least=1,
        most=1024,
        help=_(
            "The effective batch of one update. If empty, as many as have a set number of sub-words together, fewer "
            "in small trainings."
        ),
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
        # crfsuite can't continue from weights. See models_runtime.backends.crf.training.
        continues=_("its spans, as features"),
        settings=(RULES, HEADER_DROPOUT, SURROGATES),
        marginals=True,
        self_trains=True,
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
        settings=(RULES, HEADER_DROPOUT, SURROGATES),
    ),
    "bilstm": TrainableKind(
        title=_("BiLSTM-CRF with features and rules"),
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
        adapts=_("predicting the next character"),
        grouped=True,
        settings=(RULES, SEED, LANGUAGE_MODEL, HEADER_DROPOUT, SURROGATES),
        marginals=True,
        self_trains=True,
    ),
    "stacked": TrainableKind(
        title=_("BiLSTM-CRF with stacked embeddings"),
        factory="models_runtime.backends.stacked.backend.StackedBackend",
        child="models_runtime.backends.stacked.child",
        format="deidreview-stacked-1",
        algorithms={
            "sgd": _("Batches of 4 sequences, as in Catelli 2021, table 3.6; may take hours"),
            "sgd-16": _("Batches of 16 sequences, as in Catelli 2021, tables 3.8 and 3.10"),
        },
        needs="torch",
        by_epoch=True,
        queue="gpu",
        grouped=True,
        stacked=True,
        marginals=True,
        settings=STACKED,
    ),
    CHARACTERS: TrainableKind(
        title=_("Character language model"),
        factory="",
        child="models_runtime.backends.characters.child",
        format="deidreview-characters-1",
        algorithms={
            "narrow": _("Two LSTMs of width 128: takes minutes on a CPU"),
            "wide": _("Two LSTMs of width 1024, as Flair's; needs a GPU"),
        },
        needs="torch",
        by_epoch=True,
        queue="gpu",
        settings=LANGUAGE,
        predicts=False,
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
        adapts=_("predicting masked tokens"),
        grouped=True,
        reads_all=True,
        starts_from=("masked",),
        settings=TRANSFORMER,
        marginals=True,
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
        reads_all=True,
        settings=(CHUNKS, *BATCHES, PROBE),
        predicts=False,
    ),
}


def has_rule_features(backend: str, settings: Mapping[str, object]) -> bool:
    """Whether models of this kind, trained with these settings, have the tags of the rules as features."""
    return RULES in trainable_kind(backend).settings and bool(settings.get(RULES.key, True))


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

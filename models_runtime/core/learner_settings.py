"""The settings of each kind of model that can be trained. Texts are marked for translation, translated where shown."""

from django.utils.translation import gettext_noop as _

from models_runtime.core.training_settings import Setting

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


FEATURED = (RULES, HEADER_DROPOUT, SURROGATES)
BILSTM = (RULES, SEED, LANGUAGE_MODEL, HEADER_DROPOUT, SURROGATES)


# The keys are those of models_runtime.backends.bilstm_crf.training.Hyperparameters.
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


# The keys are those of models_runtime.backends.characters.Hyperparameters.
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


MASKED = (CHUNKS, *BATCHES, PROBE)

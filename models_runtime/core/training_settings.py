"""Settings of a training that one kind of model has and others don't: their types, bounds and names.

A kind lists its settings in the registry. The form, the command, the model's page and the learner all read that list,
so a new setting is an entry there and a line in the learner.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from annotations.core.services import ServiceError

Value = int | float | str | bool
# Values that a command accepts for a switch.
YES: Final = ("yes", "true", "1", "on")
NO: Final = ("no", "false", "0", "off")


@dataclass(frozen=True)
class Setting:
    """One setting. `label` and `help` are marked for translation where they are written, and translated where shown.

    `kind`: a whole number or a number from `least` to `most`, one of `choices` (key to name), a switch, or a text of
    at most `most` characters. A setting that is not given has the default of the algorithm. `pattern`: what a text must
    match as a whole, and `right`: the same in words.
    """

    key: str
    label: str
    kind: Literal["whole", "number", "choice", "switch", "text"]
    least: float = 0
    most: float = 0
    choices: Mapping[str, str] | None = None
    help: str = ""
    pattern: str = ""
    right: str = ""


def whole(key: str, label: str, least: int, most: int, help: str = "") -> Setting:
    """Return the setting of a whole number from `least` to `most`."""
    return Setting(key, label, "whole", least, most, help=help)


def number(key: str, label: str, least: float, most: float, help: str = "") -> Setting:
    """Return the setting of a number from `least` to `most`."""
    return Setting(key, label, "number", least, most, help=help)


def switch(key: str, label: str, help: str = "") -> Setting:
    """Return the setting of a switch."""
    return Setting(key, label, "switch", help=help)


def checked(settings: Sequence[Setting], given: Mapping[str, object], *, title: str) -> dict[str, Value]:
    """Return the given values with their types; empty ones are left out. `title` names the kind of model in errors.

    Values may be texts, as a form or a command has them. Raises ServiceError with the setting's key as its code, or
    `settings` for an unknown key.
    """
    known = {setting.key: setting for setting in settings}
    found: dict[str, Value] = {}
    for key, value in given.items():
        if key not in known:
            raise ServiceError(
                gettext("%(title)s has no setting “%(key)s”. Its settings: %(choices)s.")
                % {"title": gettext(title), "key": key, "choices": ", ".join(known) or gettext("none")},
                code="settings",
            )
        if value is not None and value != "":
            found[key] = _value(known[key], value)
    return found


def key_values(words: Sequence[str]) -> dict[str, str]:
    """Read the values of a command's --set. Raises ServiceError `set` for one without a key, and for a repeated key."""
    found: dict[str, str] = {}
    for word in words:
        key, sign, value = word.partition("=")
        if not sign or not key or key in found:
            raise ServiceError(f"--set takes KEY=VALUE, each key once, not “{word}”.", code="set")
        found[key] = value
    return found


def setting_texts(settings: Sequence[Setting], values: Mapping[str, Value]) -> list[tuple[str, str]]:
    """Return the label and the value of each setting that was given, as texts for people."""
    return [
        (gettext(setting.label), _text(setting, values[setting.key])) for setting in settings if setting.key in values
    ]


def _text(setting: Setting, value: Value) -> str:
    if setting.kind == "choice":
        return gettext((setting.choices or {}).get(str(value), str(value)))
    if setting.kind == "switch":
        return gettext("yes") if value else gettext("no")
    return str(value)


def _value(setting: Setting, value: object) -> Value:
    text = str(value).strip()
    if setting.kind == "switch":
        if text.lower() in YES:
            return True
        if text.lower() in NO:
            return False
        raise _wrong(setting, text, gettext("yes or no"))
    if setting.kind == "choice":
        choices = setting.choices or {}
        if text not in choices:
            raise _wrong(setting, text, ", ".join(choices))
        return text
    if setting.kind == "text":
        if len(text) > setting.most:
            raise _wrong(setting, text[:40], gettext("at most %(most)d characters") % {"most": setting.most})
        if setting.pattern and not re.fullmatch(setting.pattern, text):
            raise _wrong(setting, text[:40], gettext(setting.right))
        return text
    return _number(setting, text)


def _number(setting: Setting, text: str) -> int | float:
    bounds = gettext("from %(least)s to %(most)s") % {"least": f"{setting.least:g}", "most": f"{setting.most:g}"}
    if len(text) > 20:
        raise _wrong(setting, text[:20], bounds)
    try:
        number: int | float = int(text) if setting.kind == "whole" else float(text)
    except ValueError:
        raise _wrong(setting, text, bounds) from None
    if not setting.least <= number <= setting.most:  # Also refuses NaN.
        raise _wrong(setting, text, bounds)
    return number


def _wrong(setting: Setting, text: str, right: str) -> ServiceError:
    return ServiceError(
        gettext("%(label)s can't be “%(value)s”. It must be: %(right)s.")
        % {"label": gettext(setting.label), "value": text, "right": right},
        code=setting.key,
    )


# The settings of each kind of model that can be trained. Texts are marked for translation, translated where shown.


SEED = whole("seed", _("Seed"), 0, 2**31 - 1, _("7 if empty."))


# Kinds with this setting take the tags of the rules as features, unless it is off.
RULES = switch(
    "rules", _("Rules as features"), _("Yes if empty. Choose no for an ensemble in which the rules vote as well.")
)


# What the training notes are changed to: see models_runtime.backends.augmenting, which knows these keys.
HEADER_DROPOUT = number(
    "header_dropout",
    _("Header dropout"),
    0,
    1,
    _("Share of the training notes that lose their header, drawn at random; 0 if empty."),
)
SURROGATES = whole(
    "surrogates",
    _("Copies with surrogates"),
    0,
    5,
    _("Copies of each training note with surrogates in place of identifiers; 0 if empty."),
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
            "Files in the folder for embeddings, and character language models, separated by commas. If empty, the "
            "project's newest language model that has not read the held-out notes."
        ),
    ),
    whole("batch", _("Sequences in a batch"), 1, 256),
    whole("hidden", _("Hidden size of each LSTM"), 1, 2048, _("256 if empty.")),
    whole("layers", _("LSTM layers"), 1, 4, _("1 if empty.")),
    number("rate", _("Learning rate"), 0.0001, 10, _("0.1 if empty.")),
    number(
        "least_rate",
        _("Smallest learning rate"),
        0.0000001,
        10,
        _("Training ends below this learning rate; 0.0001 if empty."),
    ),
    number("factor", _("Annealing factor"), 0.01, 0.99, _("0.5 if empty.")),
    whole("patience", _("Patience"), 1, 100, _("Epochs without a lower loss before the rate is reduced; 3 if empty.")),
    Setting(
        "anneal",
        _("Monitored loss"),
        "choice",
        choices={"training": _("on the training notes"), "held-out": _("on the held-out notes")},
        help=_("On the training notes if empty, so that scores on held-out notes stay unbiased."),
    ),
    number("clip", _("Maximum gradient norm"), 0.01, 1000, _("5 if empty.")),
    number("word_dropout", _("Word dropout"), 0, 0.9, _("0.05 if empty.")),
    number("dropout", _("Variational dropout"), 0, 0.9, _("0.5 if empty.")),
    switch("reprojection", _("Reprojection layer")),
    switch("lstm", _("LSTM layer")),
    switch("crf", _("CRF layer")),
    whole(
        "vocabulary",
        _("Words kept in the model"),
        0,
        1_000_000,
        _("The first words of each file, beside those of the notes; 50,000 if empty."),
    ),
    SEED,
)


# The keys are those of models_runtime.backends.characters.Hyperparameters.
LANGUAGE = (
    whole("width", _("Hidden size of each LSTM"), 8, 2048),
    number("rate", _("Learning rate"), 0.000001, 1),
    whole("batch", _("Characters in a batch"), 256, 1_000_000, _("4,096 if empty.")),
    SEED,
)


BATCHES = (
    number("rate", _("Learning rate"), 1e-7, 0.1),
    whole(
        "batch",
        _("Sequences in a batch"),
        1,
        1024,
        _(
            "The effective batch of one update. If empty, as many as have a set number of sub-words together, fewer "
            "in small trainings."
        ),
    ),
    whole(
        "accumulation",
        _("Gradient accumulation"),
        1,
        1024,
        _("Compute each batch in this many parts, to save memory. The effective batch stays the same."),
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
    number("rest", _("Weight of later sub-words"), 0, 1, _("Only if all but the first count less. If empty, 0.25.")),
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
    switch(
        "checkpoints",
        _("Keep a model of each epoch"),
        _("They are named NAME-epoch-1 and so on. Each takes as much disk space as the model."),
    ),
    switch(
        "keep_language",
        _("Keep the pre-trained weights as a model"),
        _("A masked language model named NAME-language, from which other trainings can start."),
    ),
    PROBE,
)


MASKED = (CHUNKS, *BATCHES, PROBE)

"""The types of a trained model's card and parameters, with the keys as stored."""

from typing import NotRequired

from typing_extensions import TypedDict

from annotations.scores.rules.intervals import FewNotes
from annotations.scores.rules.operating import OperatingPoint
from annotations.scores.rules.rates import RatesData
from annotations.scores.rules.table import FullyMasked
from models_runtime.backends.learner import EmbeddingData, TokenFigures


class LabelRates(RatesData):
    """Scores of exact spans of a label; cards of older models lack `fully_masked`."""

    label: str
    category: str
    fully_masked: NotRequired[FullyMasked]


class HeldOutLevel(TypedDict):
    """Scores of exact spans at one granularity."""

    granularity: str
    micro: RatesData


class HeldOutScores(TypedDict):
    """Scores of a model on held-out notes: exact spans (also by label) and characters.

    `tokens` are the scores of tokens at the same levels. `rules_f1`: F1 of exact spans by label of the built-in rules
    on the same notes; None for a label set that they don't know. `few_notes` is the interval of the F1 of exact spans
    on few notes. `thresholds` are the figures without and at each masking threshold, for a model that gives
    probabilities. Cards of older models lack all four.
    """

    notes: int
    few_notes: NotRequired[FewNotes | None]
    levels: list[HeldOutLevel]
    tokens: NotRequired[list[HeldOutLevel]]
    labels: list[LabelRates]
    characters: RatesData
    rules_f1: NotRequired[float | None]
    thresholds: NotRequired[list[OperatingPoint]]


class OtherVersion(TypedDict):
    """A gold version of another project from which a model learned: the project's id, the version, counts of notes.

    `left_out`: training notes with the text of a held-out note of another version. `no_label`: spans whose label has no
    counterpart. `erased`: notes of the version that had been erased when the training began.
    """

    project: int
    gold: int
    gold_hash: str
    notes: int
    spans: int
    held_out: int
    left_out: int
    no_label: int
    erased: int


class WantedEmbedding(TypedDict):
    """A part of a stack of embeddings, as requested: a file, or a language model of the project by its id."""

    name: str
    model: NotRequired[int]


class EpochFigures(TypedDict):
    """Figures of held-out notes after an epoch: exact spans (F1), tokens, and sub-words if all of them are labeled."""

    f1: float | None
    tokens: TokenFigures | None
    pieces: TokenFigures | None


class FilledMask(TypedDict):
    """A sentence of the fill-mask probe: its likeliest words with probabilities, before and after the training."""

    sentence: str
    before: list[tuple[str, float]]
    after: list[tuple[str, float]]


class Refit(TypedDict):
    """A training repeated on all notes but test notes, once the hold-out had chosen the iterations.

    `iterations`: those of the model in the file. `held_out_sha256`: the file of the model that the scores belong to.
    """

    notes: int
    spans: int
    iterations: int
    held_out_sha256: str


class SelfTraining(TypedDict):
    """What a model learned from notes without gold, with labels of models.

    `run`: the run whose labels were those of the first round, `models`: the models behind it. `read`: notes that were
    labeled. `notes`: those with a sure line, in each round; a second round without any leaves the labels of the first.
    `spans`: those of the last round. `weight`: that of these notes; gold has 1. `documents`: the notes of both rounds.
    """

    run: str
    models: list[str]
    read: int
    notes: list[int]
    spans: int
    weight: float
    documents: list[int]


class WantedRun(TypedDict):
    """The run with whose labels a self-training begins: its id, and its name when the training started."""

    run: int
    name: str


class Silver(TypedDict):
    """What a model learned from silver data: the author's name, and the notes, which nobody had reviewed."""

    author: str
    spans: int
    documents: list[int]


class WantedSilver(TypedDict):
    """The author whose annotation sets are a training's silver data: its id, and its name."""

    author: int
    name: str


class ModelCard(TypedDict, total=False):
    """A model's training data and scores. During training, only figures of its epochs are present."""

    # The gold: version number and hash, notes, split.
    gold: int
    gold_hash: str
    seed: str
    split_of_version: bool
    # The seed of the version's own split during the training; empty if it had none. Its test notes were left out.
    split: str
    notes: int
    spans: int
    held_out: int
    held_out_notes: list[int]
    # The seed of a hold-out that was drawn for this training, from train and dev notes together.
    random_split: int
    # Notes without gold from which the model learned, too. They are in none of the other counts.
    self_training: SelfTraining
    silver: Silver
    # Counts are of all versions together. `also`: gold versions of other projects. `languages`: those of all versions.
    also: list[OtherVersion]
    languages: list[str]
    erased: int
    # The training. `adapted`: the loss of each epoch of language pre-training.
    label_set: str
    labels: list[str]
    algorithm: str
    base: str
    language: str
    adapted: list[float]
    embeddings: list[EmbeddingData]
    # Figures by epoch: of held-out notes; `adapted_held_out` is the loss there after each epoch of `adapted`.
    epochs: list[EpochFigures]
    # Recall and precision of marked characters (CRF: of tokens) of held-out notes after each iteration.
    hold_out_masking: list[tuple[float, float]]
    adapted_held_out: list[float]
    # Of a masked language model, or of language pre-training: the loss on held-out notes before it, and its probe.
    held_out_before: float
    probe: list[FilledMask]
    # Of a model that a training kept besides its own: the id of that one, and the epoch after which this is its state.
    made_with: int
    epoch: int
    # Of a language model: the loss on held-out notes after each epoch, and the number of notes outside the version.
    held_out_losses: list[float]
    unlabeled: int
    iterations: int
    # The model in the file learned from the hold-out, too. `notes`, `spans`, `iterations`, `losses` and all figures are
    # those of the held-out model. During the training: the losses of the refit so far, and the iterations it will have.
    refit: Refit
    refit_losses: list[float]
    refit_most: int
    # Of an uploaded model that was refitted: how many of its notes had chosen the iterations.
    refit_elsewhere: int
    seconds: float
    device: str
    memory: int
    scores: HeldOutScores | None
    # The file.
    format: str
    sha256: str
    date: str
    uploaded: bool


class TrainingParams(TypedDict, total=False):
    """The requested parameters of a training. Missing ones have the default of the algorithm."""

    algorithm: str
    iterations: int
    grouping: int
    language: str
    adapt: int
    also: list[int]
    # Learn from the hold-out too, once it has chosen the iterations.
    refit: bool
    self_training: WantedRun
    silver: WantedSilver
    base: str
    base_model: int
    settings: dict[str, int | float | str | bool]
    embeddings: list[WantedEmbedding]
    # The seed with which this training draws a hold-out of its own, from train and dev notes together.
    random_split: int
    # The first model of a group that was started together, with different seeds or as an ablation.
    group: int
    variant: str


def parts_of(params: TrainingParams) -> set[int]:
    """Return the ids of the models whose weights a training takes over: its starting model, and language models."""
    used = {embedding["model"] for embedding in params.get("embeddings", []) if "model" in embedding}
    return used | ({params["base_model"]} if "base_model" in params else set())

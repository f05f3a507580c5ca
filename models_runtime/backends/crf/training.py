"""Training of a CRF: L-BFGS with elastic net (best), or averaged perceptron (fast, for review rounds).

crfsuite can neither continue a training nor end one early. A training that was killed starts again. One that starts
from a model (strategy EN-IT of Catelli 2021, section 3.3) takes the earlier model's spans as features instead (the
method PRED of Daumé III 2007), and its file contains that model.
"""

import ctypes
import tempfile
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import repeat
from pathlib import Path
from typing import Any, Final

import pycrfsuite

from annotations.text.bio import OUTSIDE, encode_tokens
from annotations.text.spans import Bounds, Span
from models_runtime.backends.augmenting import augmented
from models_runtime.backends.base import BackendError
from models_runtime.backends.crf.backend import CrfBackend
from models_runtime.backends.crf.features import Column, Family, Features, families
from models_runtime.backends.crf.model import FORMAT, MOST_STAGES, WEIGHTS, Card, load_model, save, scaled
from models_runtime.backends.epochs import rounded
from models_runtime.backends.learner import Learner, Report, Step, TrainingTask, labels_of, opens
from models_runtime.backends.marginals import WEIGHT
from models_runtime.backends.notes import learn as learn_words
from models_runtime.backends.notes import pieces, read, sure_pieces
from models_runtime.backends.rule_tags import FeatureRules, rules_for

# A table of computed values with more entries loses the oldest, which bounds memory. Notes have many repeated words.
MOST: Final = 1 << 14

# Features in the form that crfsuite needs for training: UTF-8 strings for each token.


Spelled = list[list[bytes]]


class Rows:
    """Makes the feature strings of tokens. Strings are cached."""

    def __init__(self, families: Iterable[Family]) -> None:
        self._tables = [(family, lru_cache(MOST)(_speller(family))) for family in families]

    def of(self, columns: Sequence[Column], size: int) -> list[list[bytes]]:
        """The features of each of `size` tokens, family by family."""
        by_shift: list[list[list[bytes]]] = []
        for (family, spelled_of), column in zip(self._tables, columns, strict=True):
            found = list(map(spelled_of, family.reach(column, size)))
            for index, shift in enumerate(family.shifts):
                first = shift - family.shifts[0]
                by_shift.append([spelled[index] for spelled in found[first : first + size]])
        return [[feature for some in each for feature in some] for each in zip(*by_shift, strict=True)]


def _speller(family: Family) -> Callable[[Hashable], Spelled]:
    return lambda key: [[feature.encode() for feature in some] for some in family.spell(key)]


ALGORITHMS: Final[dict[str, dict[str, Any]]] = {
    # c1 and c2 were chosen on MEDDOCAN train by cross-validation.
    "lbfgs": {"c1": 0.05, "c2": 0.01, "max_iterations": 100, "feature.possible_transitions": True},
    "ap": {"max_iterations": 15, "feature.possible_transitions": True},
}
# A perceptron's weights are not log probabilities. They are scaled down so that probabilities can be computed.
UNSCALED: Final = ("ap",)
# crfsuite's groups of sequences: those that it learns from, and those that it scores each iteration on.
TRAINING: Final = 0
HELD_OUT: Final = 1
# crfsuite has no weights of sequences. With self-labeled notes, each gold note counts this often, and the penalties are
# multiplied by the same number: the optimum is that of self-labeled notes with the weight WEIGHT.
TIMES: Final = round(1 / WEIGHT)


def learn(task: TrainingTask, path: Path) -> str:
    """Train, write the model to `path` and return its sha256.

    The lexicon is learned from the unlabeled notes too. With `task.base`, the labels of the earlier model stay: spans
    with labels that these notes lack come from the earlier model. If the task chooses, each iteration is measured on
    the held-out notes; crfsuite writes the weights of the last one only. Self-labeled notes count WEIGHT as much as
    gold notes. Deterministic: the same notes in the same order give the same file. Raises BackendError (permanent) for
    notes without spans, an unknown algorithm, or a base with MOST_STAGES stages.
    """
    algorithm = task.algorithm or next(iter(ALGORITHMS))
    if algorithm not in ALGORITHMS:
        raise BackendError(
            "There is no algorithm “{algorithm}”. Choose one of: {algorithms}.", algorithm, ", ".join(ALGORITHMS)
        )
    base = Path(task.base) if task.base else None
    earlier = CrfBackend(str(base)) if base else None
    if base and load_model(base).stages >= MOST_STAGES:
        raise BackendError(
            "The starting model has {most} stages already, which is the maximum. Choose an earlier one.", MOST_STAGES
        )
    notes, held_out = augmented(task).notes, task.held_out if task.choose else ()
    labels = labels_of(notes, earlier.labels if earlier else ())
    most = task.stop_after or task.iterations
    params = ALGORITHMS[algorithm] | ({"max_iterations": most} if most else {})
    times = TIMES if task.self_labeled else 1
    params |= {name: times * params[name] for name in ("c1", "c2") if name in params}
    lexicon = learn_words([*(text for text, _ in notes), *task.unlabeled])
    rules = rules_for(task.label_set, used=task.settings.get("rules", True))
    rows = Rows(families(lexicon, staged=earlier is not None))
    trainer = _Trainer(algorithm, params, task.report)
    known: set[str] = set()
    for group, part in ((TRAINING, notes), (HELD_OUT, held_out)):
        suggested: Iterable[list[Span] | None] = repeat(None)
        if earlier is not None:
            suggested = earlier.stream(text for text, _ in part)
        for (text, spans), before in zip(part, suggested, strict=False):
            for xseq, yseq in _sequences(text, spans, rules, rows, before):
                if group == TRAINING:
                    known.update(yseq)
                # A tag that only held-out notes have would become a tag of the model.
                for _ in range(times if group == TRAINING else 1):
                    trainer.append(xseq, [tag if tag in known else OUTSIDE for tag in yseq], group)
    for each in task.self_labeled:
        before = earlier.predict([each.text])[0] if earlier is not None else None
        for xseq, yseq in _sequences(each.text, each.spans, rules, rows, before, each.sure):
            if known.issuperset(yseq):  # Otherwise a stretch has a tag that no gold note has.
                trainer.append(xseq, yseq, TRAINING)
    with tempfile.TemporaryDirectory() as folder:
        weights = Path(folder) / WEIGHTS
        trainer.train(str(weights), HELD_OUT if held_out else -1)
        if algorithm in UNSCALED:
            weights.write_bytes(scaled(weights.read_bytes()))
        card = Card(task.label_set, labels, algorithm, len(task.notes), trainer.done, FORMAT, rules.label_set)
        return save(path, card, weights, lexicon, base)


def _sequences(
    text: str,
    spans: Sequence[Span],
    rules: FeatureRules,
    rows: Rows,
    earlier: Sequence[Span] | None,
    sure: Sequence[Bounds] | None = None,
) -> Iterable[tuple[Any, list[str]]]:
    """Sequences with tags. As in prediction, tokens are never split: a gold end inside a token moves to its end.

    `earlier`: the spans of the earlier model, None without one. `sure`: only sequences of these stretches.
    """
    note = read(text)
    if not note.tokens:
        return
    features = Features(note, rules.predict([text])[0], earlier)
    tags = encode_tokens(note.tokens, spans).tags
    for first, past in pieces(note) if sure is None else sure_pieces(note, sure):
        yield pycrfsuite.ItemSequence(rows.of(features.of(first, past), past - first)), tags[first:past]


def _masking(scores: Mapping[str, Any]) -> tuple[float, float]:
    """Recall and precision of labeled tokens, whatever their labels, from crfsuite's counts by tag."""
    outside = scores.get(OUTSIDE)
    labeled = [score for tag, score in scores.items() if tag != OUTSIDE]
    gold, predicted = sum(score.ref for score in labeled), sum(score.model for score in labeled)
    missed, wrong = (outside.model - outside.match, outside.ref - outside.match) if outside else (0, 0)
    return 1 - missed / gold if gold else 1.0, 1 - wrong / predicted if predicted else 1.0


class _Trainer(pycrfsuite.Trainer):  # type: ignore[misc]  # the class has no types
    """crfsuite's trainer. Exceptions from `report` are passed on by `train`."""

    def __init__(self, algorithm: str, params: dict[str, Any], report: Report) -> None:
        # crfsuite calls back only if it is verbose. The callbacks below print nothing.
        super().__init__(algorithm=algorithm, params=params, verbose=True)
        self._report = report
        self._most = int(params["max_iterations"])
        self.done = 0

    def train(self, weights: str, holdout: int = -1) -> None:
        """Train, with the order of the notes (of the perceptron) as in a new process: it comes from C's `rand`."""
        ctypes.CDLL(None).srand(1)
        super().train(weights, holdout)

    def _ignore(self, log: str) -> None:
        pass

    on_start = on_featgen_end = on_prepared = on_optimization_end = on_end = _ignore

    def on_featgen_progress(self, log: str, percent: float) -> None:
        self._report(Step(0, self._most, 0.0))

    def on_prepare_error(self, log: str) -> None:
        raise BackendError("crfsuite could not prepare the training data.")

    def on_iteration(self, log: str, info: dict[str, Any]) -> None:
        self.done = int(info["num"])
        recall, precision = _masking(info["scores"]) if info.get("scores") else (None, None)
        loss = float(info.get("loss", 0.0))
        self._report(Step(self.done, self._most, loss, recall=rounded(recall), precision=rounded(precision)))


def check(path: Path) -> dict[str, Any]:
    """Load a model, predict a sample with it and return the outline of its card. Raises BackendError (permanent)."""
    card: dict[str, Any] = opens(load_model, CrfBackend)(path)
    if load_model(path).has_rules:  # An earlier stage may have them.
        card.pop("rules", None)
    return card


LEARNER: Final = Learner(learn, check)

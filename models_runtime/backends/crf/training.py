"""Training of a CRF: L-BFGS with elastic net (best), or averaged perceptron (fast, for review rounds).

crfsuite can't continue from weights. A training that starts from a model (strategy EN-IT of Catelli 2021, section 3.3)
takes the earlier model's spans as features instead (the method PRED of Daumé III 2007), and its file contains that
model.
"""

import tempfile
from collections.abc import Iterable, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any, Final

import pycrfsuite

from annotations.domain.bio import encode_tokens
from annotations.domain.spans import Span
from models_runtime.backends.base import BackendError
from models_runtime.backends.crf.backend import CrfBackend
from models_runtime.backends.crf.features import Features, families
from models_runtime.backends.crf.model import MOST_STAGES, WEIGHTS, Card, load_model, save
from models_runtime.backends.crf.rows import Rows
from models_runtime.backends.crf.weights import scaled
from models_runtime.backends.learner import Report, Step, labels_of
from models_runtime.backends.notes.lexicon import learn
from models_runtime.backends.notes.note import read
from models_runtime.backends.notes.pieces import pieces
from models_runtime.backends.notes.rule_tags import rules_for
from models_runtime.backends.rules import RulesBackend

ALGORITHMS: Final[dict[str, dict[str, Any]]] = {
    # c1 and c2 were chosen on MEDDOCAN train by cross-validation.
    "lbfgs": {"c1": 0.05, "c2": 0.01, "max_iterations": 100, "feature.possible_transitions": True},
    "ap": {"max_iterations": 15, "feature.possible_transitions": True},
}
# A perceptron's weights are no log probabilities. They are scaled down so that probabilities can be computed.
UNSCALED: Final = ("ap",)


def train(
    notes: Sequence[tuple[str, Sequence[Span]]],
    path: Path,
    *,
    label_set: str,
    algorithm: str = "lbfgs",
    iterations: int | None = None,
    unlabeled: Iterable[str] = (),
    report: Report = lambda step: None,
    base: Path | None = None,
) -> str:
    """Train on texts with their gold spans, write the model to `path` and return its sha256.

    `unlabeled`: the project's other notes; the lexicon is learned from them too. `base`: the earlier model. Its labels
    stay: spans with labels that these notes lack come from the earlier model. Deterministic: the same notes in the same
    order give the same file. Raises BackendError (permanent) for notes without spans, an unknown algorithm, or a `base`
    with MOST_STAGES stages.
    """
    if algorithm not in ALGORITHMS:
        raise BackendError(
            f"There is no algorithm “{algorithm}”. Choose one of: {', '.join(ALGORITHMS)}.", permanent=True
        )
    earlier = CrfBackend(str(base)) if base else None
    if base and load_model(base).stages >= MOST_STAGES:
        raise BackendError(
            f"The starting model has {MOST_STAGES} stages already, which is the maximum. Choose an earlier one.",
            permanent=True,
        )
    labels = labels_of(notes, earlier.labels if earlier else ())
    params = ALGORITHMS[algorithm] | ({"max_iterations": iterations} if iterations else {})
    lexicon = learn([*(text for text, _ in notes), *unlabeled])
    rules, rows = rules_for(label_set), Rows(families(lexicon, staged=earlier is not None))
    trainer = _Trainer(algorithm, params, report)
    suggested: Iterable[list[Span] | None] = repeat(None)
    if earlier is not None:
        suggested = earlier.stream(text for text, _ in notes)
    for (text, spans), before in zip(notes, suggested, strict=False):
        for xseq, yseq in _sequences(text, spans, rules, rows, before):
            trainer.append(xseq, yseq)
    with tempfile.TemporaryDirectory() as folder:
        weights = Path(folder) / WEIGHTS
        trainer.train(str(weights))
        if algorithm in UNSCALED:
            weights.write_bytes(scaled(weights.read_bytes()))
        card = Card(label_set, labels, algorithm, rules.label_set, len(notes), trainer.done)
        return save(path, card, weights, lexicon, base)


def _sequences(
    text: str, spans: Sequence[Span], rules: RulesBackend, rows: Rows, earlier: Sequence[Span] | None
) -> Iterable[tuple[Any, list[str]]]:
    """Sequences with tags. As in prediction, tokens are never split: a gold end inside a token moves to its end.

    `earlier`: the spans of the earlier model, None without one.
    """
    note = read(text)
    if not note.tokens:
        return
    features = Features(note, rules.predict([text])[0], earlier)
    tags = encode_tokens(note.tokens, spans).tags
    for first, past in pieces(note):
        yield pycrfsuite.ItemSequence(rows.of(features.of(first, past), past - first)), tags[first:past]


class _Trainer(pycrfsuite.Trainer):  # type: ignore[misc]  # the class has no types
    """crfsuite's trainer. Exceptions from `report` are passed on by `train`."""

    def __init__(self, algorithm: str, params: dict[str, Any], report: Report) -> None:
        # crfsuite calls back only if it is verbose. The callbacks below print nothing.
        super().__init__(algorithm=algorithm, params=params, verbose=True)
        self._report = report
        self._most = int(params["max_iterations"])
        self.done = 0

    def on_start(self, log: str) -> None:
        pass

    def on_featgen_progress(self, log: str, percent: float) -> None:
        self._report(Step(0, self._most, 0.0))

    def on_featgen_end(self, log: str) -> None:
        pass

    def on_prepared(self, log: str) -> None:
        pass

    def on_prepare_error(self, log: str) -> None:
        raise BackendError("crfsuite could not prepare the training data.", permanent=True)

    def on_iteration(self, log: str, info: dict[str, Any]) -> None:
        self.done = int(info["num"])
        self._report(Step(self.done, self._most, float(info.get("loss", 0.0))))

    def on_optimization_end(self, log: str) -> None:
        pass

    def on_end(self, log: str) -> None:
        pass

"""The epoch with the best F1 on held-out notes: the network has exactly the weights after it, also after a kill."""

from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("spacy")

from models_runtime.backends.bilstm_crf import training as bilstm
from models_runtime.backends.files import card_of
from models_runtime.backends.learner import Step, TrainingTask, chosen
from models_runtime.backends.spacy_ner import training as spacy
from models_runtime.backends.token_classification import training
from models_runtime.backends.token_classification import training as transformer
from tests.backends.made import Killed, made_notes
from tests.backends.made_vectors import as_word2vec_text, made_vectors
from tests.backends.made_weights import tiny_bert

pytestmark = pytest.mark.usefixtures("small_networks", "small_spacy")
NOTES = made_notes(3)
HELD_OUT = made_notes(4)[3:]
# The second and the third epoch are equally good, so the second one is taken.
FIGURES = [0.2, 0.8, 0.8, 0.5]
BEST = 2


def bilstm_task(folder, **options):
    return bilstm.learn, TrainingTask(NOTES, "meddocan", "quick", 4, grouping=4, **options)


def spacy_task(folder, **options):
    return spacy.learn, TrainingTask(NOTES, "meddocan", "quick", 4, **options)


def stacked_task(folder, **options):
    words = as_word2vec_text(folder / "words.vec", made_vectors(["nombre", "dr", "madrid", "ingreso"]))
    shape = {"hidden": 16, "batch": 4, "vocabulary": 3}
    parts = {"embeddings": [["words", "words.vec", str(words)]], "embeddings_folder": str(folder)}
    return bilstm.learn_stacked, TrainingTask(NOTES, "meddocan", iterations=4, settings=shape, **parts, **options)


def transformer_task(folder, **options):
    base = folder / "bert"
    if not base.exists():
        tiny_bert(base, [text for text, _ in NOTES])
    return transformer.learn, TrainingTask(NOTES, "meddocan", "fresh", 4, base=str(base), **options)


@pytest.fixture
def figures(monkeypatch):
    """Give the epochs the F1 of FIGURES, whatever they learned."""
    scored: list[float] = []

    def after(number: int) -> float:
        scored.append(FIGURES[number])
        return FIGURES[number]

    owners = (bilstm._Training, spacy._Training, training.HeldOut)
    for owner, name in zip(owners, ("figures", "_figures", "figures"), strict=True):
        monkeypatch.setattr(owner, name, lambda self: {"f1": after(len(scored))})
    return scored


@pytest.mark.parametrize(
    ("masking", "best", "tolerant"),
    [
        ([(0.7, 0.95), (0.9, 0.92), (0.8, 0.99)], 2, 2),  # recall decides where precision is enough
        ([(0.7, 0.95), (0.99, 0.5), (0.8, 0.91)], 3, 3),
        ([(0.2, 0.5), (0.6, 0.6), (0.9, 0.1)], 2, 2),  # else F1
        ([(0.7, 0.95), (0.804, 0.92), (0.8, 0.99)], 2, 3),  # the last one, if it is hardly worse
        ([(0.8, 0.95), (0.8, 0.95)], 1, 2),
        ([], 0, 0),
    ],
)
def test_masking_chooses_the_iteration(masking, best, tolerant) -> None:
    steps = [Step(at, 9, 0.0, 1 / at, recall, precision) for at, (recall, precision) in enumerate(masking, 1)]
    assert (chosen(steps), chosen(steps, 0.005)) == (best, tolerant)


@pytest.mark.parametrize("make", [bilstm_task, spacy_task, stacked_task, transformer_task])
def test_the_weights_are_those_after_the_best_epoch(make, figures, tmp_path: Path) -> None:
    learn, stopped = make(tmp_path, stop_after=BEST)
    wanted = learn(stopped, tmp_path / "stopped.zip")
    figures.clear()
    steps: list[Step] = []

    def report(step: Step) -> None:
        if step.iteration:  # spaCy also reports its preparation.
            steps.append(step)
        if step.iteration == len(steps) == 4:
            raise Killed

    chosen = {"choose": True, "held_out": HELD_OUT, "checkpoint": tmp_path / "checkpoint"}
    learn, task = make(tmp_path, report=report, **chosen)
    with pytest.raises(Killed):
        learn(task, tmp_path / "chosen.zip")
    assert [step.f1 for step in steps] == FIGURES and not (tmp_path / "chosen.zip").exists()
    del figures[3:]  # The last epoch is repeated after the kill.
    assert learn(task, tmp_path / "chosen.zip") == wanted
    assert card_of(tmp_path / "chosen.zip")["iterations"] == BEST
    assert [step.f1 for step in steps[4:]] == FIGURES

"""A second training that starts from a model: one label space over both stages (EN-IT of Catelli 2021)."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from annotations.text.spans import Span
from models_runtime.backends import Backend, BackendError, characters
from models_runtime.backends.bilstm_crf import training as bilstm
from models_runtime.backends.bilstm_crf.backend import BiLstmCrfBackend
from models_runtime.backends.bilstm_crf.model import load_model
from models_runtime.backends.crf import CrfBackend
from models_runtime.backends.crf import training as crf
from models_runtime.backends.crf.model import MOST_STAGES
from models_runtime.backends.crf.model import load_model as load_crf
from models_runtime.backends.epochs import chosen
from models_runtime.backends.files import card_of
from models_runtime.backends.learner import Step, TrainingTask
from models_runtime.backends.spacy_ner import training as spacy
from models_runtime.backends.spacy_ner.backend import SpacyBackend
from models_runtime.backends.token_classification import training as transformer
from models_runtime.backends.token_classification.backend import TransformerBackend
from tests.backends.made import Killed, damaged, dies_at, made_notes, moved_notes
from tests.backends.made_vectors import as_word2vec_text, made_vectors
from tests.backends.made_weights import tiny_bert

pytest.importorskip("torch")
pytest.importorskip("spacy")


pytestmark = pytest.mark.usefixtures("small_networks", "small_spacy")
FIRST, SECOND = "FECHAS", "TERRITORIO"
SHARED = "NOMBRE_SUJETO_ASISTENCIA"
Learn = Callable[[TrainingTask, Path], str]


def notes(*labels: str, count: int = 10) -> list[tuple[str, list[Span]]]:
    return [(text, [span for span in spans if span.label in labels]) for text, spans in made_notes(count)]


@pytest.mark.parametrize(("learn", "backend", "iterations", "algorithm"), [
    (bilstm.learn, BiLstmCrfBackend, 9, "bilstm"), (spacy.learn, SpacyBackend, 8, "cnn"),
    (transformer.learn, TransformerBackend, 20, "fresh"),
])  # fmt: skip
def test_the_second_stage_knows_the_labels_and_the_weights_of_the_first(
    learn: Learn, backend: type[Backend], iterations: int, algorithm: str, tmp_path: Path
) -> None:
    first, second = tmp_path / "first.zip", tmp_path / "second.zip"
    folder = ""
    if learn is transformer.learn:
        folder = str(tiny_bert(tmp_path / "bert", [text for text, _ in made_notes(16)], ["O"], positions=128))
    learn(TrainingTask(notes(FIRST, SHARED), "meddocan", algorithm, iterations, base=folder), first)
    # The second notes end before the first date. One epoch is too little to learn anything from them alone.
    later = [
        (text[: text.index("Ingreso")], [span for span in spans if span.end < text.index("Ingreso")])
        for text, spans in notes(SHARED, SECOND)[:2]
    ]
    learn(TrainingTask(later, "meddocan", algorithm, 1, base=str(first)), second)
    made = backend(path=str(second))  # type: ignore[call-arg]  # the Protocol doesn't fix how a backend is made
    assert made.labels == tuple(sorted((FIRST, SECOND, SHARED)))
    text, gold = notes(FIRST, SHARED)[-1]
    found = made.predict([text])[0]
    assert set(gold) & set(found) and FIRST in {span.label for span in found}


def test_a_crf_takes_the_spans_of_the_first_stage_as_features_and_keeps_its_labels(tmp_path: Path) -> None:
    first, second = tmp_path / "first.zip", tmp_path / "second.zip"
    crf.learn(TrainingTask(notes(FIRST, SHARED), "meddocan", iterations=30), first)
    text = notes(FIRST, SHARED)[-1][0]
    crf.learn(TrainingTask(notes(SHARED)[:2], "meddocan", iterations=5, base=str(first)), second)

    one, two = CrfBackend(str(first)), CrfBackend(str(second))
    assert two.labels == tuple(sorted((FIRST, SHARED)))
    model = load_crf(second)
    assert (model.stages, model.trained_labels) == (2, {SHARED})
    assert any(name.startswith("p0=B-") for name in model.weights.features)
    found = two.predict([text])[0]
    # No note of the second training has a date with its label: those of the first model are kept.
    dates = [span for span in one.predict([text])[0] if span.label == FIRST]
    assert dates and [span for span in found if span.label == FIRST] == dates
    assert {span.source for span in found} == {f"crf-{model.revision[:8]}"} and two.predict([text] * 40) == [found] * 40


def test_a_crf_has_a_limited_number_of_stages_and_refuses_foreign_ones(tmp_path: Path) -> None:
    some = notes(SHARED)[:2]
    base = ""
    for stage in range(MOST_STAGES):
        path = tmp_path / f"{stage}.zip"
        crf.learn(TrainingTask(some, "meddocan", iterations=2, base=base), path)
        base = str(path)
    assert load_crf(path).stages == MOST_STAGES
    with pytest.raises(BackendError, match="has 4 stages already"):
        crf.learn(TrainingTask(some, "meddocan", iterations=2, base=base), tmp_path / "more.zip")

    crf.learn(TrainingTask(notes(SECOND)[:2], "meddocan", iterations=2), tmp_path / "other.zip")
    for earlier, words in (
        (path.read_bytes(), "it has more than 4 stages"),
        (b"no zip", "it can't be read"),
        ((tmp_path / "other.zip").read_bytes(), "earlier stage has labels that are missing"),
    ):
        with pytest.raises(BackendError, match=words):
            load_crf(damaged(path, tmp_path / "changed.zip", earlier__zip=earlier))


def test_a_bilstm_keeps_and_extends_its_words_and_its_language_model(tmp_path: Path) -> None:
    first, second = tmp_path / "first.zip", tmp_path / "second.zip"
    bilstm.learn(TrainingTask(notes(FIRST, count=3), "meddocan", "quick", 1, adapt=1, grouping=3), first)
    lead = "Zürich ££££ "
    other = [
        (lead + text, [Span(span.start + len(lead), span.end + len(lead), span.label) for span in spans])
        for text, spans in notes(SECOND, count=3)
    ]
    bilstm.learn(TrainingTask(other, "meddocan", "quick", 1, adapt=1, base=str(first)), second)
    # Without pre-training of its own, a training keeps the language model as it is.
    bilstm.learn(TrainingTask(other, "meddocan", "quick", 1, base=str(first)), tmp_path / "third.zip")
    one, two, three = map(load_model, (first, second, tmp_path / "third.zip"))
    assert one.vocabulary is not None and two.vocabulary is not None
    assert one.vocabulary.word.items() < two.vocabulary.word.items() and "zürich" in two.vocabulary.word
    (before,), (after,), (same,) = (model.stack.networks for model in (one, two, three))
    added = after.alphabet.removeprefix(before.alphabet)
    assert "£" in added and added != after.alphabet and two.card.grouped == one.card.grouped == 3
    assert same.table.weight.equal(before.table.weight)


# The epoch with the best F1 on held-out notes: the network has exactly the weights after it, also after a kill.


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

    for owner in (bilstm._TaggerTraining, spacy._PipelineLoop, transformer.HeldOut):
        monkeypatch.setattr(owner, "figures", lambda self: {"f1": after(len(scored))})
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
    assert learn(task, tmp_path / "chosen.zip") == wanted and card_of(tmp_path / "chosen.zip")["iterations"] == BEST
    assert [step.f1 for step in steps[4:]] == FIGURES


def masked_task(folder, **options):
    _learn, task = transformer_task(folder, **options)
    return transformer.learn_masked, replace(task, algorithm="masked")


def characters_task(folder, **options):
    texts = [(text, []) for text, _ in NOTES]
    return characters.learn, TrainingTask(texts, "", iterations=4, settings={"width": 16}, **options)


IN_ADVANCE = {"adapt": 2, "unlabeled": [text for text, _ in moved_notes(3)]}


@pytest.mark.parametrize(("make", "options", "epoch"), [
    (bilstm_task, IN_ADVANCE, 2), (transformer_task, IN_ADVANCE, 2), (spacy_task, {}, 2),
    (masked_task, {"held_out": HELD_OUT}, 2), (characters_task, {"held_out": HELD_OUT}, 3),
])  # fmt: skip
def test_a_killed_training_continues_and_gives_the_same_model(make, options, epoch, tmp_path: Path) -> None:
    """In language pre-training, if it has some. Damaged checkpoints and those of other tasks are ignored."""
    steps: list[Step] = []
    again: list[Step] = []
    learn, task = make(tmp_path, report=steps.append, **options)
    whole = learn(task, tmp_path / "whole.zip")
    checkpoint = tmp_path / "checkpoint"
    checkpoint.write_bytes(b"\xff" * 1000)
    for notes in (NOTES[:2], task.notes):
        killed = replace(task, notes=notes, checkpoint=checkpoint, report=dies_at(epoch, adapting="adapt" in options))
        with pytest.raises(Killed):
            learn(killed, tmp_path / "half.zip")
        assert not (tmp_path / "half.zip").exists()
        assert all(file.stat().st_mode & 0o077 == 0 for file in tmp_path.glob("checkpoint*") if file != checkpoint)
    assert learn(replace(killed, report=again.append), tmp_path / "again.zip") == whole
    assert [(step.adapting, step.iteration, step.held_out_loss) for step in again] == [
        (step.adapting, step.iteration, step.held_out_loss) for step in steps
    ]  # fmt: skip

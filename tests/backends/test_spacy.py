"""The spaCy backend: contract, training on invented notes, checkpoints, invalid files."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from annotations.text.bio import encode_tokens
from annotations.text.spans import Span
from models_runtime.backends import BackendError
from models_runtime.backends.learner import Step, TrainingTask
from models_runtime.backends.notes import read
from models_runtime.backends.rule_tags import rules_for
from models_runtime.backends.spacy_ner.backend import NoteEncoder, SpacyBackend
from models_runtime.backends.spacy_ner.network import Sizes, blank, entities, numbers, recognizer, to_bytes
from models_runtime.backends.spacy_ner.training import Hyperparameters, learn
from tests.backends.contract import PLAIN, BackendContract, key
from tests.backends.made import damaged, made_notes
from tests.zips import unzipped

pytestmark = pytest.mark.usefixtures("small_spacy")


def task_of(count: int, iterations: int, **more) -> TrainingTask:
    return TrainingTask(made_notes(count), "meddocan", iterations=iterations, language="es", **more)


@pytest.fixture(scope="module")
def path(small_spacy: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("spacy") / "model.zip"
    learn(task_of(12, 8), made)
    return made


@pytest.fixture(scope="module")
def loaded(path: Path) -> SpacyBackend:
    return SpacyBackend(str(path))


class TestSpacyContract(BackendContract):
    # A text with confident predictions at any position, although the first line of a note is a feature.
    words = made_notes(1)[0][0]


def test_it_learns_with_high_confidence(loaded: SpacyBackend, path: Path) -> None:
    text, spans = made_notes(1)[0]
    (found,) = loaded.predict([text])
    assert found == spans and all(span.source.startswith("spacy-") for span in found)
    assert max(span.confidence or 0 for span in found) > 0.5
    again = SpacyBackend(str(path))
    assert again.revision == loaded.revision and key(again.predict([text])[0]) == key(found)


def test_entities_are_those_of_spacy(loaded: SpacyBackend) -> None:
    """Our own decoding computes probabilities; its entities must be those of spaCy's."""
    text, encoder = "".join(text for text, _ in made_notes(12)) + PLAIN, loaded._encoder
    documents = encoder.note(text).documents(encoder.nlp)
    ours = [[(one.first, one.past, one.label) for one in stretch] for stretch in entities(loaded._ner, documents)]
    theirs = [[(ent.start, ent.end, ent.label_) for ent in doc.ents] for doc in encoder.nlp.pipe(documents)]
    assert ours == theirs and any(ours)


def test_a_gold_end_inside_a_token_moves_to_the_tokens_end() -> None:
    text = "GambiaHome fue a casa"
    nlp = blank("es", ["PAIS"], Sizes())
    (example,) = NoteEncoder(nlp, rules_for("meddocan"), {}).note(text).examples(nlp, [Span(0, 6, "PAIS")])
    assert [(ent.start, ent.end, ent.label_) for ent in example.y.ents] == [(0, 1, "PAIS")]
    assert encode_tokens(read(text).tokens, [Span(0, 6, "PAIS")]).tags[:2] == ["B-PAIS", "O"]


def test_no_word_of_a_note_enters_spacys_vocabulary(loaded: SpacyBackend) -> None:
    strings = loaded._encoder.nlp.vocab.strings
    before = len(strings)
    loaded.predict(["Paciente: Teodomiro Zzyzx, de Xalapa.\n"])
    assert len(strings) == before and "Zzyzx" not in strings


def test_an_early_end_keeps_the_complete_epochs_with_their_scores(tmp_path: Path) -> None:
    """Also in a language that spaCy lacks."""
    steps: list[Step] = []
    task = task_of(4, 9, held_out=made_notes(2), report=steps.append, should_stop=lambda: len(steps) > 2)
    learn(replace(task, language="tlh"), tmp_path / "short.zip")
    assert [(step.iteration, type(step.f1)) for step in steps] == [(0, type(None)), (1, float), (2, float)]
    assert steps[-1].loss < steps[1].loss and json.loads(card(tmp_path / "short.zip"))["iterations"] == 2
    SpacyBackend(str(tmp_path / "short.zip")).predict([PLAIN])


def test_few_notes_give_more_epochs_and_smaller_batches() -> None:
    hyper = Hyperparameters(epochs=10)
    assert hyper.fitted(400_000, None) == hyper
    few = hyper.fitted(1_000, None)
    assert few.epochs > 20 and few.batch < 100 and hyper.fitted(1_000, 3).epochs == 3


def card(path: Path, **other) -> bytes:
    return json.dumps(json.loads(unzipped(path)["card.json"]) | other).encode()


@pytest.mark.parametrize(("members", "why"), [
    ({"run__pkl": b"cos\nsystem\n(S'true'\ntR."}, "must contain exactly"),
    ({"card__json": b"{}"}, "not a deidreview-spacy-1 model: its card has another format"),
    ({"lexicon__json": b"[]"}, "lexicon"), ({"weights__safetensors": b"\x80\x04\x95pickle"}, "can't be read"),
    ({"weights__safetensors": to_bytes({"x": np.zeros(3, dtype="float32")})}, "names differ"),
    ({"sizes": {"width": 10**9}}, "sizes"), ({"sizes": {"depth": 3}}, "names differ"),
    ({"sizes": {"width": 48, "norm_width": 48, "column_width": 24, "depth": 2, "hidden": 32}}, "doesn't fit"),
    ({"labels": ["B", "A"]}, "sorted and distinct"), ({"labels": []}, "1 to 500"), ({"surprise": 1}, "unknown fields"),
    ({"language": 7}, "must be texts"), ({"language": "../x"}, "language"),
])  # fmt: skip
def test_invalid_files_are_rejected(path: Path, tmp_path: Path, members: dict, why: str) -> None:
    if not any("__" in name for name in members):
        members = {"card__json": card(path, **members)}
    with pytest.raises(BackendError, match=why) as caught:
        SpacyBackend(str(damaged(path, tmp_path / "bad.zip", **members)))
    assert caught.value.permanent


def test_weights_that_are_not_finite_are_rejected(loaded: SpacyBackend, path: Path, tmp_path: Path) -> None:
    tensors = {name: values.copy() for name, values in numbers(recognizer(loaded._encoder.nlp)).items()}
    next(iter(tensors.values()))[0] = np.nan
    with pytest.raises(BackendError, match="doesn't fit"):
        SpacyBackend(str(damaged(path, tmp_path / "bad.zip", weights__safetensors=to_bytes(tensors))))


def test_spacy_is_imported_without_torch() -> None:
    """thinc would import torch, which takes seconds and hundreds of megabytes."""
    code = "import sys, models_runtime.backends.spacy_ner; print('spacy' in sys.modules, 'torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "True False", done.stderr

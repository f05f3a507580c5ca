"""The BiLSTM-CRF with and without a character language model: contract, a long note, groups of sentences."""

import json
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch")

from safetensors.torch import load, save

from models_runtime.backends import Backend, BackendError
from models_runtime.backends.bilstm_crf.backend import BiLstmCrfBackend
from models_runtime.backends.bilstm_crf.inputs import NoteEncoder
from models_runtime.backends.bilstm_crf.model import load_model
from models_runtime.backends.bilstm_crf.training import ALGORITHMS, learn
from models_runtime.backends.files import WEIGHTS
from models_runtime.backends.learner import Step, TrainingTask
from models_runtime.backends.notes import groups
from models_runtime.backends.rule_tags import rules_for
from tests.backends.contract import BackendContract
from tests.backends.made import damaged, joined, made_notes, moved_notes

pytestmark = pytest.mark.usefixtures("small_networks")
# Epochs of the character language model.
ADAPT = 2


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Backend:
    made = tmp_path_factory.mktemp("bilstm") / "model.zip"
    learn(TrainingTask([*made_notes(6), *moved_notes(6)], "meddocan", iterations=9, adapt=ADAPT), made)
    return BiLstmCrfBackend(path=str(made))


class TestBiLstmCrfContract(BackendContract):
    words = made_notes(1)[0][0]
    made = "trained"


def test_it_learns_a_long_note(tmp_path: Path) -> None:
    """The note is much longer than a sequence, so grouping, encoding, training and offsets must all be right."""
    text, spans = joined(made_notes(4))
    steps: list[Step] = []
    asked = {"iterations": 14, "adapt": ADAPT, "held_out": [(text, spans)], "report": steps.append}
    learn(TrainingTask([(text, spans)] * 2, "meddocan", **asked), tmp_path / "model.zip")
    assert BiLstmCrfBackend(str(tmp_path / "model.zip")).predict([text])[0] == spans
    assert steps[-1].f1 == 1.0 and steps[-1].loss < steps[ADAPT].loss
    assert [step.adapting for step in steps] == [True] * ADAPT + [False] * 14


def test_a_language_is_learned_from_notes_without_labels_and_can_not_be_read_back(tmp_path: Path) -> None:
    """The file contains the two LSTMs and an alphabet, not the prediction layers. Other tensors are rejected."""
    steps: list[Step] = []
    more = [text for text, _ in moved_notes(24)]
    task = TrainingTask(made_notes(6), "meddocan", iterations=5, adapt=2, unlabeled=more, report=steps.append)
    learn(replace(task, should_stop=lambda: len(steps) == 3), tmp_path / "model.zip")
    assert [step.adapting for step in steps] == [True, True, False], "it ends early on request"
    losses = [step.loss for step in steps if step.adapting]
    assert losses == sorted(losses, reverse=True)
    with zipfile.ZipFile(tmp_path / "model.zip") as archive:
        content = archive.read(WEIGHTS)
    tensors = load(content)
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])["__metadata__"]
    assert len(header) == 1, "safetensors writes several entries in random order, so the file would not be repeatable"
    said = json.loads(header["inputs"])
    own = {name.split(".")[2] for name in tensors if name.startswith("embedding.0.")}
    assert own == {"table", "onward", "behind"}
    lacking = {name: value for name, value in tensors.items() if name != "embedding.0.onward.weight_hh_l0"}
    for some, alphabet in ((lacking, said["embeddings"][0]), (tensors, "ab"), (tensors, 1)):
        weights = save(some, {"inputs": json.dumps(said | {"embeddings": [alphabet]})})
        made = damaged(tmp_path / "model.zip", tmp_path / "bad.zip", weights__safetensors=weights)
        with pytest.raises(BackendError, match="don't fit its card"):
            BiLstmCrfBackend(str(made))


def test_without_the_rules_and_with_another_seed(tmp_path: Path) -> None:
    """The rules and the seed change the model, and a model without the rules reads a note with identifiers."""
    notes, files = made_notes(1), set()
    for name, settings in (("a", {}), ("c", {"seed": 8}), ("d", {"rules": False})):
        files.add(learn(TrainingTask(notes, "meddocan", iterations=1, settings=settings), tmp_path / name))
    assert len(files) == 3
    plain = BiLstmCrfBackend(str(tmp_path / "d"))
    assert plain.revision.endswith("-none") and len(plain.predict([notes[0][0]])) == 1


@pytest.mark.usefixtures("small_networks")
def test_prediction_uses_the_grouping_of_the_training(tmp_path: Path) -> None:
    text = made_notes(1)[0][0]
    for asked, grouped in ((3, 3), (0, ALGORITHMS["bilstm"].grouped)):
        made = tmp_path / f"{asked}.zip"
        learn(TrainingTask(made_notes(2), "meddocan", iterations=1, grouping=asked), made)
        assert load_model(made).card.grouped == grouped
    vocabulary = load_model(made).vocabulary
    counts = []
    for factor in (1, 2, 32):
        encoder = NoteEncoder(rules_for("meddocan"), {}, factor)
        note, tags = encoder.rule_tags(text)
        counts.append(len(encoder.items(note, tags, vocabulary)))
        assert counts[-1] == len(groups(note.text, note.tokens, factor))
    assert counts[0] > counts[1] > counts[2]

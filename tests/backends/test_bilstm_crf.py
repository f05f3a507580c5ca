"""The BiLSTM-CRF with and without a character language model: contract, a long note, a resumed training."""

import json
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("torch")

from safetensors.torch import load, save

from models_runtime.backends import Backend, BackendError
from models_runtime.backends.bilstm_crf.backend import BiLstmCrfBackend
from models_runtime.backends.bilstm_crf.model import LANGUAGE, WEIGHTS
from models_runtime.backends.bilstm_crf.training import learn
from models_runtime.backends.learner import Step, TrainingTask
from tests.backends.contract import BackendContract
from tests.backends.made import damaged, joined, made_notes, moved_notes

pytestmark = pytest.mark.usefixtures("small_networks")
# Epochs of the character language model.
ADAPT = 2


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Backend:
    made = tmp_path_factory.mktemp("bilstm") / "model.zip"
    learn(TrainingTask([*made_notes(6), *moved_notes(6)], "meddocan", iterations=12, adapt=ADAPT), made)
    return BiLstmCrfBackend(path=str(made))


class TestBiLstmCrfContract(BackendContract):
    words = made_notes(1)[0][0]

    @pytest.fixture
    def backend(self, trained: Backend) -> Backend:
        return trained


def test_it_learns_a_long_note(tmp_path: Path) -> None:
    """The note is much longer than a sequence, so grouping, encoding, training and offsets must all be right."""
    text, spans = joined(made_notes(4))
    made = tmp_path / "model.zip"
    steps: list[Step] = []
    asked = {"iterations": 20, "adapt": ADAPT, "held_out": [(text, spans)], "report": steps.append}
    learn(TrainingTask([(text, spans)] * 2, "meddocan", **asked), made)
    assert BiLstmCrfBackend(str(made)).predict([text])[0] == spans
    assert steps[-1].f1 == 1.0
    assert steps[-1].loss < steps[ADAPT].loss
    assert [step.adapting for step in steps] == [True] * ADAPT + [False] * 20


class Killed(Exception):
    pass


def test_a_killed_training_continues_and_gives_the_same_model(tmp_path: Path) -> None:
    def task_of(name: str, *deaths: tuple[bool, int]) -> TrainingTask:
        def report(step: Step) -> None:
            if (step.adapting, step.iteration) in deaths:
                raise Killed

        unlabeled = [text for text, _ in moved_notes(8)]
        options = {"iterations": 4, "adapt": ADAPT, "unlabeled": unlabeled, "report": report}
        return TrainingTask(made_notes(6), "meddocan", checkpoint=tmp_path / name, **options)

    whole = learn(task_of("one"), tmp_path / "whole.zip")
    for death in ((True, 2), (False, 3)):  # in pre-training, and in training
        with pytest.raises(Killed):
            learn(task_of("two", death), tmp_path / "half.zip")
        assert not (tmp_path / "half.zip").exists()
        assert (tmp_path / ("two-adapted" if death[0] else "two")).exists()
    assert learn(task_of("two"), tmp_path / "again.zip") == whole


def test_a_language_is_learned_from_notes_without_labels_and_can_not_be_read_back(tmp_path: Path) -> None:
    """The file contains the two LSTMs and an alphabet, not the prediction layers. Other tensors are rejected."""
    steps: list[Step] = []
    more = [text for text, _ in moved_notes(24)]
    task = TrainingTask(made_notes(6), "meddocan", iterations=1, adapt=2, unlabeled=more, report=steps.append)
    learn(task, tmp_path / "model.zip")
    losses = [step.loss for step in steps if step.adapting]
    assert losses == sorted(losses, reverse=True)
    with zipfile.ZipFile(tmp_path / "model.zip") as archive:
        content = archive.read(WEIGHTS)
    tensors = load(content)
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])["__metadata__"]
    assert len(header) == 1, "safetensors writes several entries in random order, so the file would not be repeatable"
    said = json.loads(header["vocabulary"])
    own = {name.removeprefix(LANGUAGE).partition(".")[0] for name in tensors if name.startswith(LANGUAGE)}
    assert own == {"table", "onward", "behind"}
    lacking = {name: value for name, value in tensors.items() if name != f"{LANGUAGE}onward.weight_hh_l0"}
    for some, alphabet in ((lacking, said["alphabet"]), (tensors, "ab"), (tensors, 1)):
        weights = save(some, {"vocabulary": json.dumps(said | {"alphabet": alphabet})})
        made = damaged(tmp_path / "model.zip", tmp_path / "bad.zip", weights__safetensors=weights)
        with pytest.raises(BackendError, match="don't fit its card"):
            BiLstmCrfBackend(str(made))


def test_it_ends_early_on_request(tmp_path: Path) -> None:
    steps: list[Step] = []
    task = TrainingTask(
        made_notes(6), "meddocan", iterations=5, report=steps.append, should_stop=lambda: len(steps) == 2
    )
    learn(task, tmp_path / "model.zip")
    assert len(steps) == 2


def test_notes_without_spans_and_unknown_algorithms(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match="have no spans"):
        learn(TrainingTask([("Nada.", [])], "meddocan"), tmp_path / "model.zip")
    with pytest.raises(BackendError, match="no algorithm “best”"):
        learn(TrainingTask(made_notes(2), "meddocan", algorithm="best"), tmp_path / "model.zip")


def test_without_the_rules_and_with_another_seed(tmp_path: Path) -> None:
    """The rules and the seed change the model, and a model without the rules reads a note with identifiers."""
    text, spans = made_notes(1)[0]
    files = set()
    for name, settings in (("a", {}), ("b", {"seed": 7}), ("c", {"seed": 8}), ("d", {"rules": False})):
        files.add(learn(TrainingTask([(text, spans)], "meddocan", iterations=1, settings=settings), tmp_path / name))
    assert len(files) == 3  # 7 is the seed without the setting
    assert BiLstmCrfBackend(str(tmp_path / "d")).revision.endswith("-none")
    assert len(BiLstmCrfBackend(str(tmp_path / "d")).predict([text])) == 1

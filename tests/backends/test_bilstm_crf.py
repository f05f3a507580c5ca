"""The BiLSTM-CRF, with a character language model and without: the contract of all backends, a long note by heart, a
killed training that goes on."""

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
from models_runtime.backends.learner import Lesson, Step
from tests.backends.contract import BackendContract
from tests.backends.made import damaged, joined, made_notes, moved_notes

# Without the language of the notes, and with a character language model of them.
EITHER = pytest.mark.parametrize("adapt", [0, 2])


@pytest.fixture(scope="module", params=[0, 2], ids=["plain", "characters"])
def trained(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Backend:
    made = tmp_path_factory.mktemp("bilstm") / "model.zip"
    learn(Lesson([*made_notes(16), *moved_notes(16)], "meddocan", iterations=12, adapt=request.param), made)
    return BiLstmCrfBackend(path=str(made))


class TestBiLstmCrfContract(BackendContract):
    seconds_per_megabyte = 90.0
    words = made_notes(1)[0][0]

    @pytest.fixture
    def backend(self, trained: Backend) -> Backend:
        return trained


@EITHER
def test_it_learns_a_long_note_by_heart(tmp_path: Path, adapt: int) -> None:
    """Much longer than any one sequence: groups, numbers, training and the way back to offsets all have to be right."""
    text, spans = joined(made_notes(12))
    made = tmp_path / "model.zip"
    told: list[Step] = []
    asked = {"iterations": 25, "adapt": adapt, "held_out": [(text, spans)], "report": told.append}
    learn(Lesson([(text, spans)] * 4, "meddocan", **asked), made)
    assert BiLstmCrfBackend(str(made)).predict([text])[0] == spans
    assert told[-1].f1 == 1.0
    assert told[-1].loss < told[adapt].loss
    assert [step.adapting for step in told] == [True] * adapt + [False] * 25


class Killed(Exception):
    pass


@EITHER
def test_a_killed_training_goes_on_and_gives_the_same_model(tmp_path: Path, adapt: int) -> None:
    def lesson(name: str, *deaths: tuple[bool, int]) -> Lesson:
        def report(step: Step) -> None:
            if (step.adapting, step.iteration) in deaths:
                raise Killed

        unlabelled = [text for text, _ in moved_notes(8)]
        options = {"iterations": 4, "adapt": adapt, "unlabelled": unlabelled, "report": report}
        return Lesson(made_notes(6), "meddocan", checkpoint=tmp_path / name, **options)

    whole = learn(lesson("one"), tmp_path / "whole.zip")
    for death in ((True, 2), (False, 3))[adapt == 0 :]:  # while it learns the language, and while it learns the labels
        with pytest.raises(Killed):
            learn(lesson("two", death), tmp_path / "half.zip")
        assert not (tmp_path / "half.zip").exists()
        assert (tmp_path / ("two-adapted" if death[0] else "two")).exists()
    assert learn(lesson("two"), tmp_path / "again.zip") == whole


def test_a_language_is_learned_from_notes_without_labels_and_can_not_be_had_back(tmp_path: Path) -> None:
    """The file holds the two readers and an alphabet; what guessed characters is not in it. Misfits are refused."""
    told: list[Step] = []
    more = [text for text, _ in moved_notes(24)]
    lesson = Lesson(made_notes(6), "meddocan", iterations=1, adapt=4, unlabelled=more, report=told.append)
    learn(lesson, tmp_path / "model.zip")
    losses = [step.loss for step in told if step.adapting]
    assert losses == sorted(losses, reverse=True)
    with zipfile.ZipFile(tmp_path / "model.zip") as archive:
        content = archive.read(WEIGHTS)
    tensors = load(content)
    header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])["__metadata__"]
    assert len(header) == 1, "of several entries safetensors writes any first: the same model would be another file"
    said = json.loads(header["vocabulary"])
    own = {name.removeprefix(LANGUAGE).partition(".")[0] for name in tensors if name.startswith(LANGUAGE)}
    assert own == {"table", "onward", "behind"}
    lacking = {name: value for name, value in tensors.items() if name != f"{LANGUAGE}onward.weight_hh_l0"}
    for some, alphabet in ((lacking, said["alphabet"]), (tensors, "ab"), (tensors, 1)):
        weights = save(some, {"vocabulary": json.dumps(said | {"alphabet": alphabet})})
        made = damaged(tmp_path / "model.zip", tmp_path / "bad.zip", weights__safetensors=weights)
        with pytest.raises(BackendError, match="don't fit its card"):
            BiLstmCrfBackend(str(made))


def test_it_ends_early_when_that_is_enough(tmp_path: Path) -> None:
    told: list[Step] = []
    lesson = Lesson(made_notes(6), "meddocan", iterations=5, report=told.append, enough=lambda: len(told) == 2)
    learn(lesson, tmp_path / "model.zip")
    assert len(told) == 2


def test_nothing_to_learn(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match="nothing to learn"):
        learn(Lesson([("Nada.", [])], "meddocan"), tmp_path / "model.zip")
    with pytest.raises(BackendError, match="algorithm 'best'"):
        learn(Lesson(made_notes(2), "meddocan", algorithm="best"), tmp_path / "model.zip")

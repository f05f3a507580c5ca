"""The BiLSTM-CRF: the contract of all backends, a long note by heart, and a killed training that goes on."""

from pathlib import Path

import pytest

pytest.importorskip("torch")

from annotations.domain.spans import Span
from models_runtime.backends import Backend, BackendError
from models_runtime.backends.bilstm_crf.backend import BiLstmCrfBackend
from models_runtime.backends.bilstm_crf.training import learn
from models_runtime.backends.learner import Lesson, Step
from tests.backends.contract import BackendContract
from tests.backends.made import made_notes, moved_notes


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Backend:
    made = tmp_path_factory.mktemp("bilstm") / "model.zip"
    learn(Lesson([*made_notes(16), *moved_notes(16)], "meddocan", iterations=12), made)
    return BiLstmCrfBackend(path=str(made))


class TestBiLstmCrfContract(BackendContract):
    seconds_per_megabyte = 90.0
    words = made_notes(1)[0][0]

    @pytest.fixture
    def backend(self, trained: Backend) -> Backend:
        return trained


def test_it_learns_a_long_note_by_heart(tmp_path: Path) -> None:
    """Much longer than any one sequence: groups, numbers, training and the way back to offsets all have to be right."""
    text, spans = "", []
    for each, marked in made_notes(12):
        spans += [Span(span.start + len(text), span.end + len(text), span.label) for span in marked]
        text += each + "\n"
    made = tmp_path / "model.zip"
    told: list[Step] = []
    learn(Lesson([(text, spans)] * 4, "meddocan", iterations=25, held_out=[(text, spans)], report=told.append), made)
    assert BiLstmCrfBackend(str(made)).predict([text])[0] == sorted(spans)
    assert told[-1].f1 == 1.0
    assert told[-1].loss < told[0].loss


class Killed(Exception):
    pass


def test_a_killed_training_goes_on_and_gives_the_same_model(tmp_path: Path) -> None:
    def lesson(name: str, die_after: int = 99) -> Lesson:
        def report(step: Step) -> None:
            if step.iteration == die_after:
                raise Killed

        return Lesson(made_notes(6), "meddocan", iterations=4, checkpoint=tmp_path / name, report=report)

    whole = learn(lesson("one"), tmp_path / "whole.zip")
    with pytest.raises(Killed):
        learn(lesson("two", die_after=3), tmp_path / "half.zip")
    assert not (tmp_path / "half.zip").exists()
    assert (tmp_path / "two").exists()
    assert learn(lesson("two"), tmp_path / "again.zip") == whole


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

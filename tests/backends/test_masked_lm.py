"""Language pre-training with masked words: its evaluation, any number of notes, and the model that is kept."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from models_runtime.backends import BackendError, files  # noqa: E402 - needs torch
from models_runtime.backends.child import Spooled  # noqa: E402
from models_runtime.backends.learner import Step, TrainingTask  # noqa: E402
from models_runtime.backends.neural.windows import chunks  # noqa: E402
from models_runtime.backends.token_classification import masked_child  # noqa: E402
from models_runtime.backends.token_classification.masked_training import learn as learn_language  # noqa: E402
from models_runtime.backends.token_classification.model import MASKED_FORMAT, load_masked, load_model  # noqa: E402
from models_runtime.backends.token_classification.probing import SENTENCES, sentences_of  # noqa: E402
from models_runtime.backends.token_classification.starting_point import StartingPoint  # noqa: E402
from models_runtime.backends.token_classification.stored_pieces import StoredPieces  # noqa: E402
from models_runtime.backends.token_classification.training import learn  # noqa: E402
from tests.backends.made import NAMES, damaged, made_notes, moved_notes  # noqa: E402
from tests.backends.made_weights import tiny_bert  # noqa: E402

NOTES = made_notes(4)
MORE = [text for text, _ in moved_notes(12)]


class Killed(Exception):
    pass


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("weights") / "tiny"
    return tiny_bert(made, [text for text, _ in made_notes(40)])


def task_of(base: Path, **more: Any) -> TrainingTask:
    return TrainingTask([(text, []) for text, _ in NOTES], "set", base=str(base), **more)


def fine_tuning(base: Path, **more: Any) -> TrainingTask:
    return TrainingTask(NOTES, "set", algorithm="fresh", iterations=1, base=str(base), **more)


def test_its_loss_on_held_out_notes_falls_and_the_probe_shows_words_before_and_after(
    folder: Path, tmp_path: Path
) -> None:
    steps: list[Step] = []
    asked = {"rate": 4e-3, "batch": 4, "probe": "Acude por [MASK]. | Nombre: Anna [MASK]."}
    task = task_of(
        folder, iterations=40, unlabeled=MORE, held_out=made_notes(8)[4:], settings=asked, report=steps.append
    )
    learn_language(task, tmp_path / "made.zip")
    assert [step.iteration for step in steps] == list(range(41)) and not any(step.adapting for step in steps)
    losses = [step.held_out_loss for step in steps]
    assert losses[-1] < 0.7 * losses[0]
    before, after = steps[0].probe, steps[-1].probe
    assert [filled["sentence"] for filled in before] == ["Acude por [MASK].", "Nombre: Anna [MASK]."]
    names = {part for name in NAMES for part in name.split()}
    known = [len(names.intersection(word for word, _ in filled[1]["words"])) for filled in (before, after)]
    assert known[0] < 2 and known[1] >= 4
    chances = [chance for _, chance in after[1]["words"]]
    assert len(chances) == 5 and chances == sorted(chances, reverse=True) and sum(chances) <= 1.001


def test_the_evaluation_does_not_change_what_is_learned(folder: Path, tmp_path: Path) -> None:
    shas = {
        learn_language(task_of(folder, iterations=2, held_out=held_out, settings=settings), tmp_path / "made.zip")
        for held_out in ([], made_notes(8)[4:])
        for settings in ({}, {"probe": "Anna [MASK] acude."})
    }
    assert len(shas) == 1


def test_a_killed_training_continues_and_gives_the_same_model_and_figures(folder: Path, tmp_path: Path) -> None:
    steps: list[Step] = []
    task = task_of(folder, iterations=3, unlabeled=MORE, held_out=made_notes(6)[4:], report=steps.append)
    whole = learn_language(replace(task, checkpoint=tmp_path / "one"), tmp_path / "whole.zip")

    def dies(step: Step) -> None:
        if step.iteration == 2:
            raise Killed

    killed = replace(task, checkpoint=tmp_path / "two")
    with pytest.raises(Killed):
        learn_language(replace(killed, report=dies), tmp_path / "half.zip")
    first = list(steps)
    steps.clear()
    assert learn_language(killed, tmp_path / "again.zip") == whole
    assert [step.held_out_loss for step in steps] == [step.held_out_loss for step in first]
    assert [[f["sentence"] for f in step.probe] for step in steps] == [[f["sentence"] for f in s.probe] for s in first]


def test_a_transformer_starts_from_a_kept_language_model(folder: Path, tmp_path: Path) -> None:
    language, shas = tmp_path / "language.zip", {}
    learn_language(task_of(folder, iterations=8, unlabeled=MORE, settings={"rate": 2e-3}), language)
    masked = load_masked(language)
    assert (masked.card.format, masked.card.base, masked.card.iterations) == (MASKED_FORMAT, "tiny", 8)
    begin = StartingPoint.at(language)
    assert (begin.name, begin.labels) == ("tiny", ())
    for name, base in (("plain", folder), ("adapted", language)):
        shas[name] = learn(fine_tuning(base), tmp_path / f"{name}.zip")
    body = load_model(tmp_path / "adapted.zip").network.base_model.state_dict()
    kept, earlier = masked.network.base_model.state_dict(), StartingPoint.at(folder).masked_lm().base_model.state_dict()
    words = "embeddings.word_embeddings.weight"
    distance = [float((body[words] - other[words]).abs().mean()) for other in (kept, earlier)]
    assert distance[0] < distance[1] and shas["plain"] != shas["adapted"]
    # Another stage of language pre-training continues from it as well.
    learn_language(task_of(language, iterations=1), tmp_path / "more.zip")
    assert load_masked(tmp_path / "more.zip").card.base == "tiny"


def test_the_weights_of_the_stage_in_a_training_are_kept_if_asked(folder: Path, tmp_path: Path) -> None:
    steps: list[Step] = []
    asked = {"adapt": 2, "held_out": made_notes(6)[4:], "report": steps.append}
    learn(fine_tuning(folder, **asked), tmp_path / "made.zip")
    assert not (tmp_path / "language.zip").exists()
    learn(fine_tuning(folder, settings={"keep_language": True}, **asked), tmp_path / "made.zip")
    assert load_masked(tmp_path / "language.zip").card.iterations == 2
    adapting = [step for step in steps if step.adapting]
    assert [step.iteration for step in adapting] == [0, 1, 2] * 2
    assert all(step.held_out_loss is not None and len(step.probe) == len(SENTENCES["en"]) for step in adapting)


def test_uploaded_files_are_checked(folder: Path, tmp_path: Path) -> None:
    made = tmp_path / "made.zip"
    learn_language(task_of(folder, iterations=1), made)
    assert masked_child.check(made) == {
        "label_set": "", "algorithm": "masked", "labels": (), "notes": 4, "iterations": 1
    }  # fmt: skip
    with pytest.raises(BackendError, match="is not a deidreview-transformer-1 model"):
        load_model(made)
    for content in (b'{"format": "deidreview-masked-lm-1"}', b"[]"):
        with pytest.raises(BackendError):
            load_masked(damaged(made, tmp_path / "other.zip", card__json=content))
    assert files.format_of(made) == MASKED_FORMAT


@pytest.mark.parametrize("sentence", ["Anna acude.", "[MASK] y [MASK]", "Anna [MASK] " + "acude " * 99])
def test_an_unusable_sentence_is_refused_without_being_repeated(folder: Path, tmp_path: Path, sentence: str) -> None:
    task = task_of(folder, iterations=1, settings={"probe": sentence})
    with pytest.raises(BackendError, match="exactly one") as caught:
        learn_language(task, tmp_path / "made.zip")
    assert caught.value.permanent and "Anna" not in str(caught.value)


def test_sentences_in_the_language_of_the_project() -> None:
    assert sentences_of("", "it") == list(SENTENCES["it"]) and sentences_of("", "it-IT") == list(SENTENCES["it"])
    assert sentences_of("", "de") == list(SENTENCES["en"]) and sentences_of(" ", "") == list(SENTENCES["en"])
    assert sentences_of("a [MASK] | b [MASK]|", "it") == ["a [MASK]", "b [MASK]"]
    assert all(sentence.count("[MASK]") == 1 for sentences in SENTENCES.values() for sentence in sentences)


def test_no_text_to_learn_from(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(BackendError, match="no text to learn from"):
        learn_language(TrainingTask([("", [])], "set", base=str(folder)), tmp_path / "made.zip")


# ── Any number of notes ──────────────────────────────────────────────────────────────────────────────────────────────


def test_texts_are_read_one_at_a_time_and_can_be_read_again(tmp_path: Path) -> None:
    alive: list[int] = []

    def texts() -> Iterator[str]:
        for number in range(1000):
            alive.append(number)
            yield f"nota {number} à\n"

    spooled = Spooled(texts(), tmp_path)
    assert not list(tmp_path.iterdir())  # The file has no name.
    once = iter(spooled)
    assert next(once) == "nota 0 à\n"
    assert [len(list(spooled)) for _ in range(2)] == [1000, 1000] and list(spooled)[-1] == "nota 999 à\n"


def test_pieces_are_on_disk_and_windows_are_those_of_each_text(tmp_path: Path) -> None:
    texts = [np.arange(5), np.arange(0), np.arange(100, 123)]
    stored = StoredPieces(iter(texts), lambda count: chunks(count, 10), tmp_path)
    assert not list(tmp_path.iterdir())
    assert list(stored.lengths) == [5, 10, 10, 3] and len(stored) == 4
    window, encoded = stored.window(2)
    assert (len(window), encoded.pieces.tolist()) == (10, list(range(110, 120)))
    assert isinstance(stored._pieces, np.memmap)
    assert len(StoredPieces(iter([]), lambda count: chunks(count, 10), None)) == 0

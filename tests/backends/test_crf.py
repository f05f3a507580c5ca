"""The CRF: contract, training on invented notes, invalid files."""

import json
import struct
import zipfile

import numpy as np
import pycrfsuite
import pytest

from annotations.text.spans import covered
from models_runtime.backends import BackendError
from models_runtime.backends.crf import CrfBackend
from models_runtime.backends.crf.backend import Emissions
from models_runtime.backends.crf.features import AROUND, Features, families
from models_runtime.backends.crf.model import LARGEST, MAGIC, load_model, read_weights, scaled
from models_runtime.backends.crf.paths import best_paths
from models_runtime.backends.crf.training import Rows, learn
from models_runtime.backends.learner import TrainingTask
from models_runtime.backends.notes import MOST, pieces, read
from models_runtime.backends.rule_tags import rules_for
from tests.backends.contract import HOSTILE, PLAIN, BackendContract
from tests.backends.made import damaged, made_notes


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    made = tmp_path_factory.mktemp("crf") / "model.zip"
    learn(TrainingTask(made_notes(), "meddocan", iterations=30), made)
    return made


@pytest.fixture(scope="module")
def loaded(path):
    return CrfBackend(str(path))


class TestCrfContract(BackendContract):
    # A text with confident predictions at any position, although the first line of a note is a feature.
    words = made_notes(1)[0][0]


def test_a_note_longer_than_a_sequence_is_predicted_completely(loaded):
    line = PLAIN.replace("\n", " ")
    long = line * 200
    note = read(long)
    stretches = list(pieces(note))
    assert len(stretches) > 3 and all(past - first <= MOST for first, past in stretches)
    assert [at for stretch in stretches for at in range(*stretch)] == list(range(len(note.tokens)))
    features = Features(note, [])
    assert sum(len(features.of(*stretch)[0]) - 2 * AROUND for stretch in stretches) == len(note.tokens)
    assert loaded.predict([long])[0][-1].start > len(long) - 2 * len(line)


def test_held_out_notes_are_measured_after_each_iteration(tmp_path):
    """Labels don't count, no iteration is run twice, and the model is the same as without held-out notes."""
    notes, held_out = made_notes(12)[:6], made_notes(12)[6:]
    steps = []
    made = [
        learn(TrainingTask(notes, "meddocan", iterations=12, **options), tmp_path / name)
        for name, options in (
            ("plain", {}),
            ("measured", {"held_out": held_out, "choose": True, "report": steps.append}),
        )
    ]
    assert made[0] == made[1]
    steps = [step for step in steps if step.iteration]
    assert [step.iteration for step in steps] == list(range(1, 13)) and all(step.recall is not None for step in steps)
    right, found, gold = 0, 0, 0
    for (text, spans), predicted in zip(
        held_out, CrfBackend(str(tmp_path / "measured")).stream(text for text, _ in held_out), strict=True
    ):
        ours, theirs = (
            {at for span in side for at in range(*covered(read(text).tokens, span.start, span.end))}
            for side in (predicted, spans)
        )
        right, found, gold = right + len(ours & theirs), found + len(ours), gold + len(theirs)
    assert (steps[-1].recall, steps[-1].precision) == pytest.approx((right / gold, right / found), abs=1e-4)


def test_training_reports_and_stops_without_a_file(tmp_path):
    steps = []

    class Stopped(Exception):
        pass

    def report(step):
        steps.append(step)
        if step.iteration == 3:
            raise Stopped

    with pytest.raises(Stopped):
        learn(TrainingTask(made_notes(4), "meddocan", report=report), tmp_path / "never.zip")
    assert [step.iteration for step in steps if step.iteration] == [1, 2, 3]
    assert steps[-1].loss > 0 and not list(tmp_path.iterdir())


def test_words_of_unlabeled_notes_are_learned(tmp_path):
    made = tmp_path / "model.zip"
    learn(TrainingTask(made_notes(4), "meddocan", iterations=5, unlabeled=["Localidad: Teruel.\n"] * 3), made)
    with zipfile.ZipFile(made) as archive:
        assert json.loads(archive.read("lexicon.json"))["teruel"] == ["localidad/3"]


def crfsuite(path):
    """crfsuite's own tagger for a model, and the weights' file, which must outlive the tagger."""
    with zipfile.ZipFile(path) as archive:
        file = archive.read("model.crfsuite")
    tagger = pycrfsuite.Tagger()
    tagger.open_inmemory(file)
    return tagger, file


@pytest.mark.parametrize("cut", [0, 40, 1000, -8])
def test_damaged_weights_are_rejected(path, cut):
    _, file = crfsuite(path)
    # The first weight belongs to a tag that doesn't exist.
    first = int.from_bytes(file[28:32], "little") + 12
    for damaged_file in (file[:cut], file[: first + 8] + b"\xff\xff\xff\x7f" + file[first + 12 :]):
        with pytest.raises(ValueError, match=r"damaged|not a crfsuite model"):
            read_weights(damaged_file)


@pytest.mark.parametrize("algorithm", ["lbfgs", "ap"])
def test_predictions_are_those_of_crfsuite(tmp_path, algorithm):
    """Tags and probabilities are those of crfsuite's own tagger, which gets every feature, and don't depend on the
    other notes of a batch."""
    made = tmp_path / "model.zip"
    learn(TrainingTask(made_notes(12), "meddocan", algorithm=algorithm, iterations=15), made)
    model, (tagger, _) = load_model(made), crfsuite(made)
    known = families(model.lexicon)
    rows, sums, rules = Rows(known), Emissions(known, model.weights), rules_for("meddocan")
    scores, theirs = [], []
    for text in (made_notes(14)[13][0], *HOSTILE.values()):
        note = read(text)
        if not note.tokens:
            continue
        size = len(note.tokens)
        columns = Features(note, rules.predict([text])[0]).of(0, size)
        scores.append(sums.of(columns, size))
        tags = tagger.tag(rows.of(columns, size))
        theirs.append((tags, [tagger.marginal(tag, at) for at, tag in enumerate(tags)]))
    assert any(tag != "O" for tags, _ in theirs for tag in tags)
    for path, (tags, odds) in zip(best_paths(scores, model.weights.steps), theirs, strict=True):
        assert [model.weights.tags[number] for number in path.tags] == tags
        assert np.allclose(path.odds, odds, rtol=0, atol=1e-9)


def test_a_perceptron_s_weights_are_scaled(tmp_path):
    learn(TrainingTask(made_notes(), "meddocan", algorithm="ap"), tmp_path / "ap.zip")
    tagger, file = crfsuite(tmp_path / "ap.zip")
    said = tagger.info()
    weights = [*said.state_features.values(), *said.transitions.values()]
    assert 0 < max(map(abs, weights)) <= LARGEST + 1e-6 and scaled(file) == file


def test_probabilities_that_can_t_be_computed_give_no_confidence(path, tmp_path):
    """An uploaded model can have weights of any size."""
    weights = bytearray(crfsuite(path)[1])
    first = int.from_bytes(weights[28:32], "little") + 12
    for at in range(int.from_bytes(weights[first - 4 : first], "little")):
        offset = first + 20 * at + 12
        (value,) = struct.unpack_from("<d", weights, offset)
        struct.pack_into("<d", weights, offset, value * 1e4)
    found = []
    for file in (bytes(weights), scaled(bytes(weights))):
        backend = CrfBackend(str(damaged(path, tmp_path / "made.zip", model__crfsuite=file)))
        found.append(backend.predict([TestCrfContract.words])[0])
    huge, fitting = found
    assert huge and {span.confidence for span in huge} == {None} and all(span.confidence for span in fitting)
    assert [(span.start, span.end) for span in huge] == [(span.start, span.end) for span in fitting]


def test_notes_without_spans_and_unknown_algorithms(tmp_path):
    with pytest.raises(BackendError, match="The training notes have no spans"):
        learn(TrainingTask([("Nothing here.", [])], "meddocan"), tmp_path / "m.zip")
    with pytest.raises(BackendError, match="lbfgs, ap"):
        learn(TrainingTask(made_notes(1), "meddocan", algorithm="magic"), tmp_path / "m.zip")


@pytest.mark.parametrize(("members", "why"), [
    ({"card__json": b""}, "must contain exactly"),
    ({"run__pkl": b"cos\nsystem\n(S'true'\ntR."}, "must contain exactly"),
    ({"card__json": b"{}"}, "not a deidreview-crf-1 model: its card has another format"),
    ({"card__json": b"[" * 100_000}, "can't be read"), ({"lexicon__json": b"[]"}, "lexicon"),
    ({"model__crfsuite": b"\x80\x04\x95pickle"}, "not in crfsuite's format"),
    ({"model__crfsuite": MAGIC}, "can't be read"), (None, "can't be read"), ({}, "doesn't exist"),
])  # fmt: skip
def test_invalid_files_are_rejected(path, tmp_path, members, why):
    bad = tmp_path / "bad.zip"
    if members:
        damaged(path, bad, **members)
    elif members is None:
        bad.write_text("no zip")
    with pytest.raises(BackendError, match=why) as caught:
        CrfBackend(str(bad))
    assert caught.value.permanent

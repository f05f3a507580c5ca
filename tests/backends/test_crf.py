"""The CRF: contract, training on invented notes, invalid files; its scores and paths against plain computations."""

import json
import random
import struct

import numpy as np
import pycrfsuite
import pytest
from hypothesis import given
from hypothesis import strategies as st

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
from tests.zips import unzipped


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
    assert json.loads(unzipped(made)["lexicon.json"])["teruel"] == ["localidad/3"]


def crfsuite(path):
    """crfsuite's own tagger for a model, and the weights' file, which must outlive the tagger."""
    file = unzipped(path)["model.crfsuite"]
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


# Scores from summed weights, best paths, and notes that are read together, against plain computations


CHARACTERS = "aAbñÑéß|_:.,-/ \n\r\t0123456789\u0301\U0001d400日"


def random_texts():
    """Texts of random characters, of random words from notes, and without tokens."""
    chance = random.Random(4)
    words = [word for text, _ in made_notes(5) for word in text.split(" ")]
    found = ["".join(chance.choices(CHARACTERS, k=chance.randrange(300))) for _ in range(8)]
    found += [" ".join(chance.choices(words, k=chance.randrange(1, 120))) for _ in range(5)]
    return [*found, "|", "a|b ||| c|d: x", *(text for text in HOSTILE.values() if len(text) < 1000)]


TEXTS = random_texts()


@pytest.fixture(scope="module", params=["plain", "staged"])
def crf(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("crf")
    first, second = folder / "first.zip", folder / "second.zip"
    notes = [*made_notes(8), (TEXTS[3] + TEXTS[10], [])]
    learn(TrainingTask(notes, "meddocan", iterations=12), first)
    if request.param == "plain":
        return first
    learn(TrainingTask(notes, "meddocan", iterations=8, base=str(first)), second)
    return second


@pytest.mark.parametrize("limit", ["", "MOST_SUMS", "MOST_KEYS", "MOST_BYTES"])
def test_scores_of_the_crf_are_the_sums_of_the_weights_of_all_features(crf, monkeypatch, limit):
    """Tables that are too large are cleared before the next sequence."""
    if limit:
        monkeypatch.setattr(f"models_runtime.backends.crf.backend.{limit}", 3)
    model, rules = load_model(crf), rules_for("meddocan")
    earlier = CrfBackend(str(crf.with_name("first.zip"))) if model.earlier else None
    known = families(model.lexicon, staged=earlier is not None)
    rows, fast = Rows(known), Emissions(known, model.weights)
    compared = 0
    for text in TEXTS:
        note, spans = read(text), rules.predict([text])[0]
        columns = Features(note, spans, earlier.predict([text])[0] if earlier else None)
        size = len(note.tokens)
        for first, past in {(0, size), (0, size // 2), (size // 2, size)}:
            if first < past:
                named = rows.of(columns.of(first, past), past - first)
                plain = model.weights.sums([model.weights.numbers(each.decode() for each in row) for row in named])
                assert np.allclose(fast.of(columns.of(first, past), past - first), plain, rtol=0, atol=1e-9)
                compared += past - first
    assert compared > 1000


FIVE = 5


def scores_and_steps(lengths, lead, seed):
    """Random scores. The tag 0 leads nearly everywhere, as `O` does in notes."""
    chance = np.random.default_rng(seed)
    steps = 2 * chance.normal(size=(FIVE, FIVE))
    items = [2 * chance.normal(size=(length, FIVE)) for length in lengths]
    for item in items:
        item[chance.random(len(item)) < 0.95, 0] += lead
    return items, steps


def plain(item, steps):
    """The best tags of one sequence and the probabilities of all tags, token by token."""
    best, ways = [item[0]], []
    for row in item[1:]:
        through = best[-1][:, None] + steps
        ways.append(through.argmax(axis=0))
        best.append(through.max(axis=0) + row)
    tags = [int(best[-1].argmax())]
    for way in reversed(ways):
        tags.insert(0, int(way[tags[0]]))
    forward, backward = [item[0]], [np.zeros(len(steps))]
    for row in item[1:]:
        forward.append(np.logaddexp.reduce(forward[-1][:, None] + steps, axis=0) + row)
    for row in item[:0:-1]:
        backward.insert(0, np.logaddexp.reduce(steps + row + backward[0], axis=1))
    total = np.logaddexp.reduce(forward[-1])
    return tags, np.exp(np.array(forward) + np.array(backward) - total)


@given(
    st.lists(st.integers(1, 150), min_size=1, max_size=4),
    st.sampled_from([0.0, 3.0, 8.0, 14.0, 25.0]),
    st.integers(0, 2**31),
)
def test_paths_and_probabilities_are_those_of_each_sequence_alone(lengths, lead, seed):
    items, steps = scores_and_steps(lengths, lead, seed)
    for item, path in zip(items, best_paths(items, steps, marginals=True), strict=True):
        tags, shares = plain(item, steps)
        assert path.tags == tags and path.odds == pytest.approx(shares[range(len(tags)), tags], abs=1e-8)
        assert np.allclose(path.marginals, shares, atol=1e-8)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=5), st.integers(1, 7), st.integers(0, 2**31))
def test_of_equal_paths_the_best_one_has_the_first_tags(lengths, tags, seed):
    chance = np.random.default_rng(seed)
    steps, *items = (chance.integers(-3, 3, (length, tags)).astype(float) for length in (tags, *lengths))
    assert [path.tags for path in best_paths(items, steps)] == [plain(item, steps)[0] for item in items]

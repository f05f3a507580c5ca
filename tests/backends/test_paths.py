"""Scores of the CRF from summed weights, best paths, and notes that are read together, against plain computations."""

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models_runtime.backends import BackendError
from models_runtime.backends.crf import backend
from models_runtime.backends.crf.backend import CrfBackend, Emissions
from models_runtime.backends.crf.features import Features, families
from models_runtime.backends.crf.model import load_model
from models_runtime.backends.crf.paths import best_paths
from models_runtime.backends.crf.training import Rows
from models_runtime.backends.crf.training import learn as learn_crf
from models_runtime.backends.learner import TrainingTask
from models_runtime.backends.notes import read
from models_runtime.backends.rule_tags import rules_for
from tests.backends.contract import HOSTILE
from tests.backends.made import made_notes

pytestmark = pytest.mark.usefixtures("small_networks")
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
    learn_crf(TrainingTask(notes, "meddocan", iterations=12), first)
    if request.param == "plain":
        return first
    learn_crf(TrainingTask(notes, "meddocan", iterations=8, base=str(first)), second)
    return second


@pytest.mark.parametrize("limit", ["", "MOST_SUMS", "MOST_KEYS", "MOST_BYTES"])
def test_scores_of_the_crf_are_the_sums_of_the_weights_of_all_features(crf, monkeypatch, limit):
    """Tables that are too large are cleared before the next sequence."""
    if limit:
        monkeypatch.setattr(backend, limit, 3)
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


torch = pytest.importorskip("torch")

from models_runtime.backends.bilstm_crf.model import load_model as load_network  # noqa: E402
from models_runtime.backends.bilstm_crf.model import save_model  # noqa: E402
from models_runtime.backends.bilstm_crf.training import learn  # noqa: E402


def test_a_model_whose_vocabulary_has_other_numbers_is_refused(tmp_path):
    """A number behind the last one would be a row of the next table."""
    learn(TrainingTask(made_notes(2), "meddocan", iterations=1), tmp_path / "m.zip")
    model = load_network(tmp_path / "m.zip")
    one, two, *_ = (shape := model.vocabulary.shape)
    for change in ({one: shape[two]}, {one: 1}, {one: True}):
        changed = replace(model.vocabulary, shape=shape | change)
        save_model(tmp_path / "m.zip", model.card, model.network, model.stack, changed, model.lexicon)
        with pytest.raises(BackendError, match="its weights don't fit its card"):
            load_network(tmp_path / "m.zip")

"""The logistic model of the offline agent finds the same optimum as crfsuite, and is the same every time."""

import random

import pycrfsuite
import pytest

from models_runtime.backends.refining.logistic import C2, Example, Vocabulary, fit

# Two words make an identifier likely, one unlikely, and the others say nothing.
PULL = {"dr": 2.0, "años": 1.5, "mg": -3.0}
WORDS = [*PULL, *(f"w{number}" for number in range(40))]


def drawn(seed, count):
    chance = random.Random(seed)
    rows = []
    for _ in range(count):
        words = sorted({"bias", *chance.sample(WORDS, 4)})
        score = sum(PULL.get(word, 0) for word in words) + chance.gauss(0, 1)
        rows.append((words, score > 0.3))
    return rows


def learned(rows):
    vocabulary = Vocabulary()
    return fit(vocabulary, [Example(vocabulary.add(words), right) for words, right in rows])


def test_probabilities_are_those_of_crfsuite(tmp_path):
    rows = drawn(7, 600)
    trainer = pycrfsuite.Trainer(algorithm="lbfgs", params={"c1": 0, "c2": C2, "epsilon": 1e-8}, verbose=False)
    for words, right in rows:
        trainer.append(pycrfsuite.ItemSequence([words]), [str(right)])
    trainer.train(str(tmp_path / "model"))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "model"))
    model = learned(rows)
    for words, _right in drawn(8, 100):
        tagger.set([words])
        assert model.probability(words) == pytest.approx(tagger.marginal("True", 0), abs=0.01)


def test_it_is_deterministic_and_ignores_features_without_examples():
    rows = drawn(7, 200)
    model, again = learned(rows), learned(rows)
    assert model.weights == again.weights
    later = model.vocabulary.add(["seen later"])
    assert list(later) == [len(model.weights)]
    assert model.probability(["bias", "dr", "seen later", "never seen"]) == model.probability(["bias", "dr"])


def test_classes_that_features_separate_get_finite_weights():
    model = learned([(["bias", "a"], True), (["bias", "b"], False)] * 50)
    assert 0.9 < model.probability(["bias", "a"]) < 1
    assert 0 < model.probability(["bias", "b"]) < 0.1
    assert model.probability([]) == 0.5

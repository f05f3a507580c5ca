"""The offline agent: each result overlaps its annotation and no other one; its validators and its logistic model."""

import random

import pycrfsuite
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.text.spans import Span, overlaps, tokenize
from models_runtime.backends.refining.logistic import C2, DecisionExample, Vocabulary, fit
from models_runtime.backends.refining.offline import OfflineAgent
from models_runtime.backends.refining.todo import Action, Todo, problems
from models_runtime.backends.refining.validators import validate
from tests.refining.conftest import note_of

LABELS = ["PATIENT", "DOCTOR", "AGE", "DATE", "CITY", "HOSPITAL"]
LEARNED, NOTES = 24, 6


@pytest.fixture(scope="module")
def agent():
    """The agent and its model of some notes."""
    made = OfflineAgent("i2b2-2014")
    notes = (note_of(number) for number in range(LEARNED))
    return made, made.learn(made.examples(text, [Span(*span) for span in spans]) for text, spans in notes)


def tokens_of(number):
    return tokenize(note_of(number)[0])


# The tokens of suggestions that don't overlap, each with its label: cut points, of which every other piece is a span.
CUTS = st.lists(
    st.tuples(st.integers(0, 60), st.sampled_from(LABELS)), min_size=2, max_size=16, unique_by=lambda c: c[0]
)


@given(number=st.integers(LEARNED, LEARNED + NOTES), cuts=CUTS)
def test_every_output_overlaps_exactly_one_input(agent, number, cuts):
    text, _spans = note_of(number)
    tokens = tokens_of(number)
    ordered = sorted((at % len(tokens), label) for at, label in cuts)
    spans = [
        Span(tokens[first].start, tokens[past - 1].end, label)
        for (first, label), (past, _) in zip(ordered[::2], ordered[1::2], strict=False)
        if first < past
    ]
    made, model = agent
    done = made.refine(Todo.of(text, spans, LABELS), model)
    assert problems(done) == [] and [item.span for item in done.items] == sorted(spans)
    results = done.results()
    assert len(results) == len(set(results)) <= len(spans)
    for result in results:
        assert len([span for span in spans if overlaps(result, span)]) == 1 and result.label in LABELS


def test_each_action_occurs(agent):
    """The property is not empty: of a note's suggestions, the agent keeps, changes and removes some."""
    text, spans = note_of(LEARNED)
    made, model = agent
    wrong = [Span(text.index("rosso"), text.index("rosso") + 5, "PATIENT")]
    moved = [Span(start - 6 if label == "DOCTOR" else start, end, label) for start, end, label in spans]
    done = made.refine(Todo.of(text, [*moved, *wrong], LABELS), model)
    assert {item.decision.action for item in done.items} == {Action.KEEP, Action.UPDATE, Action.REMOVE}
    assert {(one.start, one.end, one.label) for one in done.results()} == set(spans)


NOBODY = [("no-identifier", False)]


@pytest.mark.parametrize(("text", "part", "expected"), [
    ("Admitted on 12/03/2021.", "12/03/2021", [("date", True)]),
    ("Admitted on 31/02/2021.", "31/02/2021", [("date", False)]), ("BP 120/80 sitting", "120/80", NOBODY),
    ("Blutdruck 130/85 gemessen", "130/85", NOBODY),
    ("write to anna.rossi@ospedale.it now", "anna.rossi@ospedale.it", [("e-mail", True)]),
    ("write to anna@ now", "anna@", [("e-mail", False)]),
    ("see https://www.ospedale.it/a?b=1 there", "https://www.ospedale.it/a?b=1", [("url", True)]),
    ("see www. there", "www.", [("url", False)]), ("DNI 12345678Z", "12345678Z", [("identifier", True)]),
    ("IP 192.168.0.12", "192.168.0.12", [("ip-address", True)]), ("Parkinson's disease", "Parkinson", NOBODY),
    ("the patient Anna", "Anna", []),
])  # fmt: skip
def test_checks_of_the_form(text, part, expected):
    start = text.index(part)
    found = validate(text, Span(start, start + len(part), "X"))
    assert [(check.name, check.fits) for check in found] == expected
    assert all(part not in check.detail for check in found)


@pytest.mark.parametrize(
    ("text", "part", "label", "wrong"),
    [
        ("Seen in cardiology today.", "cardiology", "HOSPITAL", True),
        ("Visita in Neurochirurgia.", "Neurochirurgia", "HOSPITAL", True),
        ("Ingresa en Medicina Interna.", "Medicina Interna", "HOSPITAL", True),
        ("Ingresa en Unidad de Cuidados Intensivos.", "Unidad de Cuidados Intensivos", "HOSPITAL", True),
        ("Aufnahme auf die Intensivstation.", "Intensivstation", "HOSPITAL", True),
        ("Seen at Mercy East today.", "Mercy East", "HOSPITAL", False),
        ("Ingresó en el Hospital General.", "Hospital General", "HOSPITAL", False),
        ("A brown rash on the arm.", "brown", "PATIENT", True), ("Lesioni di colore rosso.", "rosso", "PATIENT", True),
        ("Anna Brown has a rash.", "Brown", "PATIENT", False),
        ("paziente mario rossi, nato a roma", "mario rossi", "PATIENT", False),
        ("her brother was there", "brother", "FAMILY", False), ("WBC 12, platelets 45 today.", "45", "AGE", True),
        ("RR 22 this morning.", "22", "AGE", True), ("The patient is 84 years old.", "84", "AGE", False),
        ("Padres de 74 y 64 años.", "74", "AGE", False),
        ("Contact with the babysitter, 19, negative.", "19", "AGE", False),
        ("In comunità hasta los 18. Dopo sola.", "18", "AGE", False),
        ("Hierro 31, ferritina 12.", "Hierro", "PATIENT", True), ("Lo ve Hierro mañana.", "Hierro", "DOCTOR", False),
        ("La hermana mayor vive en casa.", "mayor", "PATIENT", True),
        # These still identify somebody, however they are written.
        ("Fecha de Ingreso: 14/14/2014.", "14/14/2014", "DATE", False),
        ("E-mail: guglieri_bea@gva", "guglieri_bea@gva", "EMAIL", False),
        ("Ricoverato dal 27/02 al 30/03.", "27/02", "DATE", False),
    ],
)  # fmt: skip
def test_without_gold_the_validators_remove_what_identifies_nobody(text, part, label, wrong):
    start = text.index(part)
    todo = Todo.of(text, [Span(start, start + len(part), label)], [label])
    assert bool(OfflineAgent("i2b2-2014").refine(todo, None).results()) != wrong


@pytest.mark.parametrize(
    ("text", "part", "label", "right"),
    [
        ("Seen by Dr. John Davis today.", "John Davis", "PATIENT", "DOCTOR"),
        ("Patient: John Davis\n", "John Davis", "DOCTOR", "PATIENT"),
        ("The patient is 84 years old.", "84", "DATE", "AGE"),
        ("Ricoverato presso Ospedale San Raffaele, Milano.", "Ospedale San Raffaele", "ORGANIZATION", "HOSPITAL"),
        # A hospital or a name whose bounds the rules see elsewhere, and what only the patient's name has after it.
        ("Trasferito presso Policlinico San Siro di Bergamo.", "Policlinico San Siro", "ORGANIZATION", "HOSPITAL"),
        ("Pt D. Okafor (2/28/76)", "D. Okafor", "DOCTOR", "PATIENT"),
        ("Kevin Quispe Huamán, 19 años, pasa a planta", "Kevin Quispe Huamán", "DOCTOR", "PATIENT"),
        ("DNI 12345678Z", "12345678Z", "MEDICALRECORD", "MEDICALRECORD"),  # numbers look alike
        ("Records requested, 781-555-0102.", "781-555-0102", "FAX", "FAX"),
        ("SW consult: Bonnie Aldrich, Monday.", "Bonnie Aldrich", "DOCTOR", "DOCTOR"),  # a name without a role
        ("Centro Malattie Emergenti di Verona.", "Verona", "STATE", "CITY"),
        ("Seen by Dr. Davis. Called Davis again.", "Davis again"[:5], "DOCTOR", "DOCTOR"),
    ],
)
def test_without_gold_the_rules_change_labels(text, part, label, right):
    start = text.index(part)
    todo = Todo.of(
        text,
        [Span(start, start + len(part), label)],
        [*LABELS, "ORGANIZATION", "MEDICALRECORD", "IDNUM", "PHONE", "FAX", "STATE"],
    )
    (result,) = OfflineAgent("i2b2-2014").refine(todo, None).results()
    assert result.label == right


# Two words make an identifier likely, one unlikely, and the others say nothing.
PULL = {"dr": 2.0, "años": 1.5, "mg": -3.0}
DRAWN = [*PULL, *(f"w{number}" for number in range(40))]


def drawn(seed, count):
    chance = random.Random(seed)
    rows = []
    for _ in range(count):
        words = sorted({"bias", *chance.sample(DRAWN, 4)})
        score = sum(PULL.get(word, 0) for word in words) + chance.gauss(0, 1)
        rows.append((words, score > 0.3))
    return rows


def learned(rows):
    vocabulary = Vocabulary()
    return fit(vocabulary, [DecisionExample(vocabulary.add(words), right) for words, right in rows])


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
    model, again = learned(drawn(7, 200)), learned(drawn(7, 200))
    assert model.weights == again.weights
    model.vocabulary.add(["seen later"])
    assert model.probability(["bias", "dr", "seen later", "never seen"]) == model.probability(["bias", "dr"])
    # Classes that features separate get finite weights.
    apart = learned([(["bias", "a"], True), (["bias", "b"], False)] * 50)
    assert 0 < apart.probability(["bias", "b"]) < 0.1 < 0.9 < apart.probability(["bias", "a"]) < 1

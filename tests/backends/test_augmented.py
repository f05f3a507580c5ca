"""Training notes that lose their header, and copies with surrogates: what each learner learns from."""

import random
from pathlib import Path

import pytest

from annotations.domain.spans import Span
from models_runtime.backends import BackendError, files
from models_runtime.backends.augmenting.augmented import augmented
from models_runtime.backends.augmenting.surrogates import with_surrogates
from models_runtime.backends.crf.child import LEARNER as CRF
from models_runtime.backends.learner import Learner, TrainingTask
from tests.backends.made import made_notes


def task(count: int = 40, **settings: float) -> TrainingTask:
    return TrainingTask(made_notes(count), "meddocan", language="es", settings=settings, held_out=made_notes(2))


def with_prose(count: int) -> TrainingTask:
    """A task whose notes end with a paragraph, as real ones do, and have two fields before."""
    notes = [(text + "\n" + "reposo y control " * 9, spans) for text, spans in made_notes(count)]
    return TrainingTask(notes, "meddocan", language="es", settings={"header_dropout": 0.5})


def test_without_these_settings_nothing_changes() -> None:
    plain = task()
    assert augmented(plain) is plain
    assert augmented(task(header_dropout=0.0, surrogates=0)).notes == plain.notes


def test_header_dropout() -> None:
    given = with_prose(60)
    changed = augmented(given).notes
    assert len(changed) == 60
    dropped = [new for old, new in zip(given.notes, changed, strict=True) if new != old]
    assert 15 <= len(dropped) <= 45
    assert all("Nombre:" not in text and len(spans) < 5 for text, spans in dropped)
    assert augmented(given).notes == changed


def test_copies_with_surrogates() -> None:
    given = task(surrogates=2)
    changed = augmented(given)
    assert changed.notes[:40] == given.notes and len(changed.notes) == 120
    assert (changed.held_out, list(changed.unlabeled)) == (given.held_out, [])
    for (text, spans), *copies in zip(given.notes, changed.notes[40:80], changed.notes[80:], strict=True):
        assert copies[0] != copies[1]
        for new, new_spans in copies:
            pairs = list(zip(spans, new_spans, strict=True))
            assert [old.label for old, _ in pairs] == [span.label for _, span in pairs]
            words = [(text[a.start : a.end], new[b.start : b.end], a.label) for a, b in pairs]
            assert all((old == made) == (label == "FECHAS") for old, made, label in words)
            # The text between the spans is the same.
            ends, new_ends = ([0, *(span.end for span in each)] for each in (spans, new_spans))
            starts, new_starts = (
                [*(span.start for span in each), len(whole)] for each, whole in ((spans, text), (new_spans, new))
            )
            assert list(map(text.__getitem__, map(slice, ends, starts))) == list(
                map(new.__getitem__, map(slice, new_ends, new_starts))
            )


def test_mentions_of_one_person_get_one_surrogate_and_overlapping_spans_keep_their_text() -> None:
    text = "Consulta de Eva Sanz. Al alta, Sanz llama a Marco Rossi."
    spans = [Span(12, 20, "NOMBRE_SUJETO_ASISTENCIA"), Span(31, 35, "NOMBRE_SUJETO_ASISTENCIA"),
             Span(44, 55, "FAMILIARES_SUJETO_ASISTENCIA"), Span(44, 49, "NOMBRE_SUJETO_ASISTENCIA")]  # fmt: skip
    new, found = with_surrogates(text, spans, "meddocan", "es", random.Random(1))
    whole, family = (new[span.start : span.end] for span in found[:2])
    assert whole.split()[1] == family != "Sanz" and new.endswith("llama a Marco Rossi.")


def test_chance_depends_on_the_seed_and_the_text_alone() -> None:
    """A refit, which has more notes, changes the same notes in the same way."""
    few, many = (with_prose(count) for count in (10, 30))
    texts = {text for text, _ in augmented(many).notes}
    assert {text for text, _ in augmented(few).notes} <= texts
    one, other = (augmented(task(surrogates=1, seed=seed)).notes[40:] for seed in (7, 8))
    assert augmented(task(surrogates=1)).notes[40:] == one != other


def test_a_label_set_that_is_not_shipped_has_no_surrogates() -> None:
    with pytest.raises(BackendError, match="No surrogates can be made for this label set"):
        augmented(TrainingTask(made_notes(2), "own", settings={"surrogates": 1}))
    given = TrainingTask(made_notes(2), "own", settings={"header_dropout": 1.0})
    assert len(augmented(given).notes) == 2


def learners() -> dict[str, Learner]:
    pytest.importorskip("torch")
    pytest.importorskip("spacy")
    from models_runtime.backends.bilstm_crf.child import LEARNER as BILSTM
    from models_runtime.backends.spacy_ner.child import LEARNER as SPACY

    return {"crf": CRF, "bilstm": BILSTM, "spacy": SPACY}


@pytest.mark.parametrize("kind", ["crf", "bilstm", "spacy"])
def test_each_kind_learns_from_them_and_counts_gold_notes(kind: str, tmp_path: Path, small_networks: None) -> None:
    learner, path, made = learners()[kind], tmp_path / "model.zip", set()
    for settings in ({}, {"surrogates": 1}):
        algorithm = "ap" if kind == "crf" else "quick"
        given = TrainingTask(made_notes(3), "meddocan", algorithm, 1, language="es", settings=settings)
        made.add(learner.learn(given, path))
        assert files.card_of(path)["notes"] == 3
    assert len(made) == 2

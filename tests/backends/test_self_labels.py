"""Self-training: which lines of a note without gold are learned from; notes without header or with surrogates."""

import random
from dataclasses import replace

import pytest

from annotations.text.spans import Span
from models_runtime.backends import BackendError, children, files
from models_runtime.backends.augmenting import Edit, augmented, edited, header_end, with_surrogates
from models_runtime.backends.crf.backend import CrfBackend
from models_runtime.backends.crf.training import LEARNER as CRF
from models_runtime.backends.crf.training import learn
from models_runtime.backends.learner import TrainingTask, task_key
from models_runtime.backends.marginals import SelfLabeled, labeled_by, self_labeled
from models_runtime.backends.notes import read, sure_pieces
from tests.backends.made import made_notes
from tests.timing import takes_at_most

TEXT = "Nombre: Ana Gil.\nCiudad: Burgos.\n\nVista por Luis.\n"
ANA, BURGOS, LUIS = Span(8, 15, "PATIENT"), Span(25, 31, "CITY"), Span(44, 48, "DOCTOR")
GOLD = [
    (f"Nombre: {name}.\nCiudad: {town}.\n", [Span(8, 8 + len(name), "PATIENT"), *_town])
    for name, town in (("Eva Sanz", "Madrid"), ("Marco Rossi", "Bari"), ("Rita Neri", "Lecce")) * 2
    for _town in [[Span(18 + len(name), 18 + len(name) + len(town), "CITY")]]
]


BOTH = Span(12, 22, "PATIENT")  # over the first line break
# Each sure span touches the next line; the first line has an unsure one.
CHAIN = [Span(4 * at + 1, 4 * at + 6, "PATIENT") for at in range(10)]
LAST = Span(80, 84, "DOCTOR")


@pytest.mark.parametrize(
    ("text", "sure", "unsure", "spans", "stretches"),
    [
        (TEXT, [ANA, LUIS], [BURGOS], [ANA, LUIS], [(0, 17), (33, 50)]),  # without the line of the unsure span
        (TEXT, [ANA], [], [ANA], [(0, len(TEXT))]),  # lines side by side are one stretch
        (TEXT, [BOTH, LUIS], [BURGOS], [LUIS], [(33, 50)]),  # a span over two lines as a whole or not at all
        ("Ana\n" * 20 + "Luis\n", [*CHAIN, LAST], [Span(0, 1, "CITY")], [LAST], [(44, 85)]),  # nothing of a chain
    ],
)
def test_lines_without_unsure_spans_are_learned_from(text, sure, unsure, spans, stretches):
    assert self_labeled(text, sure, unsure) == SelfLabeled(text, spans, stretches)


def test_the_time_of_a_note_without_sure_lines_grows_with_the_lines_and_not_with_their_square():
    assert self_labeled("Ana\n \n", [], [Span(0, 3, "PATIENT")]) is None and self_labeled("", [], []) is None
    spans = [Span(4 * at, 4 * at + 3, "PATIENT") for at in range(10_000)]
    assert takes_at_most(1.5, lambda: self_labeled("Ana\n" * 10_000, spans, spans))


def test_the_sequences_of_the_sure_stretches():
    note = read(TEXT)
    pieces = list(sure_pieces(note, [(0, 17), (33, 50)], most=4))
    words = [TEXT[note.tokens[first].start : note.tokens[past - 1].end] for first, past in pieces]
    assert words == ["Nombre: Ana Gil", ".", "Vista por Luis."]


def test_a_crf_learns_from_the_sure_lines_alone_and_half_as_much(tmp_path):
    other = "Nombre: Ana Gil.\nUnidad: Zafra.\n"
    spans = [Span(8, 15, "PATIENT"), Span(25, 30, "CITY")]

    def marked(notes=GOLD, **options):
        """The probability that the town is marked."""
        learn(TrainingTask(notes, "meddocan", **options), tmp_path / "model.zip")
        return CrfBackend(str(tmp_path / "model.zip")).predict_marginals(["Unidad: Zafra.\n"])[0][1].marked[2]

    whole, part = (SelfLabeled(other, spans, [(0, end)]) for end in (len(other), 17))
    after = marked(self_labeled=[whole] * 4)
    assert after > marked() + 0.1 and marked(self_labeled=[part] * 4) < after - 0.1
    # Four notes with the weight one half are as good as two gold notes: same optimum, the search differs a little.
    assert after == pytest.approx(marked([*GOLD, *[(other, spans)] * 2]), abs=0.02)


def test_a_label_that_no_gold_note_has_is_not_learned(tmp_path):
    odd = SelfLabeled("Nombre: Ana Gil.\n", [Span(8, 15, "HOSPITAL")], [(0, 17)])
    learn(TrainingTask(GOLD, "meddocan", unlabeled=[odd.text], self_labeled=[odd]), tmp_path / "m.zip")
    assert CrfBackend(str(tmp_path / "m.zip")).labels == ("CITY", "PATIENT")


def test_a_model_labels_the_lines_of_which_it_is_sure(tmp_path):
    learn(TrainingTask(GOLD, "meddocan", iterations=60), tmp_path / "m.zip")
    text = "Nombre: Eva Sanz.\nCiudad: Madrid.\nUnidad Qz: Sanz Madrid Xx\n"
    found = labeled_by(CrfBackend(str(tmp_path / "m.zip")), text)
    assert found is not None and (0, 34) in found.sure
    assert [text[span.start : span.end] for span in found.spans][:2] == ["Eva Sanz", "Madrid"]


def test_the_child_process_learns_from_self_labeled_notes(tmp_path):
    note = SelfLabeled("Nombre: Ana Gil.\nUnidad: Zafra.\n", [Span(8, 15, "PATIENT"), Span(25, 30, "CITY")], [(0, 33)])

    def sha256(name, labeled):
        return children.train(
            "models_runtime.backends.crf.training.LEARNER", GOLD, tmp_path / name, unlabeled=[note.text],
            self_labeled=labeled, options={"label_set": "meddocan", "iterations": 1}, on_step=lambda step: False,
        )["sha256"]  # fmt: skip

    assert sha256("1.zip", [note]) == sha256("2.zip", [note]) != sha256("3.zip", [])


def test_a_checkpoint_belongs_to_the_same_self_labeled_notes():
    task = TrainingTask(GOLD, "meddocan")
    note = SelfLabeled(TEXT, [ANA], [(0, 17)])
    keys = {task_key(replace(task, self_labeled=notes)) for notes in ([], [note], [replace(note, sure=[(33, 50)])])}
    assert len(keys) == 3


def task(count=40, **settings):
    return TrainingTask(made_notes(count), "meddocan", language="es", settings=settings, held_out=made_notes(2))


def with_prose(count):
    """A task whose notes end with a paragraph, as real ones do, and have two fields before."""
    notes = [(text + "\n" + "reposo y control " * 9, spans) for text, spans in made_notes(count)]
    return TrainingTask(notes, "meddocan", language="es", settings={"header_dropout": 0.5})


def test_header_dropout():
    plain = task()
    assert augmented(plain) is plain
    given = with_prose(60)
    dropped = [new for old, new in zip(given.notes, augmented(given).notes, strict=True) if new != old]
    assert 15 <= len(dropped) <= 45 and all("Nombre:" not in text and len(spans) < 5 for text, spans in dropped)


def test_copies_with_surrogates():
    given = task(surrogates=2)
    changed = augmented(given)
    assert changed.notes[:40] == given.notes and len(changed.notes) == 120
    assert (changed.held_out, list(changed.unlabeled)) == (given.held_out, [])
    for (text, spans), *copies in zip(given.notes, changed.notes[40:80], changed.notes[80:], strict=True):
        assert copies[0] != copies[1]
        for new, new_spans in copies:
            assert [span.label for span in spans] == [span.label for span in new_spans]
            for old, made in zip(spans, new_spans, strict=True):
                same = text[old.start : old.end] == new[made.start : made.end]
                assert same == (old.label == "FECHAS")
            assert between(text, spans) == between(new, new_spans)


def between(text, spans):
    """The text between the spans."""
    starts, ends = [*(span.start for span in spans), len(text)], [0, *(span.end for span in spans)]
    return [text[end:start] for end, start in zip(ends, starts, strict=True)]


def test_mentions_of_one_person_get_one_surrogate_and_overlapping_spans_keep_their_text():
    text = "Consulta de Eva Sanz. Al alta, Sanz llama a Marco Rossi."
    spans = [Span(12, 20, "NOMBRE_SUJETO_ASISTENCIA"), Span(31, 35, "NOMBRE_SUJETO_ASISTENCIA"),
             Span(44, 55, "FAMILIARES_SUJETO_ASISTENCIA"), Span(44, 49, "NOMBRE_SUJETO_ASISTENCIA")]  # fmt: skip
    new, found = with_surrogates(text, spans, "meddocan", "es", random.Random(1))
    whole, family = (new[span.start : span.end] for span in found[:2])
    assert whole.split()[1] == family != "Sanz" and new.endswith("llama a Marco Rossi.")


def test_chance_depends_on_the_seed_and_the_text_alone():
    """A refit, which has more notes, changes the same notes in the same way."""
    few, many = (with_prose(count) for count in (10, 30))
    texts = {text for text, _ in augmented(many).notes}
    assert {text for text, _ in augmented(few).notes} <= texts
    one, other = (augmented(task(surrogates=1, seed=seed)).notes[40:] for seed in (7, 8))
    assert augmented(task(surrogates=1)).notes[40:] == one != other


def test_a_label_set_that_is_not_shipped_has_no_surrogates():
    with pytest.raises(BackendError, match="No surrogates can be made for this label set"):
        augmented(TrainingTask(made_notes(2), "own", settings={"surrogates": 1}))
    assert len(augmented(TrainingTask(made_notes(2), "own", settings={"header_dropout": 1.0})).notes) == 2


def learners():
    pytest.importorskip("torch")
    pytest.importorskip("spacy")
    from models_runtime.backends.bilstm_crf.training import LEARNER as BILSTM
    from models_runtime.backends.spacy_ner.training import LEARNER as SPACY

    return {"crf": CRF, "bilstm": BILSTM, "spacy": SPACY}


@pytest.mark.usefixtures("small_networks", "small_spacy")
@pytest.mark.parametrize("kind", ["crf", "bilstm", "spacy"])
def test_each_kind_learns_from_them_and_counts_gold_notes(kind, tmp_path):
    """A CRF and a BiLSTM-CRF also learn from self-labeled notes."""
    learner, path, made = learners()[kind], tmp_path / "model.zip", set()
    whole = [SelfLabeled(text, spans, [(0, len(text))]) for text, spans in made_notes(4)[3:]]
    changes = ({}, {"settings": {"surrogates": 1}}, {"self_labeled": whole})
    for change in changes[: 2 if kind == "spacy" else 3]:
        algorithm = "ap" if kind == "crf" else "quick"
        made.add(learner.learn(TrainingTask(made_notes(2), "meddocan", algorithm, 1, language="es", **change), path))
        assert files.card_of(path)["notes"] == 2
    assert len(made) == (2 if kind == "spacy" else 3)


HEADER = "Datos del paciente.\nNombre:  Eva.\nCP: 28013.\nMédico: Luis Otero NºCol: 28 28 7.\n"
PROSE = "Informe: " + "acude por dolor " * 6 + "a Eva.\nRemitido por: Luis Otero.\n"


@pytest.mark.parametrize(
    ("header", "rest"),
    [
        (HEADER, PROSE),
        ("\ufeff\r\nWARD 7\r\nName: A\r\nDOB: 1\r\n", "\r\nShe came.\r\n"),
        ("Name: A\rDOB: 1\r", "She came."),
        ("", PROSE),  # no fields before the prose
        ("", "Motivo de ingreso: dolor.\n" + PROSE),  # one line is a heading
        ("", HEADER),  # nothing else
        ("", ""),
        ("", "Visto alle 10:30\nRivisto alle 11:30\n" + PROSE),  # times are no fields
    ],
)
def test_where_the_header_ends(header, rest):
    assert header_end(header + rest) == len(header)


@pytest.mark.parametrize(("edit", "text", "bounds"), [
    (Edit(3, 5, "xyz"), "ab xyz ef", [(0, 2, "A"), (1, 6, "B"), (3, 6, "C"), (7, 9, "D")]),
    (Edit(1, 4, ""), "ad ef", [(0, 1, "A"), (1, 2, "B"), (1, 2, "C"), (3, 5, "D")]),
    (Edit(0, 2, " "), "  cd ef", [(2, 4, "B"), (2, 4, "C"), (5, 7, "D")]),
])  # fmt: skip
def test_edits_that_touch_and_cross_spans(edit, text, bounds):
    spans = [Span(0, 2, "A"), Span(1, 5, "B"), Span(3, 5, "C"), Span(6, 8, "D")]
    assert edited("ab cd ef", spans, [edit]) == (text, [Span(*each) for each in bounds])

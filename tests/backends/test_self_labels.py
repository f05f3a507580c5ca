"""Self-training: which lines of a note without gold are learned from, and how much they count."""

from dataclasses import replace
from pathlib import Path
from time import process_time

import pytest

from annotations.domain.spans import Span
from models_runtime.backends import children
from models_runtime.backends.crf.backend import CrfBackend
from models_runtime.backends.crf.training import train
from models_runtime.backends.learner import TrainingTask, task_key
from models_runtime.backends.notes.note import read
from models_runtime.backends.notes.pieces import sure_pieces
from models_runtime.backends.self_labels import SelfLabeled, labeled_by, self_labeled

TEXT = "Nombre: Ana Gil.\nCiudad: Burgos.\n\nVista por Luis.\n"
ANA, BURGOS, LUIS = Span(8, 15, "PATIENT"), Span(25, 31, "CITY"), Span(44, 48, "DOCTOR")
GOLD = [
    (f"Nombre: {name}.\nCiudad: {town}.\n", [Span(8, 8 + len(name), "PATIENT"), *_town])
    for name, town in (("Eva Sanz", "Madrid"), ("Marco Rossi", "Bari"), ("Rita Neri", "Lecce")) * 2
    for _town in [[Span(18 + len(name), 18 + len(name) + len(town), "CITY")]]
]


def test_a_line_with_an_unsure_span_is_left_out():
    found = self_labeled(TEXT, [ANA, LUIS], [BURGOS])
    assert found == SelfLabeled(TEXT, [ANA, LUIS], [(0, 17), (33, 50)])
    assert [TEXT[start:end] for start, end in found.sure] == ["Nombre: Ana Gil.\n", "\nVista por Luis.\n"]
    whole = self_labeled(TEXT, [ANA], [])
    assert whole is not None and whole.sure == [(0, len(TEXT))], "lines side by side are one stretch"


def test_a_span_over_two_lines_is_learned_from_as_a_whole_or_not_at_all():
    both = Span(12, 22, "PATIENT")  # over the first line break
    found = self_labeled(TEXT, [both, LUIS], [Span(25, 31, "CITY")])
    assert found == SelfLabeled(TEXT, [LUIS], [(33, 50)])


def test_a_note_without_a_sure_line_is_not_used():
    assert self_labeled("Ana\n \n", [], [Span(0, 3, "PATIENT")]) is None
    assert self_labeled("", [], []) is None


def test_a_chain_of_spans_is_left_out_as_a_whole():
    """Each sure span touches the next line; the first line has an unsure one."""
    text = "Ana\n" * 20 + "Luis\n"
    chain = [Span(4 * at + 1, 4 * at + 6, "PATIENT") for at in range(10)]
    found = self_labeled(text, [*chain, Span(80, 84, "DOCTOR")], [Span(0, 1, "CITY")])
    assert found == SelfLabeled(text, [Span(80, 84, "DOCTOR")], [(44, 85)])


def test_the_time_grows_with_the_lines_and_not_with_their_square():
    lines = 20_000
    spans = [Span(4 * at, 4 * at + 3, "PATIENT") for at in range(lines)]
    begin = process_time()
    assert self_labeled("Ana\n" * lines, spans, spans) is None
    assert process_time() - begin < 3


def test_the_sequences_of_the_sure_stretches():
    note = read(TEXT)
    pieces = list(sure_pieces(note, [(0, 17), (33, 50)], most=4))
    words = [TEXT[note.tokens[first].start : note.tokens[past - 1].end] for first, past in pieces]
    assert words == ["Nombre: Ana Gil", ".", "Vista por Luis."]


def learned(path: Path, **options) -> CrfBackend:
    train(GOLD, path, label_set="meddocan", **options)
    return CrfBackend(str(path))


def test_a_crf_learns_from_the_sure_lines_alone_and_half_as_much(tmp_path):
    other = "Nombre: Ana Gil.\nUnidad: Zafra.\n"
    spans = [Span(8, 15, "PATIENT"), Span(25, 30, "CITY")]
    asked = "Unidad: Zafra.\n"
    before = learned(tmp_path / "gold.zip").predict_marginals([asked])[0][1].marked[2]
    whole = SelfLabeled(other, spans, [(0, len(other))])
    after = learned(tmp_path / "all.zip", self_labeled=[whole] * 4).predict_marginals([asked])[0][1].marked[2]
    first = replace(whole, sure=[(0, 17)])
    part = learned(tmp_path / "part.zip", self_labeled=[first] * 4).predict_marginals([asked])[0][1].marked[2]
    assert after > before + 0.1 and part < after - 0.1
    # Four notes with the weight one half are as good as two gold notes: same optimum, the search differs a little.
    train([*GOLD, *[(other, spans)] * 2], tmp_path / "two.zip", label_set="meddocan")
    two = CrfBackend(str(tmp_path / "two.zip")).predict_marginals([asked])[0][1].marked[2]
    assert after == pytest.approx(two, abs=0.02)


def test_a_label_that_no_gold_note_has_is_not_learned(tmp_path):
    odd = SelfLabeled("Nombre: Ana Gil.\n", [Span(8, 15, "HOSPITAL")], [(0, 17)])
    plain = train(GOLD, tmp_path / "a.zip", label_set="meddocan", unlabeled=[odd.text])
    train(GOLD, tmp_path / "b.zip", label_set="meddocan", unlabeled=[odd.text], self_labeled=[odd])
    assert plain and CrfBackend(str(tmp_path / "b.zip")).labels == CrfBackend(str(tmp_path / "a.zip")).labels


def test_a_model_labels_the_lines_of_which_it_is_sure(tmp_path):
    model = learned(tmp_path / "m.zip", iterations=60)
    text = "Nombre: Eva Sanz.\nCiudad: Madrid.\nUnidad Qz: Sanz Madrid Xx\n"
    found = labeled_by(model, text)
    assert found is not None and (0, 34) in found.sure
    assert [text[span.start : span.end] for span in found.spans][:2] == ["Eva Sanz", "Madrid"]


@pytest.mark.parametrize("module", ["crf", "bilstm_crf"])
def test_the_child_process_learns_from_self_labeled_notes(tmp_path, module):
    if module == "bilstm_crf":
        pytest.importorskip("torch")
    note = SelfLabeled("Nombre: Ana Gil.\nUnidad: Zafra.\n", [Span(8, 15, "PATIENT"), Span(25, 30, "CITY")], [(0, 33)])
    options = {"label_set": "meddocan", "iterations": 1}

    def sha256(name: str, labeled: list[SelfLabeled]) -> str:
        return children.train(
            f"models_runtime.backends.{module}.child", GOLD, tmp_path / name, options=options, unlabeled=[note.text],
            on_step=lambda step: False, self_labeled=labeled,
        )["sha256"]  # fmt: skip

    first = sha256("1.zip", [note])
    assert first != sha256("2.zip", [])
    assert module != "crf" or sha256("3.zip", [note]) == first


def test_a_checkpoint_belongs_to_the_same_self_labeled_notes():
    task = TrainingTask(GOLD, "meddocan")
    note = SelfLabeled(TEXT, [ANA], [(0, 17)])
    keys = {task_key(replace(task, self_labeled=notes)) for notes in ([], [note], [replace(note, sure=[(33, 50)])])}
    assert len(keys) == 3

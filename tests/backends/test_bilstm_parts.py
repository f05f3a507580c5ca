"""Parts of the BiLSTM-CRF: which properties of tokens the network uses, and grouping of sentences (Catelli 2021)."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from models_runtime.backends.bilstm_crf.encoding import NoteEncoder  # noqa: E402
from models_runtime.backends.bilstm_crf.model import load_model  # noqa: E402
from models_runtime.backends.bilstm_crf.network import BiLstmCrf, Shape, batch  # noqa: E402
from models_runtime.backends.bilstm_crf.training import ALGORITHMS, learn  # noqa: E402
from models_runtime.backends.bilstm_crf.vocabulary import COLUMNS, Rows, Vocabulary  # noqa: E402
from models_runtime.backends.learner import TrainingTask  # noqa: E402
from models_runtime.backends.neural.tags import Tags  # noqa: E402
from models_runtime.backends.notes.grouping import groups  # noqa: E402 - needs torch
from models_runtime.backends.notes.note import read  # noqa: E402
from models_runtime.backends.notes.rule_tags import rules_for  # noqa: E402
from tests.backends.made import made_notes  # noqa: E402

TOKENS = 6
SIZES = dict.fromkeys((*COLUMNS, "character"), 9)


@pytest.fixture(scope="module")
def network() -> BiLstmCrf:
    torch.manual_seed(3)
    return BiLstmCrf(Shape(SIZES, hidden=8, context=4), Tags.of(["A"])).eval()


def rows() -> Rows:
    return Rows(
        np.full((TOKENS, len(COLUMNS)), 3, dtype=np.int32),
        np.full((TOKENS, 16), 3, dtype=np.int32),
        np.full((TOKENS, 12), 3, dtype=np.int32),
        np.full((TOKENS, 4), 0.5, dtype=np.float16),
    )


def scores(network: BiLstmCrf, shown: Rows) -> Any:
    with torch.no_grad():
        return network(batch([shown], "cpu"))[0]


@pytest.mark.parametrize("part", ["word", "columns", "characters", "grams", "context"])
def test_it_uses_words_characters_sub_words_and_context_in_both_directions(network: BiLstmCrf, part: str) -> None:
    """Another value at one token changes the scores of all tokens."""
    plain = rows()
    values = {"word": plain.columns[:, 0]}.get(part, getattr(plain, "columns" if part == "word" else part))
    other = np.array(values)
    other[TOKENS // 2] = 5
    if part == "word":
        columns = plain.columns.copy()
        columns[:, 0] = other
        changed = replace(plain, columns=columns)
    else:
        changed = replace(plain, **{part: other})
    differences = (scores(network, plain) - scores(network, changed)).abs().amax(dim=1)
    assert (differences > 0).all(), differences


def test_groups_of_sentences() -> None:
    note = read("Uno aqui. Dos aqui. Tres aqui. Cuatro aqui. Cinco aqui.")
    words = [
        [note.text[token.start : token.end] for token in note.tokens[first:past]] for first, past in groups(note, 2)
    ]
    assert [[word for word in some if word[0].isupper()] for some in words] == [
        ["Uno", "Dos"],
        ["Tres", "Cuatro"],
        ["Cinco"],
    ]
    assert len(groups(note, 1)) == 5 and len(groups(note, 32)) == 1


def test_prediction_uses_the_grouping_of_the_training(tmp_path: Path) -> None:
    text = made_notes(1)[0][0]
    for asked, grouped in ((3, 3), (0, ALGORITHMS["bilstm"].grouped)):
        made = tmp_path / f"{asked}.zip"
        learn(TrainingTask(made_notes(2), "meddocan", iterations=1, grouping=asked), made)
        assert load_model(made).card.grouped == grouped
    vocabulary = load_model(made).vocabulary
    counts = []
    for factor in (1, 2, 32):
        encoder = NoteEncoder(rules_for("meddocan"), {}, factor)
        note, tags = encoder.rule_tags(text)
        counts.append(len(encoder.items(note, tags, vocabulary)))
        assert counts[-1] == len(groups(note, factor))
    assert counts[0] > counts[1] > counts[2]
    assert isinstance(vocabulary, Vocabulary)

"""The CRF and the BiLSTM-CRF read with summed and kept weights. Their results equal those of plain computations."""

import copy
import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models_runtime.backends import BackendError
from models_runtime.backends.crf import sums
from models_runtime.backends.crf.backend import CrfBackend
from models_runtime.backends.crf.emissions import Emissions
from models_runtime.backends.crf.features import Features, earlier_tags, families
from models_runtime.backends.crf.model import load_model
from models_runtime.backends.crf.paths import Path as TagPath
from models_runtime.backends.crf.paths import _Ahead, best_paths
from models_runtime.backends.crf.rows import Rows
from models_runtime.backends.crf.training import train
from models_runtime.backends.notes.note import Note, read
from models_runtime.backends.notes.rule_tags import rule_tags, rules_for
from tests.backends.contract import HOSTILE
from tests.backends.made import made_notes

pytestmark = pytest.mark.usefixtures("small_networks")
CHARACTERS = "aAbñÑéß|_:.,-/ \n\r\t0123456789\u0301\U0001d400日"


def random_texts() -> list[str]:
    """Texts of random characters, of random words from notes, and without tokens."""
    chance = random.Random(4)
    words = [word for text, _ in made_notes(5) for word in text.split(" ")]
    found = ["".join(chance.choices(CHARACTERS, k=chance.randrange(300))) for _ in range(8)]
    found += [" ".join(chance.choices(words, k=chance.randrange(1, 120))) for _ in range(5)]
    return [*found, "|", "a|b ||| c|d: x", *(text for text in HOSTILE.values() if len(text) < 1000)]


TEXTS = random_texts()


@pytest.fixture(scope="module", params=["plain", "staged"])
def crf(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("crf")
    first, second = folder / "first.zip", folder / "second.zip"
    notes = [*made_notes(8), (TEXTS[3] + TEXTS[10], [])]
    train(notes, first, label_set="meddocan", iterations=12)
    if request.param == "plain":
        return first
    train(notes, second, label_set="meddocan", iterations=8, base=first)
    return second


@pytest.mark.parametrize("most", [None, 3], ids=["kept", "cleared"])
def test_scores_of_the_crf_are_the_sums_of_the_weights_of_all_features(
    crf: Path, monkeypatch: pytest.MonkeyPatch, most: int | None
) -> None:
    if most:
        monkeypatch.setattr(sums, "MOST_SUMS", most)
        monkeypatch.setattr(sums, "MOST_KEYS", most)
    model, rules = load_model(crf), rules_for("meddocan")
    earlier = CrfBackend(str(crf.with_name("first.zip"))) if model.earlier else None
    rows = Rows(families(model.lexicon, staged=earlier is not None))
    fast = Emissions(model.lexicon, model.weights, staged=earlier is not None)
    compared = 0
    for text in TEXTS:
        note, spans = read(text), rules.predict([text])[0]
        before = earlier.predict([text])[0] if earlier else None
        tags, tenths = rule_tags(note, spans), earlier_tags(note, before or ())
        columns = Features(note, spans, before)
        size = len(note.tokens)
        for first, past in {(0, size), (0, size // 2), (size // 2, size)}:
            if first == past:
                continue
            plain = model.weights.sums(
                [
                    model.weights.numbers(feature.decode() for feature in row)
                    for row in rows.of(columns.of(first, past), past - first)
                ]
            )
            found = fast.of(note, tags, tenths, first, past)
            assert np.allclose(found, plain, rtol=0, atol=1e-9)
            compared += past - first
    assert compared > 1000


class _Ones:
    """Weights in which every feature has the weight 1 for each of 100 tags."""

    tags = tuple(range(100))

    def numbers(self, features: Sequence[str]) -> Sequence[str]:
        return features

    def sums(self, features: Sequence[Sequence[str]]) -> np.ndarray:
        return np.array([[float(len(each))] * len(self.tags) for each in features])


def test_tables_of_sums_are_limited_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A new sequence doesn't double a table that is nearly full; a very long one gets what it needs, for itself."""
    monkeypatch.setattr(sums, "MOST_BYTES", 8 << 20)
    table = sums.Sums(_Ones(), range(-1, 2), lambda key: [["x"]] * 3)
    cleared = 0
    for number in range(6):
        assert len(table.rows(range(1500 * number, 1500 * (number + 1)))) == 1500
        assert table.nbytes <= 8 << 20
        if table.is_full:
            table.clear()
            cleared += 1
    assert cleared == 3
    rows = table.rows(range(5000))
    assert len(set(rows.tolist())) == 5000 and table.nbytes > 8 << 20
    table.clear()
    assert table.nbytes < 1 << 20


torch = pytest.importorskip("torch")

from models_runtime.backends.bilstm_crf import fast_scores, vocabulary  # noqa: E402 - needs torch
from models_runtime.backends.bilstm_crf.backend import BiLstmCrfBackend  # noqa: E402
from models_runtime.backends.bilstm_crf.encoding import Item, NoteEncoder, confident_spans  # noqa: E402
from models_runtime.backends.bilstm_crf.fast_scores import FastScores  # noqa: E402
from models_runtime.backends.bilstm_crf.model import Loaded, save_model  # noqa: E402
from models_runtime.backends.bilstm_crf.model import load_model as load_network  # noqa: E402
from models_runtime.backends.bilstm_crf.network import batch  # noqa: E402
from models_runtime.backends.bilstm_crf.training import learn  # noqa: E402
from models_runtime.backends.learner import TrainingTask  # noqa: E402
from models_runtime.backends.neural.crf import Crf  # noqa: E402
from models_runtime.backends.neural.device import Placement, cpu_device  # noqa: E402
from models_runtime.backends.neural.tags import Tags, best_path  # noqa: E402


@pytest.fixture(scope="module", params=[0, 1], ids=["no language", "language"])
def network(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bilstm") / "model.zip"
    learn(TrainingTask(made_notes(10), "meddocan", iterations=6, adapt=request.param), path)
    return path


def items_of(model: Loaded, texts: Sequence[str]) -> list[tuple[Note, list[Item]]]:
    context = []
    if model.characters is not None:
        placement, characters = Placement(cpu_device(""), model.characters), model.characters
        context = [lambda note: characters.vectors(note, placement)]
    encoder = NoteEncoder(rules_for("meddocan"), model.lexicon, model.card.grouped, *context)
    return [(note, encoder.items(note, tags, model.vocabulary)) for note, tags in map(encoder.rule_tags, texts)]


@pytest.mark.parametrize("most", [None, 3], ids=["kept", "cleared"])
def test_scores_of_the_bilstm_are_those_of_its_network(
    network: Path, monkeypatch: pytest.MonkeyPatch, most: int | None
) -> None:
    """Within rounding: the network computes in single precision."""
    if most:
        monkeypatch.setattr(fast_scores, "MOST_KEPT", most)
        monkeypatch.setattr(fast_scores, "CHUNK", most)
    model = load_network(network)
    slow, fast = model.network, FastScores(model.network)
    exact = copy.deepcopy(slow).double()
    rows = [item.rows for _, items in items_of(model, TEXTS) for item in items]
    assert len({len(each.columns) for each in rows}) > 5
    with torch.no_grad():
        shown = batch(rows, "cpu")
        plain, right = slow(shown).numpy(), exact(shown | {"context": shown["context"].double()}).numpy()
    for some in (range(len(rows)), range(0, len(rows), 3), [1]):
        found = fast.of([rows[at] for at in some])
        for at, scores in zip(some, found, strict=True):
            size = len(rows[at].columns)
            assert np.abs(scores - plain[at, :size]).max() < 1e-5
            assert np.abs(scores - right[at, :size]).max() < 1e-5


def test_kept_inputs_are_limited_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast_scores, "MOST_BYTES", 1 << 20)
    kept = fast_scores._Kept(1000)

    def source(numbers: Any, sign: int = 1) -> Any:
        return numbers, lambda chosen: sign * torch.from_numpy(numbers[chosen]).float()[:, None].expand(-1, 1000)

    for first in (*range(0, 1000, 50), 0):
        numbers = np.arange(first, first + 50).repeat(2)
        others = numbers[::-1] // 3
        at = kept.found(source(numbers), source(others, -1))
        assert kept.rows[:, at[:, 0]].eq(torch.from_numpy(numbers)[None, :, None]).all()
        assert kept.rows[:, at[:, 1]].eq(torch.from_numpy(-others)[None, :, None]).all()
        assert kept.rows.nbytes <= 1 << 20
    for count in (400, 2):
        kept.found(source(np.arange(count)), source(np.arange(count), -1))
    kept.found(source(np.arange(900, 902)))
    assert kept.rows.nbytes <= 1 << 20, "the table of a very long batch isn't kept"


@pytest.mark.parametrize("network", [0], indirect=True)
def test_a_model_whose_vocabulary_has_other_numbers_is_refused(network: Path, tmp_path: Path) -> None:
    """A number behind the last one would be a row of the next table."""
    model = load_network(network)
    one, two, *_ = (shape := model.vocabulary.shape)
    for change in ({one: shape[two]}, {one: len(shape) + 2}, {one: 1}, {one: float(shape[one])}, {one: True}):
        changed = replace(model.vocabulary, shape=shape | change)
        save_model(tmp_path / "m.zip", model.card, model.network, changed, model.lexicon, model.characters)
        with pytest.raises(BackendError, match="its weights don't fit its card"):
            load_network(tmp_path / "m.zip")


def test_spans_of_notes_read_together_are_those_of_each_note_by_itself(network: Path) -> None:
    backend, model = BiLstmCrfBackend(str(network), device="cpu"), load_network(network)
    layer, texts = model.network.crf, [*TEXTS, *(text for text, _ in made_notes(12))]
    count = 0
    for (note, items), spans in zip(items_of(model, texts), backend.predict(texts), strict=True):
        paths, flat = [], []
        for item in items:
            shown = batch([item.rows], "cpu")
            with torch.no_grad():
                scores = model.network(shown)
            paths += layer.paths(scores, [len(item)])
            shares = layer.marginals(scores, shown["mask"])[0].numpy()
            flat += [float(row[tag]) for row, tag in zip(shares, paths[-1], strict=True)]
        source = spans[0].source if spans else ""
        plain = confident_spans(note.text, note.tokens, items, paths, flat, model.tags, source)
        assert spans == plain
        for one, two in zip(spans, plain, strict=True):
            assert one.confidence == pytest.approx(two.confidence, abs=1.1e-3)  # the last digit may be rounded
        count += len(spans)
    assert count > 10


def test_rows_are_those_of_each_token_by_itself() -> None:
    """Columns, characters and n-grams, also after the table of forms was emptied."""
    notes = [read(text) for text in TEXTS]
    tags = [[("", "B-CALLE")[at % 5 == 0] for at in range(len(note.tokens))] for note in notes]
    known = vocabulary.Vocabulary.learned(notes[::2], tags[::2])
    forms = vocabulary.Forms(known, {"a": ("x/3",)})
    spellings: dict[int, str] = {}
    for note, given_tags in zip(notes, tags, strict=True):
        found = vocabulary.rows(note, given_tags, forms, None)
        for at, (form, word, position) in enumerate(zip(note.forms, note.words, note.positions, strict=True)):
            named = dict(zip(vocabulary.COLUMNS, found.columns[at].tolist(), strict=True))
            assert spellings.setdefault(int(found.forms[at]), form) == form
            assert named["word"] == known.word.get(word.norm, 1)
            assert named["shape"] == known.shape.get(word.shape, 1)
            assert named["field"] == (known.field.get(position.field, 1) if position.field else 0)
            assert named["since"] == position.since + 1 and named["into"] == min(position.into, 12) + 1
            assert named["top"] == min(position.line, 24) + 1
            assert named["bottom"] == min(len(note.edges) - 1 - position.line, 8) + 1
            assert named["rule"] == (known.rule.get(given_tags[at], 1) if given_tags[at] else 0)
            assert named["memory"] > 0 or word.lower not in note.memory
            touches = [at > 0 and note.tokens[at - 1].end == note.tokens[at].start]
            touches += [at + 1 < len(note.tokens) and note.tokens[at + 1].start == note.tokens[at].end]
            assert named["glued"] == touches[0] + 2 * touches[1]
            ends = word.lower if len(word.lower) <= 16 else word.lower[:8] + word.lower[-8:]
            numbers = [known.character.get(character, 1) for character in ends]
            assert found.characters[at].tolist() == numbers + [0] * (16 - len(numbers))
    assert len(spellings) > 100


@given(st.lists(st.integers(1, 9), min_size=1, max_size=5), st.booleans(), st.integers(0, 2**31))
def test_paths_and_probabilities_are_those_of_the_layer(lengths: list[int], every: bool, seed: int) -> None:
    tags = Tags.of(["A", "B"])
    torch.manual_seed(seed)
    layer = Crf(tags)
    for part in layer.parameters():
        torch.nn.init.normal_(part)
    items = [torch.randn(length, len(tags)) + 2 * (torch.arange(len(tags)) == 0) for length in lengths]
    scores, steps = layer.as_scores([item.numpy() for item in items])
    for item, path in zip(items, best_paths(scores, steps, marginals=every, outside=0), strict=True):
        assert path.tags == layer.paths(item[None], [len(item)])[0]
        plain = layer.marginals(item[None].double(), torch.ones((1, len(item)), dtype=torch.bool))[0].numpy()
        if every:
            assert np.abs(path.marginals - plain).max() < 1e-5
        shares = [row[tag] if tag or every else 1.0 for row, tag in zip(plain, path.tags, strict=True)]
        assert path.odds == pytest.approx(shares, abs=1e-5)


@pytest.mark.parametrize("tags", [1, 2, 3, 4, 12, 41])
def test_scores_ahead_are_those_of_trying_all_steps(tags: int) -> None:
    """Also where the best step is not among the highest ones, and not from the tag with the highest score."""
    chance = np.random.default_rng(tags)
    for spread in (0.1, 1.0, 10.0):
        scores, steps = chance.normal(size=(200, tags)), spread * chance.normal(size=(tags, tags))
        steps[chance.random(steps.shape) < 0.5] = 0
        assert np.array_equal(_Ahead(steps).of(scores), (scores[:, :, None] + steps).max(axis=1))


@given(st.lists(st.integers(1, 9), min_size=1, max_size=5), st.integers(1, 7), st.integers(0, 2**31))
def test_of_equal_paths_the_best_one_has_the_first_tags(lengths: list[int], tags: int, seed: int) -> None:
    chance = np.random.default_rng(seed)
    steps, *items = (chance.integers(-3, 3, (length, tags)).astype(float) for length in (tags, *lengths))
    found = [path.tags for path in best_paths(items, steps)]
    assert found == [best_path(item, np.zeros(tags), steps) for item in items]


def test_stretches_are_those_of_other_tags() -> None:
    path = TagPath([0, 2, 2, 0, 1, 3], [1.0] * 6)
    assert path.stretches(0) == [(1, 3), (4, 6)]
    assert path.stretches(3) == [(0, 5)] and path.stretches(None) == [(0, 6)]
    assert TagPath([0, 0], [1.0] * 2).stretches(0) == [] and best_paths([], np.zeros((2, 2))) == []


def test_texts_are_varied() -> None:
    assert {":", "|", "_"} <= set(chain.from_iterable(TEXTS)) and any("\r" in text for text in TEXTS)

"""Transformers: contract, windows, other tag schemes, a long note, unusable folders."""

import json
from pathlib import Path

import pytest
import torch
import transformers

from annotations.domain.spans import Span
from models_runtime.backends import Backend, BackendError
from models_runtime.backends.learner import Step, TrainingTask
from models_runtime.backends.neural.learning import IGNORED
from models_runtime.backends.neural.tags import Tags
from models_runtime.backends.token_classification import TokenClassificationBackend
from models_runtime.backends.token_classification.adapting import Masking
from models_runtime.backends.token_classification.encoding import Pieces
from models_runtime.backends.token_classification.model import load_model
from models_runtime.backends.token_classification.network import read_network
from models_runtime.backends.token_classification.starting_point import StartingPoint
from models_runtime.backends.token_classification.trained import TransformerBackend
from models_runtime.backends.token_classification.training import learn
from tests.backends.contract import BackendContract
from tests.backends.made import joined, made_notes, moved_notes
from tests.backends.made_weights import TINY, lookup_tagger, tiny_bert

# A window of the small network holds 30 pieces of text.
POSITIONS = 32


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Weights trained elsewhere: a small BERT, a tokenizer that would truncate texts, its own tags."""
    texts = [text for text, _ in made_notes(40)]
    names = ["O", "B-PER", "I-PER", "S-CITY", "DAY"]
    return tiny_bert(tmp_path_factory.mktemp("weights") / "tiny-bert", texts, names, positions=POSITIONS)


def long_note() -> tuple[str, list[Span]]:
    """A note of more than five windows."""
    return joined(made_notes(7))


def task_of(folder: Path, notes: list[tuple[str, list[Span]]], epochs: int, **more) -> TrainingTask:
    return TrainingTask(notes, "meddocan", algorithm="fresh", iterations=epochs, base=str(folder), **more)


@pytest.fixture(scope="module")
def made_by_heart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("transformer") / "model.zip"


@pytest.fixture(scope="module")
def by_heart(folder: Path, made_by_heart: Path) -> tuple[TransformerBackend, list[Step]]:
    steps: list[Step] = []
    learn(task_of(folder, [long_note()] * 2, 80, held_out=[long_note()], report=steps.append), made_by_heart)
    return TransformerBackend(str(made_by_heart)), steps


@pytest.fixture(scope="module")
def steady(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Backend:
    made = tmp_path_factory.mktemp("steady") / "model.zip"
    learn(task_of(folder, [*made_notes(12), *moved_notes(12)], 30), made)
    return TransformerBackend(str(made))


class TestTransformerContract(BackendContract):
    words = made_notes(1)[0][0]

    @pytest.fixture
    def backend(self, steady: Backend) -> Backend:
        return steady


def test_it_learns_a_note_of_more_than_five_windows(
    folder: Path, by_heart: tuple[TransformerBackend, list[Step]]
) -> None:
    backend, steps = by_heart
    text, spans = long_note()
    pieces = Pieces((folder / "tokenizer.json").read_text())
    assert len(pieces.encode(text).pieces) > 5 * (POSITIONS - 2)
    assert backend.predict([text])[0] == spans
    assert steps[-1].f1 == 1.0


class Killed(Exception):
    pass


def test_a_killed_training_continues_and_gives_the_same_model(folder: Path, tmp_path: Path) -> None:
    def report(step: Step) -> None:
        if step.iteration == 2:
            raise Killed

    notes = made_notes(4)
    whole = learn(task_of(folder, notes, 3, checkpoint=tmp_path / "one"), tmp_path / "whole.zip")
    with pytest.raises(Killed):
        learn(task_of(folder, notes, 3, checkpoint=tmp_path / "two", report=report), tmp_path / "half.zip")
    assert (tmp_path / "two").exists()
    assert learn(task_of(folder, notes, 3, checkpoint=tmp_path / "two"), tmp_path / "again.zip") == whole


def test_pre_training_continues_after_a_kill(folder: Path, tmp_path: Path) -> None:
    steps: list[Step] = []

    def report(step: Step) -> None:
        steps.append(step)
        if step.adapting and step.iteration == 3:
            raise Killed

    notes, more = made_notes(4), [text for text, _ in moved_notes(12)]
    asked = {"unlabeled": more, "adapt": 4}
    whole = learn(task_of(folder, notes, 2, checkpoint=tmp_path / "one", **asked), tmp_path / "whole.zip")
    with pytest.raises(Killed):
        learn(task_of(folder, notes, 2, checkpoint=tmp_path / "two", report=report, **asked), tmp_path / "half.zip")
    assert [(step.iteration, step.most) for step in steps] == [(0, 4), (1, 4), (2, 4), (3, 4)]
    steps.clear()
    again = task_of(folder, notes, 2, checkpoint=tmp_path / "two", report=steps.append, **asked)
    assert learn(again, tmp_path / "again.zip") == whole
    assert [step.adapting for step in steps] == [True] * 5 + [False] * 2
    assert steps[4].loss < steps[1].loss
    assert learn(task_of(folder, notes, 2), tmp_path / "plain.zip") != whole


def test_the_language_is_learned_from_notes_without_labels_too(folder: Path, tmp_path: Path) -> None:
    more = [text for text, _ in moved_notes(6)]
    asked = [{"adapt": 1}, {"adapt": 1, "unlabeled": more}, {"unlabeled": more}]
    made = [learn(task_of(folder, made_notes(2), 1, **each), tmp_path / "made.zip") for each in [*asked, {}]]
    assert made[0] != made[1], "notes without labels change the model"
    assert made[2] == made[3], "but only with pre-training"


def test_only_pieces_of_the_text_are_masked() -> None:
    torch.manual_seed(3)
    ids = torch.randint(5, 600, (200, 30))
    there = (torch.arange(30) < torch.randint(3, 31, (200, 1))).long()
    shown, right = Masking(4, 600, (1, 1))(ids, there)
    asked = right != IGNORED
    last = there.sum(dim=1) - 1
    assert not asked[:, 0].any() and not asked[torch.arange(200), last].any() and not (asked & (there == 0)).any()
    assert asked.any(dim=1).all() and (shown[~asked] == ids[~asked]).all() and (right[asked] == ids[asked]).all()
    assert 0.13 < asked.sum() / (there.sum() - 400) < 0.20
    assert 0.7 < (shown[asked] == 4).float().mean() < 0.9


def test_a_model_can_be_the_starting_point_of_another(
    folder: Path, by_heart: tuple[TransformerBackend, list[Step]], tmp_path: Path, made_by_heart: Path
) -> None:
    text, spans = long_note()
    steps: list[Step] = []
    learn(task_of(made_by_heart, [(text, spans)], 1, held_out=[(text, spans)], report=steps.append), tmp_path / "a.zip")
    assert steps[-1].f1 > 0.9  # it still knows the note
    fewer = [(text, [span for span in spans if span.label == spans[0].label])]
    learn(task_of(made_by_heart, fewer, 30, held_out=fewer, report=steps.append), tmp_path / "b.zip")
    backend = TransformerBackend(str(tmp_path / "b.zip"))
    assert backend.labels == TransformerBackend(str(made_by_heart)).labels  # One label space over both stages.
    assert steps[-1].f1 > 0.9


def test_attention_is_torch_s_own_where_the_architecture_has_it(
    folder: Path, by_heart: tuple[TransformerBackend, list[Step]], made_by_heart: Path, tmp_path: Path
) -> None:
    """For networks from a folder, new ones, and our own files. DeBERTa has no SDPA, and must work too."""
    tags = Tags.of(["PER"])
    bert = [read_network(folder), load_model(made_by_heart).network]
    bert += [StartingPoint.at(path).network(tags) for path in (folder, made_by_heart)]
    bert += [StartingPoint.at(path).masked_lm() for path in (folder, made_by_heart)]
    assert {network.config._attn_implementation for network in bert} == {"sdpa"}
    config = transformers.DebertaV2Config(vocab_size=600, max_position_embeddings=POSITIONS, **TINY)
    transformers.DebertaV2ForMaskedLM(config).save_pretrained(tmp_path / "deberta")
    (tmp_path / "deberta" / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes())
    for base, made in (("deberta", "first.zip"), ("first.zip", "second.zip")):
        learn(task_of(tmp_path / base, made_notes(2), 1, adapt=1), tmp_path / made)
    assert TransformerBackend(str(tmp_path / "second.zip")).predict([long_note()[0]])


def test_tags_of_other_models_are_mapped(folder: Path) -> None:
    backend = TokenClassificationBackend(
        str(folder), "meddocan", {"PER": "NOMBRE_SUJETO_ASISTENCIA", "CITY": "TERRITORIO", "DAY": None}
    )
    assert backend.labels == ("NOMBRE_SUJETO_ASISTENCIA", "TERRITORIO")
    text = long_note()[0]
    assert {span.label for span in backend.predict([text])[0]} <= set(backend.labels)
    with pytest.raises(BackendError, match="lacks labels of the model: DAY"):
        TokenClassificationBackend(str(folder), "meddocan", {"PER": "NOMBRE_SUJETO_ASISTENCIA", "CITY": None})
    with pytest.raises(BackendError, match="has no labels ORG"):
        TokenClassificationBackend(str(folder), "meddocan", {"PER": None, "CITY": None, "DAY": None, "ORG": None})


TEXT = "\U0001f600 Anna Maria Bianchi,\u00a0di Rovigo. Luca Luca 😀 Roma"
# The pieces of the names in TEXT with their tags in BIOES. `##chi` never decides: its word has the tag of `Bian`.
IN_BIOES = {
    "Anna": "B-PER", "Maria": "I-PER", "Bian": "E-PER", "##chi": "O",
    "Rovigo": "S-LOC", "Luca": "S-PER", "Roma": "S-LOC",
}  # fmt: skip
SCHEMES: dict[str, dict[str, str]] = {
    "BIOES": {},
    "BILOU": {"E": "L", "S": "U"},
    "BIO": {"E": "I", "S": "B"},
    "IOB1": {"B": "I", "E": "I", "S": "I"},
    "IO": {"B": "I", "E": "I", "S": "I"},
    "plain": {"B": "", "I": "", "E": "", "S": ""},
}


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_tags_of_every_scheme_are_read_as_the_same_spans(scheme: str, tmp_path: Path) -> None:
    """Offsets are code points also after an emoji. Only BIO, BIOES and BILOU part neighbors with one label."""

    def named(tag: str) -> str:
        mark, _, label = tag.partition("-")
        mark = SCHEMES[scheme].get(mark, mark)
        return "O" if tag == "O" else f"{mark}-{label}".removeprefix("-")

    tag_of = {piece: named(tag) for piece, tag in IN_BIOES.items()} | dict.fromkeys((",", ".", "di"), "O")
    tags = ["O", *sorted(set(tag_of.values()) - {"O"}), *(["B-PER", "B-LOC"] if scheme == "IOB1" else [])]
    folder = lookup_tagger(tmp_path / scheme, tag_of, tags)
    backend = TokenClassificationBackend(str(folder), "set", {"PER": "NAME", "LOC": "CITY"})
    parted = scheme in ("BIO", "BIOES", "BILOU")
    found = [(TEXT[span.start : span.end], span.label) for span in backend.predict([TEXT])[0]]
    assert found == [
        ("Anna Maria Bianchi", "NAME"),
        ("Rovigo", "CITY"),
        *([("Luca", "NAME")] * 2 if parted else [("Luca Luca", "NAME")]),
        ("Roma", "CITY"),
    ]
    assert min(span.confidence or 0 for span in backend.predict([TEXT])[0]) >= 0.999


def test_unusable_folders(folder: Path, tmp_path: Path) -> None:
    labels = {"PER": None, "CITY": None, "DAY": None}

    def copy(name: str, without: str = "", **files: str) -> str:
        made = tmp_path / name
        made.mkdir()
        for path in folder.iterdir():
            if path.name != without:
                (made / path.name).write_bytes(path.read_bytes())
        for file, content in files.items():
            (made / file.replace("__", ".")).write_text(content)
        return str(made)

    code = json.dumps(json.loads((folder / "config.json").read_text()) | {"auto_map": {"AutoModel": "evil.Net"}})
    for path, words in (
        (str(tmp_path / "nowhere"), "Add the folder"),
        (copy("pickled", without="model.safetensors", pytorch_model__bin="x"), "never opened"),
        (copy("no-tokenizer", without="tokenizer.json"), "lacks tokenizer.json"),
        (copy("code", config__json=code), "code of its own"),
        (copy("no-config", config__json="{"), "config.json in “no-config” can't be used"),
        (copy("other-tokenizer", tokenizer__json="{}"), "can't be read as a tokenizer"),
    ):
        with pytest.raises(BackendError, match=words) as caught:
            TokenClassificationBackend(path, "meddocan", labels)
        assert caught.value.permanent

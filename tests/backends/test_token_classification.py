"""Transformers: the contract of all backends, windows, foreign tags, a long note by heart, folders that are refused."""

import json
from pathlib import Path

import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from transformers import BertConfig, BertForTokenClassification

from annotations.domain.spans import Span
from models_runtime.backends import Backend, BackendError
from models_runtime.backends.learner import Lesson, Step
from models_runtime.backends.token_classification import TokenClassificationBackend
from models_runtime.backends.token_classification.encoding import Pieces
from models_runtime.backends.token_classification.trained import TransformerBackend
from models_runtime.backends.token_classification.training import learn
from tests.backends.contract import BackendContract
from tests.backends.made import made_notes, moved_notes

# A window of the small network holds 62 pieces of text.
POSITIONS = 64


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Weights as somebody else's would lie there: a small BERT, a tokenizer that would cut texts, its own tags."""
    made = tmp_path_factory.mktemp("weights") / "tiny-bert"
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    texts = [text for text, _ in made_notes(40)]
    tokenizer.train_from_iterator(texts, trainers.WordPieceTrainer(vocab_size=600, special_tokens=special))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    tokenizer.enable_truncation(16)
    names = ["O", "B-PER", "I-PER", "S-CITY", "DAY"]
    config = BertConfig(
        vocab_size=tokenizer.get_vocab_size(), hidden_size=64, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=128, max_position_embeddings=POSITIONS, id2label=dict(enumerate(names)),
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    BertForTokenClassification(config).save_pretrained(made)
    tokenizer.save(str(made / "tokenizer.json"))
    return made


def long_note() -> tuple[str, list[Span]]:
    """A note of more than five windows."""
    text, spans = "", []
    for each, marked in made_notes(14):
        spans += [Span(span.start + len(text), span.end + len(text), span.label) for span in marked]
        text += each + "\n"
    return text, sorted(spans)


def lesson(folder: Path, notes: list[tuple[str, list[Span]]], epochs: int, **more) -> Lesson:
    return Lesson(notes, "meddocan", algorithm="quick", iterations=epochs, base=str(folder), **more)


@pytest.fixture(scope="module")
def by_heart(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[TransformerBackend, list[Step]]:
    made = tmp_path_factory.mktemp("transformer") / "model.zip"
    told: list[Step] = []
    learn(lesson(folder, [long_note()] * 2, 60, held_out=[long_note()], report=told.append), made)
    return TransformerBackend(str(made)), told


@pytest.fixture(scope="module")
def steady(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Backend:
    made = tmp_path_factory.mktemp("steady") / "model.zip"
    learn(lesson(folder, [*made_notes(24), *moved_notes(24)], 25), made)
    return TransformerBackend(str(made))


class TestTransformerContract(BackendContract):
    seconds_per_megabyte = 90.0
    words = made_notes(1)[0][0]

    @pytest.fixture
    def backend(self, steady: Backend) -> Backend:
        return steady


def test_it_learns_a_note_of_more_than_five_windows_by_heart(
    folder: Path, by_heart: tuple[TransformerBackend, list[Step]]
) -> None:
    backend, told = by_heart
    text, spans = long_note()
    pieces = Pieces((folder / "tokenizer.json").read_text())
    assert len(pieces.encode(text).pieces) > 5 * (POSITIONS - 2)
    assert backend.predict([text])[0] == spans
    assert told[-1].f1 == 1.0


class Killed(Exception):
    pass


def test_a_killed_training_goes_on_and_gives_the_same_model(folder: Path, tmp_path: Path) -> None:
    def report(step: Step) -> None:
        if step.iteration == 2:
            raise Killed

    notes = made_notes(4)
    whole = learn(lesson(folder, notes, 3, checkpoint=tmp_path / "one"), tmp_path / "whole.zip")
    with pytest.raises(Killed):
        learn(lesson(folder, notes, 3, checkpoint=tmp_path / "two", report=report), tmp_path / "half.zip")
    assert (tmp_path / "two").exists()
    assert learn(lesson(folder, notes, 3, checkpoint=tmp_path / "two"), tmp_path / "again.zip") == whole


def test_somebody_elses_tags_become_ours(folder: Path) -> None:
    backend = TokenClassificationBackend(
        str(folder), "meddocan", {"PER": "NOMBRE_SUJETO_ASISTENCIA", "CITY": "TERRITORIO", "DAY": None}
    )
    assert backend.labels == ("NOMBRE_SUJETO_ASISTENCIA", "TERRITORIO")
    text = long_note()[0]
    assert {span.label for span in backend.predict([text])[0]} <= set(backend.labels)
    with pytest.raises(BackendError, match="without a counterpart: DAY"):
        TokenClassificationBackend(str(folder), "meddocan", {"PER": "NOMBRE_SUJETO_ASISTENCIA", "CITY": None})
    with pytest.raises(BackendError, match="has no labels ORG"):
        TokenClassificationBackend(str(folder), "meddocan", {"PER": None, "CITY": None, "DAY": None, "ORG": None})


def test_folders_that_are_refused(folder: Path, tmp_path: Path) -> None:
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
    for place, words in (
        (str(tmp_path / "nowhere"), "put it there"),
        (copy("pickled", without="model.safetensors", pytorch_model__bin="x"), "never opened"),
        (copy("no-tokenizer", without="tokenizer.json"), "lacks tokenizer.json"),
        (copy("code", config__json=code), "code of its own"),
        (copy("no-config", config__json="{"), "config.json can't be used"),
        (copy("other-tokenizer", tokenizer__json="{}"), "can't be read as a tokenizer"),
    ):
        with pytest.raises(BackendError, match=words) as refused:
            TokenClassificationBackend(place, "meddocan", labels)
        assert refused.value.permanent

"""Zero-shot span models: equal to GLiNER's own package, long texts, many prompts, and folders that are refused."""

import shutil
from itertools import pairwise

import pytest

pytest.importorskip("torch")

import torch
from safetensors.torch import load_file, save_file

from models_runtime.backends import BackendError
from models_runtime.backends.gliner.backend import GlinerBackend, _split
from tests.backends.contract import BackendContract
from tests.backends.made_gliner import RECORDED, made_gliner, steady_gliner

PROMPTS = {"city": "CITY", "name of a person": "PATIENT"}
TEXT = RECORDED["texts"][0]
ENCODER = RECORDED["cases"]["bert"]["config"]["encoder_config"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return made_gliner(tmp_path_factory.mktemp("zero-shot") / "tiny")


@pytest.fixture(scope="module")
def loaded(folder):
    return GlinerBackend(str(folder), "i2b2-2014", PROMPTS)


@pytest.fixture(scope="module")
def steady(tmp_path_factory):
    return GlinerBackend(str(steady_gliner(tmp_path_factory.mktemp("steady") / "s")), "i2b2-2014", PROMPTS)


class TestGlinerContract(BackendContract):
    words = "Anna Maria Bianchi, è nata a Rovigo.\n"
    most = 20_000
    made = "steady"


def found(backend, text):
    return [(span.start, span.end, span.label, span.confidence) for span in backend.predict([text])[0]]


@pytest.mark.parametrize("case", RECORDED["cases"])
def test_spans_and_probabilities_are_those_of_the_published_package(case, tmp_path):
    """BERT with a projection and an LSTM, and DeBERTa without them, whose prompts have the vector of their first piece.

    The order of the prompts changes the numbers, so they are asked in the recorded order.
    """
    recorded = RECORDED["cases"][case]
    codes = dict(zip(RECORDED["prompts"], ("A", "B"), strict=True))
    backend = GlinerBackend(str(made_gliner(tmp_path / case, case)), "set", {prompt: codes[prompt] for prompt in codes})
    backend._codes, backend._groups = ["A", "B"], list(backend._grouped(RECORDED["prompts"]))
    for text, spans, scores in zip(RECORDED["texts"], recorded["spans"], recorded["scores"], strict=True):
        expected = [(start, end, codes[prompt], pytest.approx(score, abs=6e-4)) for start, end, prompt, score in spans]
        assert found(backend, text) == expected
        words = [_split(text, backend._folder.pieces.of_words, 99)]
        (window,) = backend._windows(0, words[0])
        given = backend._read(words, [window], backend._groups[0])[0]
        for start, past, prompt, score in scores:
            assert given[start, past - start - 1, prompt] == pytest.approx(score, abs=2e-5)


def test_every_word_of_a_long_text_is_read(loaded):
    """The model reads 20 words at once; a name that repeats is found everywhere, not only at the start."""
    text = ("Luca - Roma . " * 60).strip()
    spans = loaded.predict([text])[0]
    assert spans[0].start < 20 and spans[-1].end > len(text) - 20
    assert max(after.start - before.end for before, after in pairwise(spans)) < 40


def test_many_prompts_are_asked_in_groups(folder):
    prompts = {f"name of a person {'a ' * number}city".strip(): "PATIENT" for number in range(9)} | {"city": "CITY"}
    backend = GlinerBackend(str(folder), "set", prompts)
    assert len(backend._groups) > 1 and sum(len(group.at) for group in backend._groups) == len(prompts)
    spans = backend.predict([TEXT])[0]
    assert spans and {span.label for span in spans} <= {"PATIENT", "CITY"}
    with pytest.raises(BackendError, match="is too long for the model"):
        GlinerBackend(str(folder), "set", {"city " * 60: "CITY"})


def test_the_revision_depends_on_weights_and_prompts(folder, loaded, tmp_path):
    def revision(path, prompts):
        return GlinerBackend(str(path), "i2b2-2014", prompts).revision

    assert revision(folder, dict(reversed(PROMPTS.items()))) == loaded.revision
    assert revision(folder, PROMPTS | {"town": "CITY"}) != loaded.revision
    other = copied(folder, tmp_path / "tiny", **{"prompt_rep_layer.3.bias": torch.ones(12)})
    assert revision(other, PROMPTS) != loaded.revision


def copied(folder, made, **changes):
    """A copy of a model with other tensors."""
    shutil.copytree(folder, made)
    save_file(load_file(made / "model.safetensors") | changes, made / "model.safetensors")
    return made


def test_older_files_with_stored_positions_are_read(folder, loaded, tmp_path):
    stored = {"token_rep_layer.bert_layer.model.embeddings.position_ids": torch.arange(64)[None]}
    assert found(GlinerBackend(str(copied(folder, tmp_path / "tiny", **stored)), "set", PROMPTS), TEXT) == found(
        loaded, TEXT
    )


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"span_mode": "token_level"}, "another architecture (span_mode)"),
        ({"labels_encoder": "bert-base"}, "another architecture (labels_encoder)"),
        ({"encoder_config": None}, "has no encoder_config"),
        ({"encoder_config": {"model_type": "llama"}}, "The encoder of “changed” (llama)"),
        ({"encoder_config": {"model_type": "bert", "auto_map": {"AutoModel": "evil.Net"}}}, "can't be used"),
        ({"ent_token": "<<NONE>>"}, "has no piece <<NONE>>"),
        ({"hidden_size": 14}, "model.safetensors in “changed” can't be used"),
        ({"max_width": 101}, "max_width in gliner_config.json must be a whole number between 1 and 100"),
        ({"num_rnn_layers": "1"}, "can't be used (num_rnn_layers)"),
        ({"encoder_config": {"model_type": "\ud800"}}, "The encoder of “changed” (\ufffd)"),
        ({"encoder_config": {"model_type": "bert", "num_hidden_layers": 10**9}}, "the number of layers"),
        ({"encoder_config": {"model_type": "bert", "max_position_embeddings": "512"}}, "gliner_config.json in"),
        ({"ent_token": "\ud800"}, "gliner_config.json in “changed” can't be used"),
        # A network with these numbers would need 8 TB. It is compared with the tensors without being built.
        ({"encoder_config": ENCODER | {"intermediate_size": 10**11}}, "model.safetensors in “changed” can't be used"),
    ],
)
def test_unusable_configurations(changes, words, tmp_path):
    with pytest.raises(BackendError) as caught:
        GlinerBackend(str(made_gliner(tmp_path / "changed", **changes)), "set", PROMPTS)
    assert words in str(caught.value) and caught.value.permanent


def test_scores_that_are_not_finite_are_an_error_and_not_a_note_without_identifiers(folder):
    backend = GlinerBackend(str(folder), "set", PROMPTS)
    backend._folder.network.prompt_rep_layer[3].bias.data.fill_(torch.nan)
    with pytest.raises(BackendError, match="the weights are damaged") as caught:
        backend.predict([TEXT])
    assert caught.value.permanent


def test_no_code_is_taken_from_the_folder(folder, loaded, tmp_path):
    """The implementation of attention can be the name of a kernel that the library would download and run. GLiNER's own
    package would load an encoder from `model_name`.
    """
    other = {"model_name": str(tmp_path / "other"), "encoder_config": ENCODER | {"attn_implementation": "org/kernel"}}
    made = made_gliner(tmp_path / "code", **other)
    (made / "modeling.py").write_text("raise SystemExit")
    assert found(GlinerBackend(str(made), "set", PROMPTS), TEXT) == found(loaded, TEXT) != []

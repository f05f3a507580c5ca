"""A model in process: a tiny one with random weights, of a real architecture. Its junk is refused, never believed."""

from pathlib import Path

import pytest

from models_runtime.backends.base import BackendError
from models_runtime.backends.llm.asking import Meter, Question
from models_runtime.backends.llm.local import LocalCompletion
from tests.backends.llm.scripted import backend_at

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    made = tmp_path_factory.mktemp("tiny") / "tiny-llama"
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    words = Tokenizer(models.BPE({token: at for at, token in enumerate([*alphabet, "</s>"])}, []))
    words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    words.decoder = decoders.ByteLevel()
    transformers.PreTrainedTokenizerFast(tokenizer_object=words, eos_token="</s>").save_pretrained(made)
    torch.manual_seed(7)
    shape = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = transformers.LlamaConfig(
        vocab_size=len(alphabet) + 1,
        max_position_embeddings=4096,
        eos_token_id=len(alphabet),
        bos_token_id=None,
        **shape,
    )
    transformers.LlamaForCausalLM(config).save_pretrained(made)
    assert (made / "model.safetensors").is_file()
    return made


def test_junk_is_an_error_of_the_note_and_never_a_reading(folder: Path) -> None:
    class Short(LocalCompletion):
        def complete(self, question: Question):
            return super().complete(Question(question.system, question.user, 12))

    backend = backend_at("file://", completion=Short(str(folder), Meter()))
    (result,) = backend.predict_each(["Dr. Anna Serra visited."])
    assert isinstance(result, BackendError) and not result.permanent
    assert "not the JSON that was asked for" in str(result)


def test_it_says_the_same_again_and_counts_its_tokens(folder: Path) -> None:
    meter = Meter()
    model = LocalCompletion(str(folder), meter)
    first, again = (model.complete(Question("Be brief.", "Hello", 8)) for _ in range(2))
    assert first == again and first.cut
    assert meter.take() == {"requests": 2, "tokens_in": 2 * len("Be brief.\n\nHello\n\n"), "tokens_out": 16}


def test_a_note_longer_than_the_model_fails_alone(folder: Path) -> None:
    with pytest.raises(BackendError, match="longer than the model takes") as caught:
        LocalCompletion(str(folder), Meter()).complete(Question("", "a" * 5000, 8))
    assert not caught.value.permanent


def test_only_safetensors_of_a_local_folder_are_loaded(folder: Path, tmp_path: Path) -> None:
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    (tmp_path / "pytorch_model.bin").write_bytes(b"\x80\x04cos\nsystem\n")
    for place in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(BackendError, match="folder") as caught:
            LocalCompletion(str(place), Meter())
        assert caught.value.permanent

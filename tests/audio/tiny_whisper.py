"""A Whisper of one layer with random weights, in the files of CTranslate2 and tokenizers: real loading, no sense."""

import ctranslate2
import numpy
from ctranslate2.specs.whisper_spec import WhisperSpec
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

WIDTH, HEADS, MELS = 32, 2, 80
SPECIAL = ["<|endoftext|>", "<|startoftranscript|>", "<|en|>", "<|translate|>", "<|transcribe|>", "<|startoflm|>",
           "<|startofprev|>", "<|nospeech|>", "<|notimestamps|>"]  # fmt: skip
TIMES = [f"<|{step * 0.02:.2f}|>" for step in range(1501)]


def write_tiny_whisper(folder):
    """Write the model into a new folder. Whisper draws answers at random where the first one is poor: always these."""
    ctranslate2.set_random_seed(3)
    folder.mkdir(parents=True)
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    spec = _spec(numpy.random.default_rng(3), letters)
    spec.validate()
    spec.optimize()
    spec.save(str(folder))
    tokenizer = Tokenizer(models.BPE(vocab={letter: at for at, letter in enumerate(letters)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(token, special=True) for token in SPECIAL + TIMES])
    tokenizer.save(str(folder / "tokenizer.json"))


def _spec(rng, letters):
    def drawn(*shape):
        return rng.normal(0, 0.3, shape).astype(numpy.float32)

    def linear(layer, outs, ins):
        layer.weight, layer.bias = drawn(outs, ins), drawn(outs)

    def norm(layer):
        layer.gamma, layer.beta = numpy.ones(WIDTH, numpy.float32), numpy.zeros(WIDTH, numpy.float32)

    def attention(layer, *outs):
        for at, times in enumerate(outs):
            linear(layer.linear[at], times * WIDTH, WIDTH)
        norm(layer.layer_norm)

    def forward(layer):
        norm(layer.layer_norm)
        linear(layer.linear_0, 4 * WIDTH, WIDTH)
        linear(layer.linear_1, WIDTH, 4 * WIDTH)

    spec = WhisperSpec(1, HEADS, 1, HEADS)
    vocabulary = letters + SPECIAL + TIMES
    encoder, decoder = spec.encoder, spec.decoder
    for conv, ins in ((encoder.conv1, MELS), (encoder.conv2, WIDTH)):
        conv.weight, conv.bias = drawn(WIDTH, ins, 3), drawn(WIDTH)
    encoder.position_encodings.encodings, decoder.position_encodings.encodings = drawn(1500, WIDTH), drawn(448, WIDTH)
    decoder.embeddings.weight, decoder.scale_embeddings = drawn(len(vocabulary), WIDTH), False
    decoder.projection.weight = decoder.embeddings.weight
    decoder.projection.bias = numpy.zeros(len(vocabulary), numpy.float32)
    for side in (encoder, decoder):
        norm(side.layer_norm)
        attention(side.layer[0].self_attention, 3, 1)
        forward(side.layer[0].ffn)
    attention(decoder.layer[0].attention, 1, 2, 1)
    spec.register_vocabulary(vocabulary)
    spec.config.suppress_ids, spec.config.suppress_ids_begin = [], []
    spec.config.alignment_heads, spec.config.lang_ids = [(0, 0)], [vocabulary.index("<|en|>")]
    return spec

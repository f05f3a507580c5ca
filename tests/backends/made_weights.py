"""Folders of small transformers: real architectures and tokenizers, random weights.

The libraries are imported where they are used, since loading them takes seconds.
"""

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


TINY = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}


def tiny_bert(made, texts, tags=(), *, positions=64):
    """Weights that label tokens with `tags`; without tags, weights of a masked language model."""
    return bert_folder(made, texts, tags, positions=positions, pieces=600, **TINY)


def as_berts(tokenizer):
    """Split words as BERT does, and put its special pieces around a text."""
    from tokenizers import normalizers, pre_tokenizers, processors

    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=False)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )


def bert_folder(made, texts, tags, *, positions, pieces, **shape):
    """A BERT of this shape, with at most `pieces` pieces in its vocabulary."""
    import torch
    from tokenizers import Tokenizer, models, trainers
    from transformers import BertConfig, BertForMaskedLM, BertForTokenClassification

    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    as_berts(tokenizer)
    tokenizer.train_from_iterator(texts, trainers.WordPieceTrainer(vocab_size=pieces, special_tokens=SPECIAL))
    tokenizer.enable_truncation(16)  # our code must switch this off
    labels = {"id2label": dict(enumerate(tags))} if tags else {}
    config = BertConfig(
        vocab_size=tokenizer.get_vocab_size(), max_position_embeddings=positions, initializer_range=0.1,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, **shape, **labels,
    )  # fmt: skip
    # Always the same weights: whether so few parameters can learn a note depends on their initial values.
    with torch.random.fork_rng():
        torch.manual_seed(1)
        (BertForTokenClassification if tags else BertForMaskedLM)(config).save_pretrained(made)
    tokenizer.save(str(made / "tokenizer.json"))
    return made


def lookup_tagger(made, tag_of, tags):
    """A BERT without layers: each piece of its vocabulary has one tag, almost surely; other pieces have the first."""
    import torch
    from tokenizers import Tokenizer, models
    from transformers import BertConfig, BertForTokenClassification

    words = [*SPECIAL, *tag_of]
    tokenizer = Tokenizer(models.WordPiece({word: at for at, word in enumerate(words)}, unk_token="[UNK]"))
    as_berts(tokenizer)
    config = BertConfig(
        vocab_size=len(words), max_position_embeddings=64, hidden_size=len(words), num_hidden_layers=0,
        num_attention_heads=1, id2label=dict(enumerate(tags)),
    )  # fmt: skip
    network = BertForTokenClassification(config)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.zero_()
        network.bert.embeddings.word_embeddings.weight.copy_(torch.eye(len(words)))
        network.bert.embeddings.LayerNorm.weight.fill_(1.0)
        for at, word in enumerate(words):
            network.classifier.weight[tags.index(tag_of.get(word, tags[0])), at] = 20.0
    network.save_pretrained(made)
    tokenizer.save(str(made / "tokenizer.json"))
    return made


def tiny_llama(made):
    """A language model with random weights, which outputs random bytes."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    words = Tokenizer(models.BPE({token: at for at, token in enumerate([*alphabet, "</s>"])}, []))
    words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    words.decoder = decoders.ByteLevel()
    PreTrainedTokenizerFast(tokenizer_object=words, eos_token="</s>").save_pretrained(made)
    config = LlamaConfig(
        vocab_size=len(alphabet) + 1, max_position_embeddings=4096, eos_token_id=len(alphabet), bos_token_id=None,
        hidden_size=16, intermediate_size=32, num_hidden_layers=1, num_attention_heads=2,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(7)
        LlamaForCausalLM(config).save_pretrained(made)
    return made

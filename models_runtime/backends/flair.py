"""Taggers of Flair (Akbik et al. 2018) from a folder that the script in docs/flair.md wrote."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import nn
from torch.nn.utils.rnn import pad_sequence

from annotations.text.bio import OUTSIDE, as_bio, decode, marks_and_labels, without_special
from annotations.text.segments import sentences
from annotations.text.spans import Span, Token, covered, tokenize, trim
from annotations.text.wording import gettext as _
from models_runtime.backends.base import BackendError, blocks
from models_runtime.backends.bilstm_crf.embeddings import spellings
from models_runtime.backends.bilstm_crf.model import BiLstmCrf, Shape
from models_runtime.backends.crf.paths import Path as TagPath
from models_runtime.backends.crf.paths import best_paths, likeliest
from models_runtime.backends.marginals import Marginals, Marked
from models_runtime.backends.neural import device as neural_device
from models_runtime.backends.neural.crf import Tags, with_ends

# The network of Flair's sequence tagger: its own embeddings under the names of its state dict, and our BiLSTM-CRF.


START: Final = "<START>"
STOP: Final = "<STOP>"
# A character that the language model doesn't know.
UNKNOWN: Final = 0


@dataclass(frozen=True, slots=True)
class Characters:
    """A character language model. `after_space`: a word's vector is the state after the space that follows it.

    `start`: the text before each sentence. `lower`: letters are read in lower case.
    """

    numbers: dict[str, int]
    forward: bool
    lower: bool
    after_space: bool
    start: str

    def positions(self, words: Sequence[str]) -> tuple[list[int], list[int]]:
        """The sentence as numbers of characters in the order of reading, and the position of each word's state."""
        text = " ".join(words)
        if self.lower:
            text = "".join(low if len(low := each.lower()) == 1 else each for each in text)
        read = f"{self.start}{text if self.forward else text[::-1]} "
        shift = len(self.start) - (not self.after_space)
        ends, at = [], 0
        for word in words:
            ends.append(shift + (at + len(word) if self.forward else len(text) - at))
            at += len(word) + 1
        return [self.numbers.get(each, UNKNOWN) for each in read], ends


@dataclass(frozen=True, slots=True)
class Words:
    """Word vectors: the row of each word; unknown words have the last row."""

    rows: dict[str, int]

    def row(self, form: str) -> int:
        return next((self.rows[each] for each in spellings(form) if each in self.rows), len(self.rows))


class FlairNetwork(nn.Module):  # type: ignore[misc]  # torch has no types where it is not installed
    """Embeddings side by side, a linear layer, a bidirectional LSTM, and scores of tags with or without a CRF."""

    def __init__(
        self, parts: Sequence[Characters | Words], tags: Sequence[str], shapes: dict[str, Sequence[int]], *,
        reproject: bool, lstm: bool, crf: bool,
    ) -> None:  # fmt: skip
        """`shapes`: those of the stored tensors, from which the widths and numbers of layers are taken.

        Raises ValueError or LookupError for shapes that no LSTM or table has.
        """
        super().__init__()
        self.parts, self.tags = list(parts), list(tags)
        self.embeddings = nn.ModuleDict()
        width = 0
        for number, part in enumerate(parts):
            name = f"list_embedding_{number}"
            if isinstance(part, Words):
                rows, size = shapes[f"embeddings.{name}.embedding.weight"]
                self.embeddings[name] = nn.ModuleDict({"embedding": nn.Embedding(rows, size)})
            else:
                rows, small = shapes[f"embeddings.{name}.lm.encoder.weight"]
                prefix = f"embeddings.{name}.lm.rnn."
                size = _hidden(shapes, prefix)
                model = {"encoder": nn.Embedding(rows, small), "rnn": nn.LSTM(small, size, _layers(shapes, prefix))}
                self.embeddings[name] = nn.ModuleDict({"lm": nn.ModuleDict(model)})
            width += size
        hidden, layers = (_hidden(shapes, "rnn."), _layers(shapes, "rnn.")) if lstm else (0, 0)
        self.tagger = BiLstmCrf(Shape(None, width, hidden, layers, reproject, lstm, crf=False), Tags(tuple(tags)))
        self.crf = nn.ParameterDict({"transitions": torch.zeros(len(tags), len(tags))}) if crf else None

    def forward(self, sentences: Sequence[Sequence[str]], device: str) -> list[Any]:
        """The scores of tags [words, tags] for each sentence, which has at least one word."""
        found = torch.cat([self._embedded(number, sentences, device) for number in range(len(self.parts))], dim=2)
        lengths = [len(words) for words in sentences]
        scores = self.tagger({"fixed": found, "lengths": torch.tensor(lengths, device=device)})
        return [row[:length] for row, length in zip(scores.detach().float().cpu().numpy(), lengths, strict=True)]

    def _embedded(self, number: int, sentences: Sequence[Sequence[str]], device: str) -> Any:
        """The vectors [sentences, words, size] of one embedding; those after a sentence's end have no meaning."""
        part = self.parts[number]
        layers = self.embeddings[f"list_embedding_{number}"]
        if isinstance(part, Words):
            return layers["embedding"](_padded([[part.row(word) for word in words] for words in sentences], device))
        numbers, at = (
            _padded(some, device) for some in zip(*(part.positions(words) for words in sentences), strict=True)
        )
        states = layers["lm"]["rnn"](layers["lm"]["encoder"](numbers.T))[0]
        return states[at, torch.arange(len(at), device=device)[:, None]]

    def paths(self, scores: Sequence[Any]) -> list[TagPath]:
        """The best tags of each sentence, and the probability of each tag at each word [words, tags]."""
        if self.crf is None:
            return likeliest(scores)
        steps = self.crf["transitions"].detach().float().cpu().numpy().T.astype(np.float64)  # [from, to]
        first, last = steps[self.tags.index(START)], steps[:, self.tags.index(STOP)]
        return best_paths(with_ends(scores, first, last), steps, marginals=True)


def _padded(rows: Sequence[Sequence[int]], device: str) -> Any:
    """Rows of numbers as a tensor, padded with 0."""
    return pad_sequence([torch.tensor(row) for row in rows], batch_first=True).to(device)


def _hidden(shapes: dict[str, Sequence[int]], prefix: str) -> int:
    """The width of an LSTM, whose gates have four times as many rows."""
    gates, size = shapes[f"{prefix}weight_hh_l0"]
    if not 0 < gates == 4 * size:
        raise ValueError("no LSTM")
    return size


def _layers(shapes: dict[str, Sequence[int]], prefix: str) -> int:
    found = sum(name.startswith(f"{prefix}weight_hh_l") and not name.endswith("_reverse") for name in shapes)
    if found > neural_device.MOST_LAYERS:
        raise ValueError("too many layers")
    return found


# Load a converted Flair tagger: only JSON and safetensors, so no code from the folder can run.


CONFIG: Final = "config.json"
WORDS: Final = "words.json"
WEIGHTS: Final = "model.safetensors"
FORMAT: Final = "deidreview-flair-1"
SWITCHES: Final = ("reproject", "lstm", "crf")
# The layers behind the embeddings by Flair's names.
LAYERS: Final = {"embedding2nn": "tagger.reprojection", "linear": "tagger.out"}
# Characters that a language model reads before each sentence.
MOST_START: Final = 100


def load_tagger(folder: Path) -> tuple[FlairNetwork, str]:
    """The network and a hash of its files. Raises BackendError (permanent) for a folder that can't be used."""
    neural_device.check_files(folder, (CONFIG, WORDS, WEIGHTS), _("Convert the tagger as docs/flair.md says."))
    name = neural_device.name_of(folder)
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        words = json.loads((folder / WORDS).read_text(encoding="utf-8"))
        if config["format"] != FORMAT:
            raise ValueError("another format")
        tags = [str(tag) for tag in config["tags"]]
        if not config["embeddings"]:
            raise ValueError("no embeddings")
        if config["crf"] and not {START, STOP} <= set(tags):
            raise ValueError("a CRF without its tags")
        tensors = {key: tensor.float() for key, tensor in load_file(folder / WEIGHTS).items()}
        shapes: dict[str, Sequence[int]] = {key: tuple(tensor.shape) for key, tensor in tensors.items()}
        parts = [_part(each, words.get(str(number))) for number, each in enumerate(config["embeddings"])]
        build = partial(FlairNetwork, parts, tags, shapes, **{key: bool(config[key]) for key in SWITCHES})
        with torch.device("meta"):
            planned = build()
        tensors = {_ours(name): values for name, values in tensors.items()}
        neural_device.check_fit(planned, tensors)
        network = build()
        network.load_state_dict(tensors)
        _check(network)
    except (ValueError, LookupError, TypeError, AttributeError, RuntimeError, OSError, SafetensorError) as error:
        raise BackendError(
            "The tagger in “{name}” can't be used ({error}). Convert it again as docs/flair.md says.",
            *(name, type(error).__name__),
        ) from None
    network.eval()
    return network, neural_device.digest_of(folder, (CONFIG, WORDS, WEIGHTS))


def _ours(name: str) -> str:
    """The name of a tensor of Flair's in our network: its LSTM has a layer and a direction in one module."""
    if found := re.fullmatch(r"rnn\.(\w+)_l(\d+)(_reverse)?", name):
        return f"tagger.{'behind' if found[3] else 'onward'}.{found[2]}.{found[1]}_l0"
    layer, _, rest = name.partition(".")
    return f"{LAYERS.get(layer, layer)}.{rest}"


def _part(said: dict[str, Any], words: Any) -> Characters | Words:
    if said["kind"] == "words":
        return Words(_numbered(words))
    start = str(said["start"])
    if len(start) > MOST_START:
        raise ValueError("a long start")
    return Characters(
        _numbered(said["characters"]),
        forward=bool(said["forward"]),
        lower=bool(said["lower"]),
        after_space=bool(said["after_space"]),
        start=start,
    )


def _numbered(items: Any) -> dict[str, int]:
    """The number of each item. Raises ValueError for a repeated one, after which the others' numbers would be wrong."""
    numbers = {str(item): at for at, item in enumerate(items)}
    if len(numbers) != len(items):
        raise ValueError("a repeated item")
    return numbers


def _check(network: FlairNetwork) -> None:
    """Raise ValueError if a character or word has no row in the tensors."""
    for number, part in enumerate(network.parts):
        layers = network.embeddings[f"list_embedding_{number}"]
        table = layers["embedding"] if isinstance(part, Words) else layers["lm"]["encoder"]
        needed = len(part.rows) + 1 if isinstance(part, Words) else max(part.numbers.values(), default=0) + 1
        if table.num_embeddings < needed:
            raise ValueError("too few rows")
        if isinstance(part, Characters) and not part.start and not part.after_space:
            raise ValueError("no state before the first character")


VERSION: Final = "1"
BLOCK: Final = 16
# Words and characters in a sentence. A longer one is cut.
MOST_WORDS: Final = 200
MOST_CHARACTERS: Final = 2000
# Characters of a word that are read; the language models need none of the others to tell what the word is.
MOST_LETTERS: Final = 200
JOINERS: Final = frozenset("-./:,'’@_")
DECIMALS: Final = 3
# Prefixes that our own tags don't have: none, and that for the middle of a span in BMES.
MARKS: Final = {"": "I", "M": "I"}


@dataclass(frozen=True, slots=True)
class _Sentence:
    """Words of a text, each with the first and the past-the-last of its tokens. `size`: characters that are read."""

    text: int
    words: list[tuple[int, int]]
    size: int


class FlairBackend(neural_device.OnDevice):
    """Predicts with the tagger in the folder `path` (safetensors; nothing in it is run).

    `labels` maps each of the tagger's labels to a code in `label_set`, or to None for spans to leave out. A confidence
    is the lowest probability of the label at the words of a span. Raises BackendError (permanent) for an unusable
    folder or an incomplete map.
    """

    name = "flair"

    def __init__(self, path: str, label_set: str, labels: Mapping[str, str | None], device: str = "auto") -> None:
        folder = Path(path)
        self._network, digest = load_tagger(folder)
        split = _split(self._network.tags)
        self._theirs = [label for _, label in split]
        self._names = [f"{MARKS.get(mark, mark)}-{label}" if label else OUTSIDE for mark, label in split]
        if missing := sorted({label for label in self._theirs if label} ^ set(labels)):
            raise BackendError(
                "The label map and the tagger differ in: {missing}. Map the tagger's labels.", ", ".join(missing)
            )
        self._map = dict(labels)
        self.label_set = label_set
        self.labels = tuple(sorted({label for label in labels.values() if label}))
        mapped = hashlib.sha256(f"{sorted(labels.items())}{label_set}".encode()).hexdigest()
        self.revision = f"{VERSION}-{digest}-{mapped[:8]}"
        self._source = f"flair-{neural_device.name_of(folder)[:60]}-{digest[:8]}"
        self.placement = neural_device.Placement(neural_device.choose_device(device), self._network)

    def stream(self, texts: Iterable[str]) -> Iterator[list[Span]]:
        """The spans of each text, in order, computed in blocks of texts."""
        for block in blocks(texts, BLOCK):
            yield from (spans for spans, _ in self.predict_marginals(block))

    def predict_marginals(self, texts: Sequence[str]) -> list[Marked]:
        """The spans of each text, and the probabilities of the labels at its tokens."""
        tokens = [tokenize(text) for text in texts]
        work = [sentence for at, text in enumerate(texts) for sentence in _cut(at, text, tokens[at])]
        read: list[Any] = [None] * len(work)

        def tag(batch: Sequence[int]) -> None:
            given = [_forms(texts[work[at].text], tokens[work[at].text], work[at].words) for at in batch]
            with torch.inference_mode():
                found = self._network(given, self.device.name)
            neural_device.check_scores(bool(np.isfinite(scores).all()) for scores in found)
            for at, path in zip(batch, self._network.paths(found), strict=True):
                read[at] = path

        self.placement.each([sentence.size for sentence in work], tag)
        found: list[Marked] = []
        spans: list[list[Span]] = [[] for _ in texts]
        shares = [np.zeros((len(own), len(self.labels))) for own in tokens]
        for sentence, path in zip(work, read, strict=True):
            own = tokens[sentence.text]
            rows = self._shares(path.marginals)
            for (first, past), row in zip(sentence.words, rows, strict=True):
                shares[sentence.text][first:past] = row
            spans[sentence.text] += self._spans(texts[sentence.text], own, sentence, path.tags, rows)
        for own, marked, rows in zip(tokens, spans, shares, strict=True):
            found.append((sorted(marked), Marginals(own, self.labels, rows)))
        return found

    def _shares(self, probabilities: Any) -> Any:
        """The probability of each of our labels [words, labels]."""
        rows = np.zeros((len(probabilities), len(self.labels)))
        for column, theirs in enumerate(self._theirs):
            if theirs and (ours := self._map[theirs]):
                rows[:, self.labels.index(ours)] += probabilities[:, column]
        return rows.clip(0.0, 1.0)

    def _spans(
        self, text: str, tokens: Sequence[Token], sentence: _Sentence, path: Sequence[int], rows: Any
    ) -> Iterator[Span]:
        words = [Token(tokens[first].start, tokens[past - 1].end) for first, past in sentence.words]
        for span in decode(words, as_bio(self._names[tag] for tag in path)):
            start, end = trim(text, span.start, span.end)
            if (ours := self._map[span.label]) and start < end:
                first, past = covered(words, span.start, span.end)
                least = float(rows[first:past, self.labels.index(ours)].min())
                yield Span(start, end, ours, round(least, DECIMALS), self._source)


def _split(tags: Sequence[str]) -> list[tuple[str, str]]:
    """The prefix and the label of each tag. Raises BackendError (permanent) for a tag with an empty name."""
    try:
        return marks_and_labels(without_special(tags))
    except ValueError as error:
        raise BackendError(str(error)) from None


def _cut(number: int, text: str, tokens: Sequence[Token]) -> Iterator[_Sentence]:
    """The sentences of a text, in words."""
    for start, end in sentences(text):
        words = _words(text, tokens, *covered(tokens, start, end))
        first = size = 0
        for at, form in enumerate(_forms(text, tokens, words)):
            if at == first + MOST_WORDS or size + len(form) >= MOST_CHARACTERS:
                yield _Sentence(number, words[first:at], size)
                first, size = at, 0
            size += len(form) + 1
        if first < len(words):
            yield _Sentence(number, words[first:], size)


def _words(text: str, tokens: Sequence[Token], first: int, past: int) -> list[tuple[int, int]]:
    """Tokens that belong together: letters and digits without a space, also with one joiner between them."""

    def plain(at: int) -> bool:
        return at < past and text[tokens[at].start].isalnum()

    def touches(at: int) -> bool:
        return at < past and tokens[at - 1].end == tokens[at].start

    found = []
    while first < past:
        end = first + 1
        while plain(first) and touches(end):
            if plain(end):
                end += 1
            elif text[tokens[end].start] in JOINERS and touches(end + 1) and plain(end + 1):
                end += 2
            else:
                break
        found.append((first, end))
        first = end
    return found


def _forms(text: str, tokens: Sequence[Token], words: Sequence[tuple[int, int]]) -> list[str]:
    return [text[tokens[first].start : tokens[past - 1].end][:MOST_LETTERS] for first, past in words]

"""The spaCy backend: predicts spans with a model that was trained here."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from itertools import islice
from pathlib import Path
from typing import Any, Final

from spacy.language import Language
from spacy.tokens import Doc
from spacy.tokens import Span as DocSpan
from spacy.training import Example

from annotations.text.bio import OUTSIDE, decode, encode_tokens
from annotations.text.spans import Span, Token, trim
from annotations.text.wording import gettext as _
from models_runtime.backends import files
from models_runtime.backends.base import StreamingBackend, blocks
from models_runtime.backends.notes import Note, pieces, read
from models_runtime.backends.rule_tags import FeatureRules, rules_of
from models_runtime.backends.spacy_ner import network

# Notes as input of the network: sequences of tokens with their columns, for prediction and training.


# Tokens per sequence. Context beyond the network's view is in the columns. Short sequences mix well in training.
SEQUENCE: Final = 200


@dataclass(frozen=True, slots=True)
class NoteEncoder:
    """Turns texts into columns, in the same way for training and prediction."""

    nlp: Language
    rules: FeatureRules
    lexicon: network.Lexicon

    def note(self, text: str) -> "Cut":
        note = read(text)
        rule_spans = self.rules.predict([text])[0] if note.tokens else []
        return Cut(note, network.columns_of(note, rule_spans, self.lexicon), list(pieces(note, SEQUENCE)))


@dataclass(frozen=True, slots=True)
class Cut:
    """A note with the columns of its tokens, and the bounds of its sequences: first and past-the-last token."""

    note: Note
    columns: Any
    sequences: list[tuple[int, int]]

    def documents(self, nlp: Language) -> list[Doc]:
        return [network.document(nlp, self.columns[first:past]) for first, past in self.sequences]

    def examples(self, nlp: Language, spans: Sequence[Span]) -> Iterator[Example]:
        """Training examples. As in prediction, tokens are never split: a gold end inside a token moves to its end."""
        tags = encode_tokens(self.note.tokens, spans).tags
        for (first, past), doc in zip(self.sequences, self.documents(nlp), strict=True):
            doc.set_ents([DocSpan(doc, start, end, label) for start, end, label in _entities(tags[first:past])])
            yield Example(network.document(nlp, self.columns[first:past]), doc)

    def spans(self, found: Iterable[Sequence[network.DecodedEntity]], source: str) -> list[Span]:
        """The entities found in each sequence as spans of the text, sorted and trimmed."""
        spans = []
        for (first, _past), own in zip(self.sequences, found, strict=True):
            for entity in own:
                tokens = self.note.tokens[first + entity.first : first + entity.past]
                start, end = trim(self.note.text, tokens[0].start, tokens[-1].end)
                if start < end:
                    spans.append(Span(start, end, entity.label, round(entity.probability, 4), source))
        return sorted(spans)


def _entities(tags: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Entities of a sequence: first and past-the-last token, and label. A sequence's end splits an entity."""
    if any(tag != OUTSIDE for tag in tags):
        for span in decode([Token(at, at + 1) for at in range(len(tags))], tags):
            yield span.start, span.end, span.label


# A trained spaCy model on disk (models_runtime.backends.files), with safetensors weights.
#
# Our own code builds the network from the sizes in the card; no configuration or code from the file is run.


FORMAT: Final = "deidreview-spacy-1"
LARGEST: Final = 1024
LANGUAGE: Final = re.compile("[a-z]{2,3}")
MOST_LABELS: Final = 500


@dataclass(frozen=True, slots=True)
class Card(files.FileCard):
    """Description of a model. `rules_set`: the label set of the rules whose tags are features, empty without them."""

    rules_set: str
    language: str
    sizes: network.Sizes


def save(path: Path, card: Card, tensors: network.Tensors, lexicon: Mapping[str, list[str]]) -> str:
    """Write a model and return the sha256 of its file. The same content gives the same file."""
    return files.save(path, card, network.to_bytes(tensors), lexicon)


@dataclass(frozen=True, slots=True)
class LoadedPipeline:
    """A loaded model. `revision` changes with every byte of its file."""

    card: Card
    lexicon: dict[str, tuple[str, ...]]
    nlp: Language
    revision: str


def load_model(path: Path) -> LoadedPipeline:
    """Load a model. Raises BackendError (permanent) if the file is missing, damaged or of another format."""
    data, lexicon, content = files.unpack(path, FORMAT)
    card = _card(path, data)
    tensors = network.from_bytes(content)
    try:
        nlp = network.blank(card.language, card.labels, card.sizes)
        network.put(network.recognizer(nlp), tensors)
    except ValueError as error:
        raise files.refused(path, FORMAT, str(error)) from None
    except ImportError as error:
        raise files.refused(path, FORMAT, _("spaCy can't load its language ({error})", error)) from None
    return LoadedPipeline(card, lexicon, nlp, files.digest(path)[:12])


def _card(path: Path, data: dict[str, Any]) -> Card:
    card = files.card_from(path, Card, data, sizes=lambda sizes: network.Sizes(**sizes))
    sizes = astuple(card.sizes)
    if not all(type(size) is int and 0 < size <= LARGEST for size in sizes) or len(sizes) != len(fields(network.Sizes)):
        raise files.refused(path, FORMAT, _("its sizes must be whole numbers up to {largest}", LARGEST))
    if not LANGUAGE.fullmatch(card.language):
        raise files.refused(path, FORMAT, _("its language must be a code of two or three letters"))
    if not 0 < len(card.labels) <= MOST_LABELS:
        raise files.refused(path, FORMAT, _("it must have 1 to {most} labels", MOST_LABELS))
    return card


VERSION: Final = "1"
# Sequences and notes in one batch. The spans don't depend on them.
BATCH: Final = 128
NOTES: Final = 32


class SpacyBackend(StreamingBackend):
    """A backend that predicts with the model at `path`. Raises BackendError (permanent) for any other file."""

    name = "spacy"

    def __init__(self, path: str) -> None:
        model = load_model(Path(path))
        rules = rules_of(model.card.rules_set)
        self._ner = network.recognizer(model.nlp)
        self._encoder = NoteEncoder(model.nlp, rules, model.lexicon)
        self.label_set = model.card.label_set
        self.labels = model.card.labels
        self._source = f"spacy-{model.revision[:8]}"
        self.revision = f"{VERSION}-{model.revision}-{rules.revision}"

    def stream(self, texts: Iterable[str]) -> Iterator[list[Span]]:
        """The spans of each text, in order. Several texts share a batch, which is several times as fast."""
        for cuts in blocks(map(self._encoder.note, texts), NOTES, BATCH, lambda cut: len(cut.sequences)):
            found = self._found([doc for cut in cuts for doc in cut.documents(self._encoder.nlp)])
            for cut in cuts:
                yield cut.spans(islice(found, len(cut.sequences)), self._source)

    def _found(self, documents: Sequence[Doc]) -> Iterator[list[network.DecodedEntity]]:
        for at in range(0, len(documents), BATCH):
            yield from network.entities(self._ner, documents[at : at + BATCH])

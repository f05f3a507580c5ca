"""Notes as input of the network: sequences of tokens with their columns, for prediction and training."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from spacy.language import Language
from spacy.tokens import Doc
from spacy.tokens import Span as DocSpan
from spacy.training import Example

from annotations.text.bio import OUTSIDE, decode, encode_tokens
from annotations.text.characters import trim
from annotations.text.spans import Span
from annotations.text.tokens import Token
from models_runtime.backends.notes.note import Note, read
from models_runtime.backends.notes.pieces import pieces
from models_runtime.backends.notes.rule_tags import FeatureRules
from models_runtime.backends.spacy_ner.columns import Lexicon, columns_of
from models_runtime.backends.spacy_ner.decoding import DecodedEntity
from models_runtime.backends.spacy_ner.network import document

# Tokens per sequence. Context beyond the network's view is in the columns. Short sequences mix well in training.
SEQUENCE: Final = 200


@dataclass(frozen=True, slots=True)
class NoteEncoder:
    """Turns texts into columns, in the same way for training and prediction."""

    nlp: Language
    rules: FeatureRules
    lexicon: Lexicon

    def note(self, text: str) -> "Cut":
        note = read(text)
        rule_spans = self.rules.predict([text])[0] if note.tokens else []
        return Cut(note, columns_of(note, rule_spans, self.lexicon), list(pieces(note, SEQUENCE)))


@dataclass(frozen=True, slots=True)
class Cut:
    """A note with the columns of its tokens, and the bounds of its sequences: first and past-the-last token."""

    note: Note
    columns: Any
    sequences: list[tuple[int, int]]

    def documents(self, nlp: Language) -> list[Doc]:
        return [document(nlp, self.columns[first:past]) for first, past in self.sequences]

    def examples(self, nlp: Language, spans: Sequence[Span]) -> Iterator[Example]:
        """Training examples. As in prediction, tokens are never split: a gold end inside a token moves to its end."""
        tags = encode_tokens(self.note.tokens, spans).tags
        for (first, past), doc in zip(self.sequences, self.documents(nlp), strict=True):
            doc.set_ents([DocSpan(doc, start, end, label) for start, end, label in _entities(tags[first:past])])
            yield Example(document(nlp, self.columns[first:past]), doc)

    def spans(self, found: Iterable[Sequence[DecodedEntity]], source: str) -> list[Span]:
        """The entities found in each sequence as spans of the text, sorted and trimmed."""
        spans = []
        for (first, _), entities in zip(self.sequences, found, strict=True):
            for entity in entities:
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

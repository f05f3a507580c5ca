"""Notes as the network takes them: stretches of tokens with their columns, for reading and for learning."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from spacy.language import Language
from spacy.tokens import Doc
from spacy.tokens import Span as DocSpan
from spacy.training import Example

from annotations.domain.bio import OUTSIDE, decode, encode_tokens
from annotations.domain.spans import Span
from annotations.domain.tokens import Token
from annotations.domain.whitespace import trim
from models_runtime.backends.notes.note import Note, read
from models_runtime.backends.notes.pieces import pieces
from models_runtime.backends.rules import RulesBackend
from models_runtime.backends.spacy_ner.columns import Lexicon, columns_of
from models_runtime.backends.spacy_ner.network import document
from models_runtime.backends.spacy_ner.reading import Found

# Tokens. What lies further away than the network sees is in the columns. Short stretches mix well in training.
STRETCH: Final = 200


@dataclass(frozen=True, slots=True)
class Reader:
    """What turns a text into columns: the same for learning and for reading."""

    nlp: Language
    rules: RulesBackend
    lexicon: Lexicon

    def note(self, text: str) -> "Cut":
        note = read(text)
        said = self.rules.predict([text])[0] if note.tokens else []
        return Cut(note, columns_of(note, said, self.lexicon), list(pieces(note, STRETCH)))


@dataclass(frozen=True, slots=True)
class Cut:
    """A note, the columns of its tokens, and the half-open stretches of tokens that are read as one document each."""

    note: Note
    columns: Any
    stretches: list[tuple[int, int]]

    def documents(self, nlp: Language) -> list[Doc]:
        return [document(nlp, self.columns[first:past]) for first, past in self.stretches]

    def examples(self, nlp: Language, spans: Sequence[Span]) -> Iterator[Example]:
        """Tokens are split by the rule alone, as at prediction time: a gold end inside a token moves to its end."""
        tags = encode_tokens(self.note.tokens, spans).tags
        for (first, past), doc in zip(self.stretches, self.documents(nlp), strict=True):
            doc.set_ents([DocSpan(doc, start, end, label) for start, end, label in _entities(tags[first:past])])
            yield Example(document(nlp, self.columns[first:past]), doc)

    def spans(self, found: Iterable[Sequence[Found]], source: str) -> list[Span]:
        """What was found in each stretch, as spans of the text: sorted and trimmed."""
        spans = []
        for (first, _), entities in zip(self.stretches, found, strict=True):
            for entity in entities:
                tokens = self.note.tokens[first + entity.first : first + entity.past]
                start, end = trim(self.note.text, tokens[0].start, tokens[-1].end)
                if start < end:
                    spans.append(Span(start, end, entity.label, round(entity.sure, 4), source))
        return sorted(spans)


def _entities(tags: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Half-open ranges of tags with their label; an entity that the stretch's end cuts is one on either side."""
    if any(tag != OUTSIDE for tag in tags):
        for span in decode([Token(at, at + 1) for at in range(len(tags))], tags):
            yield span.start, span.end, span.label

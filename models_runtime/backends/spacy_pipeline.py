"""spaCy pipelines trained elsewhere: installed packages, and folders on this machine."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Final

import spacy
from spacy.tokens import Doc

from annotations.text.spans import Span, Token, Tokenizer, TokenizerError, trim
from models_runtime.backends.base import BackendError, StreamingBackend

# spaCy's tokenizer as a tokenizer of notes: the one of a blank pipeline for the language, without any model.


ANY_LANGUAGE: Final = "xx"
# spaCy's tokenizer is very slow for long runs without white space, so they are cut.
RUN: Final = re.compile(r"\S{200}(?=\S)")


def tokenizer_of(language: str) -> Tokenizer:
    """The tokenizer for a language by its code, such as `it` or `es-MX`; for an empty code, spaCy's multilingual one.

    Raises TokenizerError if spaCy has no tokenizer for the language, or needs another library for it.
    """
    code = re.split("[-_]", language.strip().lower())[0] or ANY_LANGUAGE
    try:
        nlp = spacy.blank(code)
    except (ImportError, OSError):
        raise TokenizerError(
            "spaCy has no tokenizer for the language “{language}” here. Change the language of the notes, or "
            "export without spaCy's tokenizer.",
            language[:20],
        ) from None

    def tokenize(text: str) -> list[Token]:
        tokens: list[Token] = []
        edges = [0, *(match.end() for match in RUN.finditer(text)), len(text)]
        # The memory zone forgets the words of each text, so that long exports need no more memory than short ones.
        with nlp.memory_zone():
            for first, past in pairwise(edges):
                for token in nlp.tokenizer(text[first:past]):
                    start, end = trim(text, first + token.idx, first + token.idx + len(token.text))
                    if start < end:
                        tokens.append(Token(start, end))
        return tokens

    return tokenize


VERSION: Final = "1"
# Characters in one document. Longer texts are cut at a line's end, otherwise at white space, otherwise anywhere.
MOST: Final = 20_000
BATCH: Final = 16


class PipelineBackend(StreamingBackend):
    """Predicts with the pipeline at `path`, the name of a package or a folder.

    `labels` maps the pipeline's labels to the project's, or to None for spans to leave out. Spans of a `spancat` have
    its scores as confidence; spans of an `ner` have none. Raises BackendError (permanent) if loading fails.
    """

    name = "spacy-pipeline"

    def __init__(self, path: str, labels: Mapping[str, str | None], label_set: str) -> None:
        try:
            self._nlp = spacy.load(path)
        except (OSError, ValueError, ImportError, KeyError) as error:
            raise BackendError(
                "The pipeline “{name}” can't be loaded ({error}).", Path(path).name, type(error).__name__
            ) from None
        self._map = dict(labels)
        self._source = f"spacy-pipeline-{self._nlp.meta['name']}"[:80]
        self.label_set = label_set
        self.labels = tuple(sorted({label for label in self._map.values() if label}))
        mapping = hashlib.sha256(f"{sorted(self._map.items())}{label_set}".encode()).hexdigest()
        self.revision = f"{VERSION}-{spacy.about.__version__}-{_digest(Path(self._nlp.path))[:12]}-{mapping[:8]}"

    def stream(self, texts: Iterable[str]) -> Iterator[list[Span]]:
        """The spans of each text, in order. Several texts share a batch."""
        parts = ((text[start:end], (text, start, end)) for text in texts for start, end in _parts(text))
        found: list[Span] = []
        for doc, (text, start, end) in self._nlp.pipe(parts, as_tuples=True, batch_size=BATCH):
            found += self._spans(doc, text, start)
            if end == len(text):
                yield sorted(set(found))
                found = []

    def _spans(self, doc: Doc, text: str, offset: int) -> Iterator[Span]:
        for first, past, label, score in _entities(doc):
            if label not in self._map:
                raise BackendError(
                    "The pipeline has a label “{label}” that the label map lacks. Add it to the map.", label
                )
            start, end = trim(text, offset + first, offset + past)
            if (ours := self._map[label]) and start < end:
                yield Span(start, end, ours, score, self._source)


def _entities(doc: Doc) -> Iterator[tuple[int, int, str, float | None]]:
    """Start, end (code points, end-exclusive), label and score of entities and of the spans of span categorizers."""
    for ent in doc.ents:
        yield ent.start_char, ent.end_char, ent.label_, None
    for group in doc.spans.values():
        scores = group.attrs.get("scores")
        for at, span in enumerate(group):
            score = round(min(max(float(scores[at]), 0.0), 1.0), 4) if scores is not None else None
            yield span.start_char, span.end_char, span.label_, score


def _parts(text: str) -> Iterator[tuple[int, int]]:
    """The parts of a text that become documents; an empty text is one empty part."""
    cuts = {match.end() for match in RUN.finditer(text)}
    at = 0
    while len(text) - at > MOST:
        end = max(text.rfind("\n", at, at + MOST), text.rfind("\r", at, at + MOST)) + 1
        if end <= at:
            end = text.rfind(" ", at, at + MOST) + 1
        at = end if end > at else at + MOST
        cuts.add(at)
    ends = sorted(cuts | {len(text)})
    yield from zip([0, *ends], ends, strict=False)


def _digest(path: Path) -> str:
    """A sha256 over the names and content of the pipeline's files."""
    sha256 = hashlib.sha256()
    for file in sorted(file for file in path.rglob("*") if file.is_file() and file.suffix != ".pyc"):
        sha256.update(f"{file.relative_to(path)}\0{file.stat().st_size}\0".encode())
        with file.open("rb") as content:
            sha256.update(hashlib.file_digest(content, "sha256").digest())
    return sha256.hexdigest()

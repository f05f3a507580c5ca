"""The pipeline: a blank language, embedded columns, a convolution over tokens, spaCy's transition-based recognizer.

Transitions after Lample et al. 2016, section 3.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
import spacy
from safetensors.numpy import load, save
from spacy.language import Language
from spacy.ml.models.tok2vec import MaxoutWindowEncoder, build_Tok2Vec_model
from spacy.pipeline.ner import EntityRecognizer
from spacy.strings import get_string_id
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import registry
from thinc.api import HashEmbed, Maxout, Model, chain, concatenate, list2ragged, ragged2list, with_array

from annotations.text.spans import Span
from annotations.text.wording import gettext as _
from models_runtime.backends.base import BackendError
from models_runtime.backends.notes import Note
from models_runtime.backends.rule_tags import rule_tags

# The network's input for each token: hashed values in columns, each column with its own embedding table.
#
# The columns are spaCy's (norm, prefix, suffix, shape; Honnibal 2016), and others for clinical notes: header fields,
# lines, document memory, lexicon, tags of the rules. They matter because the network itself sees only four tokens on
# either side.


Lexicon = Mapping[str, Sequence[str]]

# Number of rows of each column's embedding table. The names are part of the hashed values.
COLUMNS: Final[dict[str, int]] = {
    "norm": 6000,
    "prefix": 2000,
    "suffix": 3000,
    "shape": 1500,
    "short": 1000,
    "field": 1500,
    "since": 2000,
    "start": 2500,
    "before": 2500,
    "place": 1000,
    "memory": 2000,
    "lexicon": 2000,
    "rules": 1000,
}


@lru_cache(maxsize=1 << 17)
def _hashed(column: str, value: str) -> int:
    return int(get_string_id(f"{column}={value}"))


def columns_of(note: Note, rule_spans: Sequence[Span], lexicon: Lexicon) -> Any:
    """Hashed values [tokens, COLUMNS] of a note, uint64. `rule_spans`: the spans of the rules."""
    starts = [" ".join(word.lower for word in note.words[first : min(past, first + 2)]) for first, past in note.edges]
    tags = rule_tags(note, rule_spans)
    rows = [list(map(_hashed, COLUMNS, _values(note, at, starts, tags, lexicon))) for at in range(len(note.tokens))]
    return np.array(rows, dtype="uint64").reshape(len(rows), len(COLUMNS))


def _values(note: Note, at: int, starts: Sequence[str], tags: Sequence[str], lexicon: Lexicon) -> tuple[str, ...]:
    word, position = note.words[at], note.positions[at]
    return (
        word.norm,
        word.lower[:3],
        word.lower[-3:],
        word.shape,
        word.short,
        position.field,
        f"{position.since}|{position.field}" if position.field else "",
        starts[position.line],
        starts[position.line - 1] if position.line else "",
        _position(note, at),
        "|".join(note.memory.get(word.lower, ())),
        "|".join(lexicon.get(word.lower, ())),
        tags[at],
    )


def _position(note: Note, at: int) -> str:
    """A token's position in its line and in the note, and whether white space separates it from its neighbors."""
    position = note.positions[at]
    first, past = note.edges[position.line]
    end = "first" if at == first else "last" if at == past - 1 else ""
    top, bottom = min(position.line, 20), min(len(note.edges) - 1 - position.line, 6)
    length = min((past - first) // 5, 6)
    where = f"top{top}" if top < 20 else f"bottom{bottom}"
    return f"{end}|{min(position.into, 4)}|{where}|{length}|{_glued(note, at)}{_glued(note, at + 1)}"


def _glued(note: Note, at: int) -> int:
    tokens = note.tokens
    return int(0 < at < len(tokens) and tokens[at - 1].end == tokens[at].start)


ARCHITECTURE: Final = "deidreview.Notes.v1"
VALUES: Final = "columns"
NER: Final = "ner"


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of the network: output widths, and `depth` layers, each of which sees one more token on either side."""

    width: int = 96
    norm_width: int = 96
    column_width: int = 48
    depth: int = 4
    hidden: int = 64


@registry.architectures(ARCHITECTURE)  # type: ignore[untyped-decorator]  # spaCy has no types here
def notes_tok2vec(width: int, norm_width: int, column_width: int, depth: int) -> Any:
    """A model from documents to vectors of `width` per token. The columns are in a document's `user_data`."""
    tables: list[Any] = [
        HashEmbed(norm_width if name == "norm" else column_width, rows, seed=at + 7, column=at, dropout=0.0)
        for at, (name, rows) in enumerate(COLUMNS.items())
    ]
    wide = norm_width + column_width * (len(COLUMNS) - 1)
    embed: Any = chain(
        Model("note_columns", _columns),
        list2ragged(),
        with_array(concatenate(*tables)),
        with_array(Maxout(width, wide, nP=3, dropout=0.0, normalize=True)),
        ragged2list(),
    )
    encode = MaxoutWindowEncoder(width=width, window_size=1, maxout_pieces=3, depth=depth)
    return build_Tok2Vec_model(embed=embed, encode=encode)


def _columns(model: Any, docs: Sequence[Doc], is_train: bool) -> tuple[list[Any], Callable[[Any], list[Any]]]:
    return [model.ops.asarray2i(doc.user_data[VALUES], dtype="uint64") for doc in docs], lambda d_columns: []


def document(nlp: Language, columns: Any) -> Doc:
    """A sequence of tokens as a spaCy document. Words are only in the hashed columns, so that spaCy's vocabulary gets
    no word of a note and doesn't grow."""
    return Doc(nlp.vocab, words=["x"] * len(columns), user_data={VALUES: columns})


def blank(language: str, labels: Sequence[str], sizes: Sizes) -> Language:
    """An untrained pipeline with random weights, which depend only on the arguments and the seed."""
    nlp = spacy.blank(language)
    asked = asdict(sizes)
    tok2vec = {"@architectures": ARCHITECTURE} | {key: asked[key] for key in asked if key != "hidden"}
    model = {
        "@architectures": "spacy.TransitionBasedParser.v2",
        "state_type": "ner",
        "extra_state_tokens": False,
        "hidden_width": sizes.hidden,
        "maxout_pieces": 2,
        "use_upper": True,
        "tok2vec": tok2vec,
    }
    ner: Any = nlp.add_pipe(NER, config={"model": model})
    for label in labels:
        ner.add_label(label)
    sample = document(nlp, np.zeros((2, len(COLUMNS)), dtype="uint64"))
    sample.set_ents([])
    nlp.initialize(lambda: [Example(document(nlp, sample.user_data[VALUES]), sample)])
    return nlp


def recognizer(nlp: Language) -> EntityRecognizer:
    found: EntityRecognizer = nlp.get_pipe(NER)
    return found


# Convert a network's parameters to safetensors and back. The format holds only numbers.


Tensors = dict[str, Any]


def parameters(ner: EntityRecognizer) -> Iterator[tuple[str, Any, str]]:
    """Each parameter's name in files, its node, and its name in the node, in a fixed order."""
    for at, node in enumerate(ner.model.walk()):
        for name in node.param_names:
            yield f"{at:03}.{node.name.split('>')[0]}.{name}", node, name


def numbers(ner: EntityRecognizer, values: Callable[[Any, str], Any] | None = None) -> Tensors:
    """Copies of all parameters, or of `values(node, name)` for each parameter."""
    take = values or (lambda node, name: node.get_param(name))
    return {key: np.array(take(node, name), dtype="float32") for key, node, name in parameters(ner)}


def put(ner: EntityRecognizer, tensors: Mapping[str, Any]) -> None:
    """Set all parameters. Raises ValueError unless names and shapes fit and all numbers are finite."""
    wanted = {key: (node, name) for key, node, name in parameters(ner)}
    if set(tensors) != set(wanted):
        raise ValueError(_("its weights don't belong to this network: their names differ"))
    for key, (node, name) in wanted.items():
        value = tensors[key]
        if value.dtype != np.float32 or value.shape != node.get_param(name).shape or not np.isfinite(value).all():
            raise ValueError(_("its weights don't belong to this network: “{key}” doesn't fit", key))
        node.set_param(name, np.ascontiguousarray(value))


def continued(ner: EntityRecognizer, earlier: EntityRecognizer) -> None:
    """Copy the parameters of an earlier recognizer. Of its last layer, the rows of the transitions that both know."""
    number = {name: at for at, name in enumerate(transitions(ner))}
    rows = [(at, number[name]) for at, name in enumerate(transitions(earlier)) if name in number]
    origin, target = map(list, zip(*rows, strict=True))
    for (_key, node, name), (_other, other, _name) in zip(parameters(ner), parameters(earlier), strict=True):
        value, known = node.get_param(name).copy(), other.get_param(name)
        if value.shape == known.shape:
            value[...] = known
        else:
            value[target] = known[origin]
        node.set_param(name, value)


def transitions(ner: EntityRecognizer) -> list[str]:
    """The names of the transitions, in the order of the rows of the last layer."""
    return [ner.moves.get_class_name(at) for at in range(ner.moves.n_moves)]


def to_bytes(tensors: Tensors, metadata: Mapping[str, str] | None = None) -> bytes:
    data: bytes = save(tensors, metadata=dict(metadata) if metadata else None)
    return data


def from_bytes(data: bytes) -> Tensors:
    """Read tensors. Raises BackendError (permanent) for a damaged file."""
    try:
        found: Tensors = load(data)
    except Exception as error:  # safetensors raises SafetensorError, KeyError and ValueError
        raise BackendError("The weights can't be read ({error}).", type(error).__name__) from None
    return found


# Decode entities with their probabilities.


@dataclass(frozen=True, slots=True)
class DecodedEntity:
    """An entity: tokens `first` to `past` (exclusive). `probability`: the product over its transitions."""

    first: int
    past: int
    label: str
    probability: float


class _Moves:
    """The recognizer's transitions as arrays: letter (B, I, L, U, O) and label of each, and the valid ones by state."""

    def __init__(self, ner: EntityRecognizer) -> None:
        names = transitions(ner)
        split = [(name[0], name[2:]) for name in names]
        self.labels = sorted({label for _, label in split if label})
        number = {label: at for at, label in enumerate(self.labels)}
        self.letter = np.array([letter for letter, _ in split])
        self.label = np.array([number.get(label, -1) for _, label in split])
        begin, unit, out = (self.letter == letter for letter in "BUO")
        # Valid outside an entity: begin one, one of a single token, or none. The last token can't begin one.
        self.outside = begin | (unit & (self.label >= 0)) | out
        self.outside_last = self.outside & ~begin
        inside, last = self.letter == "I", self.letter == "L"
        self.inside = np.array([(inside | last) & (self.label == at) for at in range(len(self.labels))])
        self.inside_last = np.array([last & (self.label == at) for at in range(len(self.labels))])


def entities(ner: EntityRecognizer, docs: Sequence[Doc]) -> list[list[DecodedEntity]]:
    """Greedy decoding as in spaCy, all documents in step, token by token, with the probability of each transition."""
    moves = _Moves(ner)
    found: list[list[DecodedEntity]] = [[] for _ in docs]
    at = np.array([number for number, doc in enumerate(docs) if len(doc)], dtype=int)
    if not len(at):
        return found
    states = [state for state in ner.moves.init_batch(docs) if not state.is_final()]
    step = ner.model.predict(docs)
    length = np.array([len(doc) for doc in docs])
    open_label = np.full(len(docs), -1)
    begun = np.zeros(len(docs), dtype=int)
    product = np.ones(len(docs))
    token = 0
    while states:
        scores = step.predict(states)
        last = length[at] == token + 1
        chosen = np.where(_valid(moves, open_label[at], last), scores, -np.inf).argmax(axis=1)
        probability = _softmax(scores, chosen)
        for row in np.flatnonzero(moves.letter[chosen] != "O"):
            doc, move = at[row], chosen[row]
            letter, label = moves.letter[move], moves.label[move]
            if letter in "BU":
                begun[doc], open_label[doc], product[doc] = token, label, 1.0
            product[doc] *= probability[row]
            if letter in "LU":
                found[doc].append(DecodedEntity(int(begun[doc]), token + 1, moves.labels[label], float(product[doc])))
                open_label[doc] = -1
        states = ner.transition_states(states, scores)
        at = at[~last]
        token += 1
    step.clear_memory()
    return found


def _valid(moves: _Moves, open_label: Any, last: Any) -> Any:
    inside = np.where(last[:, None], moves.inside_last[open_label], moves.inside[open_label])
    outside = np.where(last[:, None], moves.outside_last, moves.outside)
    return np.where((open_label >= 0)[:, None], inside, outside)


def _softmax(scores: Any, chosen: Any) -> Any:
    """The probability of the chosen transition among all, as in the training loss."""
    away = np.exp(scores - scores.max(axis=1, keepdims=True))
    return away[np.arange(len(chosen)), chosen] / away.sum(axis=1)

"""Decode entities with their probabilities."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from spacy.pipeline.ner import EntityRecognizer
from spacy.tokens import Doc

from models_runtime.backends.spacy_ner.weights import transitions


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

"""What the rules say of a note, as a feature for learned backends."""

from collections.abc import Sequence

from annotations.domain.spans import Span
from annotations.domain.tokens import covered
from models_runtime.backends.base import BackendError
from models_runtime.backends.notes.note import Note
from models_runtime.backends.rules import RulesBackend
from models_runtime.backends.rules.labels import HOME


def rules_for(label_set: str) -> RulesBackend:
    """The rules in the model's own label set where they know it, else in theirs: as features either serves."""
    try:
        return RulesBackend(label_set=label_set)
    except BackendError:
        return RulesBackend(label_set=HOME)


def rule_tags(note: Note, said: Sequence[Span]) -> list[str]:
    """For each token `B-`, `I-` or `E-` (the last) with the label of the rules' span over it; empty without one."""
    tags = [""] * len(note.tokens)
    for span in said:
        first, past = covered(note.tokens, span.start, span.end)
        for at in range(first, past):
            tags[at] = f"{'B' if at == first else 'E' if at == past - 1 else 'I'}-{span.label}"
    return tags

"""The spans of the rules as tags of tokens: a feature of trained backends."""

from collections.abc import Sequence

from annotations.text.spans import Span, covered
from models_runtime.backends.base import BackendError
from models_runtime.backends.notes import Note
from models_runtime.backends.rules import RulesBackend
from models_runtime.backends.rules.gazetteers import HOME


class NoRules:
    """Finds nothing, for a model that was trained without the tags of the rules as features."""

    label_set = ""
    revision = "none"

    def predict(self, texts: Sequence[str]) -> list[list[Span]]:
        return [[] for _ in texts]


FeatureRules = RulesBackend | NoRules


def rules_of(rules_set: str) -> FeatureRules:
    """The rules of a trained model, whose card says in which label set; empty for a model without them."""
    return rules_for(rules_set, used=bool(rules_set))


def rules_for(label_set: str, *, used: bool = True) -> FeatureRules:
    """The rules in the model's label set if they support it, otherwise in their own: both serve as features.

    `used`: false for a model that is to learn without them.
    """
    if not used:
        return NoRules()
    try:
        return RulesBackend(label_set=label_set)
    except BackendError:
        return RulesBackend(label_set=HOME)


def rule_tags(note: Note, rule_spans: Sequence[Span]) -> list[str]:
    """For each token `B-`, `I-` or `E-` (last token) with the label of the rules' span; empty without a span."""
    return [tag for tag, _ in tagged_spans(note, rule_spans)]


def tagged_spans(note: Note, spans: Sequence[Span]) -> list[tuple[str, Span | None]]:
    """The tag of each token, as in `rule_tags`, with the span that it comes from."""
    tags: list[tuple[str, Span | None]] = [("", None)] * len(note.tokens)
    for span in spans:
        first, past = covered(note.tokens, span.start, span.end)
        for at in range(first, past):
            tags[at] = f"{'B' if at == first else 'E' if at == past - 1 else 'I'}-{span.label}", span
    return tags

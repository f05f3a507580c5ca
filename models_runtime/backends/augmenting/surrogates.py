"""A copy of an annotated note in which surrogates replace its identifiers, made by the rules of domain.surrogates."""

import random
from collections.abc import Mapping, Sequence
from typing import Final

from annotations.release.rules.redaction.kinds import Kind, kinds_of
from annotations.release.rules.surrogates.clustering import RuleClusterer
from annotations.release.rules.surrogates.folding import long_words
from annotations.release.rules.surrogates.generating.rules import RuleGenerator, in_order
from annotations.release.rules.surrogates.pipeline import Around, Indexed, Mentioned
from annotations.release.rules.surrogates.writing import Writer
from annotations.text.spans import Span, overlaps
from models_runtime.backends.augmenting.edits import Edit, edited

CONTEXT: Final = 40
# Kinds that keep their text: words of few values, and dates, which rules move instead of inventing them.
KEPT: Final = frozenset(
    {Kind.COUNTRY, Kind.DATE, Kind.SEX, Kind.FAMILY, Kind.ETHNICITY, Kind.PROFESSION, Kind.OTHER, Kind.BIOMETRIC}
)


def replaceable(label_set: str) -> Mapping[str, Kind]:
    """The kind of each label whose spans get surrogates; empty for a label set that is not shipped."""
    return {label: kind for label, kind in kinds_of(label_set).items() if kind not in KEPT}


def with_surrogates(
    text: str, spans: Sequence[Span], label_set: str, language: str, chance: random.Random
) -> tuple[str, list[Span]]:
    """The note with a surrogate in place of each identifier; all mentions of an entity get the same one.

    The note is one patient. Spans that overlap others, or whose labels have no surrogates, keep their text.
    """
    kinds = replaceable(label_set)
    mentions = [
        Mentioned(
            0, span.start, span.end, kinds[span.label], text[span.start : span.end],
            text[max(0, span.start - CONTEXT) : span.start], text[span.end : span.end + CONTEXT],
        )
        for span in spans
        if span.label in kinds and not any(other is not span and overlaps(span, other) for other in spans)
    ]  # fmt: skip
    words = {word for mention in mentions for word in long_words(mention.text)}
    generator, related, edits = RuleGenerator(chance), list[Indexed](), list[Edit]()
    for number, cluster in enumerate(in_order(RuleClusterer().cluster(mentions, language)), 1):
        surrogate = generator.generate(cluster, Around(related), words, 0)
        related.append(Indexed(number, cluster.kind, cluster.forms, surrogate))
        writer = Writer(surrogate, cluster)
        edits += (Edit(mention.start, mention.end, writer.write(mention)) for mention in cluster.mentions)
    return edited(text, spans, sorted(edit for edit in edits if edit.new.strip()))

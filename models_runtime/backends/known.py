"""Known identifiers: what the patient master and the deny list say (annotations.release.rules.known)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from annotations.release.rules.known.person import CONFIDENCE, How, Mention
from annotations.release.rules.redaction.policy import IdentifierType
from annotations.text.spans import Span, trim
from models_runtime.backends.base import OneByOne

VERSION: Final = "1"
Find = Callable[[Sequence[tuple[str, str]]], list[list[Mention]]]
"""The mentions in each of the notes, which are given as patient id and text."""


class KnownBackend(OneByOne):
    """Turns mentions of known identifiers into spans.

    `find` knows the patients; `labels` has a label for each kind of mention, and `denied` the labels of denied terms.
    `content` is a digest of what `find` knows, for the revision. The source of a span says how the mention is written:
    `known.exact`, `known.order`, `known.typo` and so on (annotations.release.rules.known.person.How).
    """

    name = "known"

    def __init__(
        self, *, label_set: str, find: Find, labels: Mapping[IdentifierType, str], denied: Iterable[str], content: str
    ) -> None:
        self.label_set = label_set
        self._find, self._labels = find, dict(labels)
        self.labels = tuple(sorted({*self._labels.values(), *denied}))
        self.revision = f"{VERSION}-known-{content}"

    def predict(self, texts: Sequence[str]) -> list[list[Span]]:
        """The denied terms in texts of unknown patients. `predict_notes` finds the patients' identifiers too."""
        return self.predict_notes([("", text) for text in texts])

    def predict_notes(self, notes: Sequence[tuple[str, str]]) -> list[list[Span]]:
        """The spans of each note, which is given as patient id and text."""
        found = self._find(notes)
        return [
            [self._span(text, mention) for mention in mentions]
            for (_patient, text), mentions in zip(notes, found, strict=True)
        ]

    def _span(self, text: str, mention: Mention) -> Span:
        start, end = trim(text, mention.start, mention.end)
        label = mention.label if mention.how == How.DENIED else self._labels[mention.kind]
        return Span(start, end, label, CONFIDENCE[mention.how], f"known.{mention.how}")

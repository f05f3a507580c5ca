"""The rules backend: patterns with validators, context words and word lists. No weights, no training, no network."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from annotations.domain.spans import Span
from annotations.domain.whitespace import trim
from models_runtime.backends.base import BackendError
from models_runtime.backends.rules import (
    ages,
    codes,
    contacts,
    date_words,
    dates,
    ids,
    institutions,
    labels,
    memory,
    names,
    organizations,
    people,
    persons,
    places,
    streets,
    traps,
)
from models_runtime.backends.rules.engine import scan, settle, table
from models_runtime.backends.rules.kinds import SOFT, VARIANTS
from models_runtime.backends.rules.rule import Hit, Rule

VERSION: Final = "1"
LANGUAGES: Final = ("it", "es", "en")
FAMILIES: Final = (
    ages,
    codes,
    contacts,
    date_words,
    dates,
    ids,
    institutions,
    memory,
    names,
    organizations,
    people,
    persons,
    places,
    streets,
    traps,
)
RULES: Final[tuple[Rule, ...]] = tuple(rule for family in FAMILIES for rule in family.RULES)


CONFIDENCES: Final = Path(__file__).with_name("data") / "confidences.json"
"""Rule id to the share of its spans that were right on MEDDOCAN train and the demo (by `fixtures.bench.rules`)."""


class RulesBackend:
    """Speaks `label_set` (a key of a shipped label set) and knows the forms of `languages`.

    Raises BackendError (permanent) for a label set or a language that it doesn't know.
    """

    name = "rules"

    def __init__(self, label_set: str = labels.HOME, languages: Sequence[str] = LANGUAGES) -> None:
        unknown = sorted(set(languages) - set(LANGUAGES))
        if unknown or not languages:
            said = ", ".join(unknown) or "none"
            raise BackendError(f"languages {said}: the rules know {', '.join(LANGUAGES)}", permanent=True)
        self.label_set = label_set
        self._labels = labels.table(label_set)
        self.labels = tuple(sorted({label for label in self._labels.values() if label}))
        spoken = frozenset(languages)
        self._rules = table(rule for rule in RULES if not rule.languages or rule.languages & spoken)
        # Of two ways to mark the same thing a set wants one: the other is never looked at.
        self._unwanted = {kind for kind in (*SOFT, *VARIANTS) if self._labels[kind] is None}
        known: dict[str, float] = json.loads(CONFIDENCES.read_text(encoding="utf-8"))
        self._confidence = {rule.id: known.get(rule.id, rule.confidence) for rule in RULES}
        self.revision = f"{VERSION}-{_DIGEST}-{label_set}-{'+'.join(sorted(spoken))}"

    def predict(self, texts: Sequence[str]) -> list[list[Span]]:
        """The spans of each text: sorted, trimmed, none overlapping another."""
        return list(self.stream(texts))

    def stream(self, texts: Iterable[str]) -> Iterator[list[Span]]:
        """The spans of each text as it comes."""
        return map(self._read, texts)

    def _read(self, text: str) -> list[Span]:
        scanned = scan(text, self._rules)
        kept = settle([hit for hit in scanned.hits if hit.kind not in self._unwanted], len(text))
        kept += memory.remember(text, scanned, kept)
        return sorted(span for hit in kept if (span := self._span(text, hit)) is not None)

    def _span(self, text: str, hit: Hit) -> Span | None:
        label = self._labels[hit.kind]
        start, end = trim(text, hit.start, hit.end)
        if label is None or start == end:
            return None
        return Span(start, end, label, self._confidence[hit.rule.id], hit.rule.id)


def _digest() -> str:
    """A hash of the code and the word lists: any change of them may change the output."""
    folder = Path(__file__).parent
    digest = hashlib.sha256()
    for path in sorted([*folder.glob("*.py"), *folder.glob("data/*"), labels.MAPPINGS]):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


# Taken when the code is loaded: files may change under a worker that still runs the old ones.
_DIGEST: Final = _digest()
